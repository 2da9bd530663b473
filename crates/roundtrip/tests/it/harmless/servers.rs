//! What clients and probed servers send to exporter and gate: their pages, answers and logs.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;

use super::answers::answer;
use crate::harmless::{User, assert_harmless, assert_inert, hostile, sent, text, typed};
use crate::process::{Process, TIMEOUT, eventually};
use crate::servers::one_answer;

/// A verb that serves, and all that it prints.
struct Serving {
    process: Process,
    output: PathBuf,
}

impl Serving {
    fn start(user: &User, words: &[&str]) -> Self {
        let output = user.home().join("output");
        let file = fs::File::create(&output).unwrap();
        let mut command = user.command(words);
        command.stdout(Stdio::from(file.try_clone().unwrap()));
        let process = Process(command.stderr(Stdio::from(file)).spawn().unwrap());
        Self { process, output }
    }

    /// Waits for this text, and returns what follows it.
    fn says(&self, part: &str) -> String {
        let said = || fs::read_to_string(&self.output).unwrap();
        let rest = || Some(said().split_once(part)?.1.to_owned());
        eventually(rest).unwrap_or_else(|| panic!("{part} is not in {}", said()))
    }

    /// The address behind this text.
    fn address(&self, before: &str) -> String {
        let rest = self.says(before);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        rest[..end.unwrap()].to_owned()
    }

    fn end(self) -> String {
        drop(self.process);
        fs::read_to_string(&self.output).unwrap()
    }
}

/// The whole answer, if there is one.
fn ask(address: &str, target: &str, fields: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    String::from_utf8_lossy(&told).replace("\r\n", "\n")
}

fn coded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A hostile name with only a few of the tags: a YAML key has at most 1024 characters.
fn module_name() -> String {
    hostile(|c| c == '\0' || c > '\u{e0010}')
}

