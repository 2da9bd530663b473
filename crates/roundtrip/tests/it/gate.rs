//! `gate` for people and programs: what is written, what is found, how it exits, and that it
//! reveals no secret.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::servers::{answering, field, ok};

/// A user's home, and the commands that run there.
pub(crate) struct User(TempDir);

impl User {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
        command
            .arg("gate")
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("XDG_STATE_HOME")
            .env("HOME", self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn gate(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The document of a check, and the exit code.
    fn checked(&self, arguments: &[&str]) -> (Value, Option<i32>) {
        let said = self.gate(&[&["check", "--json"], arguments].concat());
        let document = serde_json::from_slice(&said.stdout).unwrap();
        (document, said.status.code())
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn without_a_file_all_is_sound_and_the_keys_are_made() {
    let user = User::new();
    let said = user.gate(&["check"]);
    assert_eq!(said.status.code(), Some(0), "{}", out(&said));
    assert_eq!(
        out(&said),
        "the configuration without a file: no problems found; gate would start\n"
    );
    let home = user.path(".local/state/roundtrip/gate");
    let key = fs::metadata(home.join("token.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    // Without a home directory, there is no place for these files.
    let mut homeless = user.command(&["check"]);
    let said = homeless.env_remove("HOME").output().unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert!(
        out(&said).contains("neither XDG_STATE_HOME nor HOME"),
        "{}",
        out(&said)
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let user = User::new();
    let file = user.write(
        "gate.toml",
        "[listen]\nhttp = [\"127.0.0.1:8080\"]\nh3 = false\n[session]\nstore = \"memory:\"\n[[route]]\nupstream = \"b\"\n",
    );
    let said = user.gate(&["check", "--config", &file]);
    assert_eq!(said.status.code(), Some(1));
    let text = out(&said);
    for expected in [
        "error    token.key: a route needs a session".to_owned(),
        format!("warning  {file}:5:1: session.store: sessions in memory"),
        format!("error    {file}:7:1: route[0].upstream: there is no [upstream.b]"),
        "gate.toml: 2 errors, 1 warning; gate would not start\n".to_owned(),
    ] {
        assert!(text.contains(&expected), "{text}");
    }
    let (document, code) = user.checked(&["--config", &file]);
    assert_eq!(
        (document["schema"].as_str(), code),
        (Some("roundtrip/gate-check/1"), Some(1))
    );
    assert_eq!(document["passes"], false);
    assert_eq!(document["config"], file);
    let severities: Vec<&str> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["severity"].as_str().unwrap())
        .collect();
    assert_eq!(severities, ["error", "warning", "error"]);
    assert_eq!(document["findings"][1]["line"], 5);
    let quiet = user.gate(&["check", "-q", "--config", &file]);
    assert_eq!((quiet.status.code(), out(&quiet).as_str()), (Some(1), ""));
}

/// The guide explains each key of a check.
#[test]
fn the_guide_explains_the_document() {
    let guide = include_str!("../../../../docs/gate.md");
    let (document, _) = User::new().checked(&[]);
    for key in document.as_object().unwrap().keys() {
        assert!(guide.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn a_file_that_cannot_be_read_says_where() {
    let user = User::new();
    let file = user.write("gate.toml", "[session]\nstor = \"canary\"\n");
    let said = user.gate(&["check", "--config", &file]);
    assert_eq!(said.status.code(), Some(1));
    let expected = "gate.toml:2:1: [session] has no key `stor`; did you mean `store`?";
    assert!(out(&said).contains(expected), "{}", out(&said));
    assert!(!out(&said).contains("canary"));
    let (document, code) = user.checked(&["--config", &file]);
    assert_eq!(code, Some(1));
    let place = document["findings"][0]["place"].as_str().unwrap();
    assert!(place.ends_with("gate.toml:2:1"), "{place}");
    let none = user.gate(&["check", "--config", "none.toml"]);
    assert!(
        out(&none).contains("cannot read none.toml"),
        "{}",
        out(&none)
    );
}

#[test]
fn with_connect_servers_are_asked() {
    let user = User::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = user.write(
        "gate.toml",
        &format!(
            "[listen]\nhttp = [\"127.0.0.1:8080\"]\nh3 = false\n[[route]]\nupstream = \"b\"\nauth = false\n\
             [upstream.b]\nservers = [\"http://{}\"]\n",
            listener.local_addr().unwrap()
        ),
    );
    let (document, code) = user.checked(&["--connect", "--config", &file]);
    assert_eq!(
        (code, &document["connected"]),
        (Some(0), &Value::Bool(true)),
        "{document}"
    );
    drop(listener);
    let (document, code) = user.checked(&["--connect", "--config", &file]);
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["findings"][0]["place"], "upstream.b.servers[0]");
}

/// The life of a session, from a shell. The password is in no answer.
#[test]
fn a_session_is_put_shown_listed_and_revoked() {
    let user = User::new();
    let put = |arguments: &[&str], typed: &str| {
        let mut child = user
            .command(&[&["session", "put"], arguments].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads from a file does not wait for standard input.
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        child.wait_with_output().unwrap()
    };
    let said = put(&["alice"], "alice:canary\n");
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    assert!(err(&said).contains("alice is stored, sealed with the key 'home', never expires"));
    let login = user.write("login", "bob:canary\n");
    fs::set_permissions(&login, fs::Permissions::from_mode(0o600)).unwrap();
    let said = put(
        &[
            "bob",
            "--credentials-file",
            &login,
            "--expires",
            "2099-01-01",
        ],
        "",
    );
    assert!(
        err(&said).contains("until 2099-01-01T00:00:00Z"),
        "{}",
        err(&said)
    );
    let listed = user.gate(&["session", "list"]);
    assert_eq!(out(&listed), "alice\nbob\n");
    let shown = user.gate(&["session", "show", "bob"]);
    assert_eq!(
        out(&shown),
        "session  bob\nstored   sealed with the key 'home'\nends     2099-01-01T00:00:00Z\n"
    );
    let shown = user.gate(&["session", "show", "bob", "--json", "--reveal-user"]);
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(document["schema"], "roundtrip/gate-session/1");
    assert_eq!(
        (&document["user"], &document["usable"]),
        (&"bob".into(), &true.into())
    );
    let revoked = user.gate(&["session", "revoke", "bob"]);
    assert_eq!(revoked.status.code(), Some(0), "{}", err(&revoked));
    for gone in [["session", "show", "bob"], ["session", "revoke", "bob"]] {
        let said = user.gate(&gone);
        assert_eq!(said.status.code(), Some(1));
        assert!(
            err(&said).contains("there is no session bob"),
            "{}",
            err(&said)
        );
    }
    let document = out(&user.gate(&["session", "list", "--json"]));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["sids"], serde_json::json!(["alice"]));
}

#[test]
fn invalid_sessions_are_refused_and_not_repeated() {
    let user = User::new();
    let open = user.write("open", "a:canary");
    let cases: [(&[&str], &str); 4] = [
        (&["a", "--credentials-file", &open], "chmod 600"),
        (
            &["a", "--credentials-env", "ROUNDTRIP_NO_SUCH"],
            "has no variable",
        ),
        (&["a"], "holds no user:password"),
        (
            &[
                "a",
                "--expires",
                "2001-01-01",
                "--credentials-env",
                "CANARY",
            ],
            "it has expired",
        ),
    ];
    for (arguments, expected) in cases {
        let mut command = user.command(&[&["session", "put"], arguments].concat());
        let said = command.env("CANARY", "a:canary").output().unwrap();
        assert_eq!(said.status.code(), Some(1), "{arguments:?}");
        assert!(err(&said).contains(expected), "{}", err(&said));
        assert!(!err(&said).contains("canary"), "{}", err(&said));
    }
}

#[test]
fn many_sessions_come_from_a_file() {
    let user = User::new();
    // u:p
    let file = user.write(
        "sessions",
        "{\"sid\":\"a\",\"credentials\":\"dTpw\"}\nnonsense\n{\"sid\":\"b\",\"credentials\":\"dTpw\",\"expires\":7}\n",
    );
    let said = user.gate(&["session", "import", &file]);
    assert_eq!(said.status.code(), Some(1));
    let told = err(&said);
    assert!(told.contains("sessions:2: it is not {\"sid\""), "{told}");
    assert!(
        told.contains("1 stored, 1 already expired, 1 failed"),
        "{told}"
    );
    let sealed = user.gate(&["session", "seal"]);
    assert_eq!(sealed.status.code(), Some(0));
    assert!(
        err(&sealed).contains("0 sealed, 1 already sealed"),
        "{}",
        err(&sealed)
    );
}

#[test]
fn a_token_is_one_line_for_the_shell() {
    let user = User::new();
    let token = |more: &[&str]| {
        let said = user.gate(&[&["token", "--sub", "u", "--sid", "s"], more].concat());
        assert_eq!(said.status.code(), Some(0), "{}", err(&said));
        out(&said)
    };
    let bare = token(&[]);
    assert_eq!(bare.matches('.').count(), 2);
    assert_eq!(bare.lines().count(), 1);
    assert!(token(&["--bearer"]).starts_with("Authorization: Bearer ey"));
    assert!(token(&["--cookie"]).starts_with("Cookie: Authorization="));
    // Only a configured secret can sign tokens.
    let file = user.write("gate.toml", "");
    let said = user.gate(&["token", "--sub", "u", "--sid", "s", "--config", &file]);
    assert_eq!(said.status.code(), Some(1));
    assert!(
        err(&said).contains("no key of the configuration can sign tokens"),
        "{}",
        err(&said)
    );
}

/// A running gate, and its output so far. It ends with the test.
pub(crate) struct Running {
    pub(crate) process: Process,
    said: BufReader<ChildStderr>,
}

impl Running {
    fn start(user: &User, backend: &str) -> (Self, String) {
        let any = "127.0.0.1:0";
        let mut command = user.command(&["run", "--http", any, "--https", any, "--admin", any]);
        Self::spawn(command.args(["--backend", backend]), 5)
    }

    /// Starts the command, and returns it with the first lines that it writes.
    pub(crate) fn spawn(command: &mut Command, lines: usize) -> (Self, String) {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while told.lines().count() < lines && said.read_line(&mut told).unwrap() > 0 {}
        let process = Process(child);
        (Self { process, said }, told)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line
    }
}

/// It answers each connection with the `Authorization` that it got.
pub(crate) fn backend() -> String {
    let address = answering(|head, _| ok(field(head, "authorization").unwrap_or_default()));
    format!("http://{address}")
}

/// The whole answer to a request with this header field.
fn ask(address: &str, field: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_first_minute_works_as_the_guide_has_it() {
    let user = User::new();
    let (mut gate, introduction) = Running::start(&user, &backend());
    let lines: Vec<&str> = introduction.lines().collect();
    assert_eq!(lines.len(), 5, "{introduction}");
    assert!(
        lines[2].contains("roundtrip gate session put alice"),
        "{introduction}"
    );
    let (_, rest) = lines[0].split_once("gate: http://").unwrap();
    let address = rest.split(',').next().unwrap();
    assert!(ask(address, "").starts_with("HTTP/1.1 401 "));
    let token = out(&user.gate(&["token", "--sub", "alice", "--sid", "alice", "--bearer"]));
    let field = token.replace('\n', "\r\n");
    assert!(
        ask(address, &field).starts_with("HTTP/1.1 401 "),
        "no session yet"
    );
    let mut put = user.command(&["session", "put", "alice", "--credentials-env", "LOGIN"]);
    assert!(
        put.env("LOGIN", "alice:secret")
            .output()
            .unwrap()
            .status
            .success()
    );
    // What was missing a moment ago is requested again within seconds.
    let until = Instant::now() + Duration::from_secs(20);
    let mut answer = ask(address, &field);
    while !answer.starts_with("HTTP/1.1 200 ") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
        answer = ask(address, &field);
    }
    assert!(answer.ends_with("Basic YWxpY2U6c2VjcmV0"), "{answer}");
    gate.process.signal("HUP");
    assert_eq!(gate.line(), "roundtrip: the configuration was reloaded\n");
    gate.process.signal("TERM");
    assert!(gate.process.0.wait().unwrap().success());
}

#[test]
fn an_address_that_is_taken_is_named_with_what_to_do() {
    let user = User::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = user.gate(&[
        "run", "--http", &address, "--https", "none", "--admin", "none",
    ]);
    assert_eq!(said.status.code(), Some(1));
    let told = err(&said);
    assert!(
        told.contains(&address) && told.contains("choose others with --http"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn all_errors_of_a_configuration_are_reported() {
    let user = User::new();
    let file = user.write("gate.toml", "[[route]]\nupstream = \"b\"\n");
    let said = user.gate(&["run", "--config", &file]);
    assert_eq!(said.status.code(), Some(1));
    let told = err(&said);
    for expected in [
        "listen: there is no address for clients",
        "token.key: ",
        "route[0].upstream: ",
        "it cannot start with this configuration",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}