/// A name in a file of YAML, whose escapes are those of JSON.
fn quoted(name: &str) -> String {
    let escaped = name.chars().map(|c| match u32::from(c) {
        code @ 0x1_0000.. => format!("\\U{code:08x}"),
        code => format!("\\u{code:04x}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn modules_of_an_exporter() {
    let user = User::new();
    let module = quoted(&module_name());
    let good = format!("modules:\n  {module}:\n    prober: http\n");
    let file = user.write("exporter\u{202e}.yml", &good);
    let said = user.run(&["exporter", "check", &file]);
    assert!(said.status.success(), "{said:?}");
    assert_harmless(&text(&said.stdout));
    for wrong in [
        format!("modules:\n  {module}:\n    prober: websocket\n"),
        format!("modules:\n  {module}:\n    prober: {module}\n"),
        format!("modules:\n  a:\n    {module}: 1\n"),
        typed(),
    ] {
        let file = user.write("wrong\u{202e}.yml", wrong);
        let said = user.run(&["exporter", "check", &file]);
        assert!(!said.status.success());
        assert_inert(&text(&said.stdout));
        assert_harmless(&text(&said.stderr));
    }
}

#[test]
fn what_an_exporter_shows() {
    let user = User::new();
    let hostile = module_name();
    let module = quoted(&hostile);
    let config = format!(
        "# \u{202e}\nmodules:\n  http_2xx:\n    prober: http\n  {module}:\n    prober: http\n\
         \x20   http:\n      fail_if_body_matches_regexp: ['o']\n"
    );
    let file = user.write("exporter.yml", config);
    let words = ["exporter", "--listen", "127.0.0.1:0", "--config", &file];
    let exporter = Serving::start(&user, &words);
    let address = exporter.address("exporter http://");
    let probed = format!("http://{}/", one_answer(answer("200 OK", "x", "ok")));
    let away = format!(
        "http://{}/",
        one_answer(format!(
            "HTTP/1.1 302 {0}\r\nLocation: http://{0}/{0}\r\nContent-Length: 0\r\n\r\n",
            sent()
        ))
    );
    let (word, hostile_url) = (coded(&hostile), coded(&format!("http://a.test/{hostile}")));
    for target in [&hostile_url, &word, &coded(&probed), &coded(&away)] {
        for module in ["http_2xx", &word] {
            for debug in ["", "&debug=true"] {
                let path = format!("/probe?module={module}&target={target}{debug}");
                let told = ask(&address, &path, "");
                assert_inert(&told);
                assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
            }
        }
    }
    for path in ["/", "/logs?id=2", "/metrics", "/config"] {
        assert_harmless(&ask(&address, path, ""));
    }
    let unknown = ask(&address, &format!("/probe?module=x{word}&target=a"), "");
    assert!(unknown.contains("Unknown module"), "{unknown}");
    assert_harmless(&unknown);
    user.write("exporter.yml", format!("{}: 1\n", quoted(&hostile)));
    let mut stream = TcpStream::connect(&address).unwrap();
    let reload = "POST /-/reload HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(reload.as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    assert_harmless(&told.replace("\r\n", "\n"));
    assert_inert(&exporter.end());
}

#[test]
fn logs_of_a_gate() {
    let user = User::new();
    let backend = one_answer(answer("200 OK", "x", "ok"));
    let config = format!(
        "[listen]\nhttp = [\"127.0.0.1:0\"]\nh3 = false\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [log]\naccess = \"stdout\"\n[[route]]\nupstream = \"b\"\nauth = false\n\
         [upstream.b]\nservers = [\"http://{backend}\"]\n"
    );
    let file = user.write("gate.toml", config);
    let gate = Serving::start(&user, &["gate", "run", "--log", "debug", "--config", &file]);
    let address = gate.address("gate: http://");
    let admin = gate.address("live: http://");
    let hostile = sent();
    for (target, fields) in [
        (format!("/{hostile}"), String::new()),
        (format!("/{}", coded(&hostile)), String::new()),
        (format!("http://{hostile}/{hostile}"), String::new()),
        (
            "/a".into(),
            format!("X-Request-Id: {hostile}\r\nUser-Agent: {hostile}\r\n"),
        ),
        (
            "/a".into(),
            format!("Authorization: Bearer {hostile}\r\nCookie: Authorization={hostile}\r\n"),
        ),
    ] {
        ask(&address, &target, &fields);
    }
    ask(&address, "/last", "");
    gate.says("\"path\":\"/last\"");
    for path in ["/", "/metrics", "/status.json"] {
        assert_inert(&ask(&admin, path, ""));
    }
    let said = gate.end();
    assert!(
        said.contains(" DEBUG gate::accept::admission: a connection was accepted client=127.0.0.1")
    );
    assert!(said.contains(" DEBUG gate::accept::thread: an exchange ended client=127.0.0.1"));
    assert!(said.contains("\\u202e"), "no hostile target is in {said}");
    assert_inert(&said);
}

#[test]
fn what_proxies_ask_a_gate() {
    let user = User::new();
    let config = "[authz]\nhttp = [\"127.0.0.1:0\"]\n[log]\naccess = \"stdout\"\n\
         [admin]\nlisten = \"127.0.0.1:0\"\n[[route]]\nauth = false\n";
    let file = user.write("gate.toml", config);
    let words = ["gate", "authz", "--log", "debug", "--config", &file];
    let gate = Serving::start(&user, &words);
    let address = gate.address("for proxies: http://");
    let hostile = sent();
    for fields in [
        format!("X-Original-Method: GET\r\nX-Original-URL: http://a/{hostile}\r\n"),
        format!("X-Original-Method: {hostile}\r\nX-Original-URL: {hostile}\r\n"),
        format!(
            "X-Original-Method: GET\r\nX-Original-URL: http://{hostile}/\r\nX-Forwarded-For: {hostile}\r\n"
        ),
    ] {
        assert_inert(&ask(&address, "/original", &fields));
        assert_inert(&ask(&address, &format!("/mirrored/{hostile}"), &fields));
    }
    let last = "X-Original-Method: GET\r\nX-Original-URL: http://a/last\r\n";
    ask(&address, "/original", last);
    gate.says("\"path\":");
    assert_inert(&gate.end());
}
