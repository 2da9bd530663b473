//! Servers that answer something other than what was asked, or with bytes that are not text.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::rdap::scene::{Said, Scene, said};

/// A server that answers each request with these bytes.
fn server(body: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                head.push(byte[0]);
            }
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/rdap+json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(&[head.as_bytes(), body].concat());
        }
    });
    url
}

fn ask(url: &str, arguments: &[&str]) -> (Said, Vec<u8>) {
    let scene = Scene::new();
    let mut command = scene.plain(&["--no-memory", "--server", url]);
    command.args(arguments);
    let bytes = command.output().unwrap().stdout;
    let mut command = scene.plain(&["--no-memory", "--server", url]);
    command.args(arguments);
    // The bytes are checked separately, because they may not be text.
    if std::str::from_utf8(&bytes).is_ok() {
        return (said(command), bytes);
    }
    let code = command.status().unwrap().code().unwrap_or(-1);
    let (out, err) = (String::new(), String::new());
    (Said { code, out, err }, bytes)
}

#[test]
fn another_class_is_an_error_in_every_form() {
    const ENTITY: &[u8] = br#"{"objectClassName":"entity","handle":"X-1"}"#;
    let url = server(ENTITY);
    for form in ["", "--json", "--raw", "--whois", "--csv", "--field=status"] {
        let arguments: Vec<&str> = [form, "one.example"]
            .into_iter()
            .filter(|a| !a.is_empty())
            .collect();
        let (said, _) = ask(&url, &arguments);
        assert_eq!(said.code, 1, "{form}: {said:?}");
        let all = format!("{}{}", said.out, said.err);
        assert!(
            all.contains("of class 'entity', not a domain"),
            "{form}: {said:?}"
        );
    }
    let (raw, _) = ask(&url, &["--raw", "one.example"]);
    assert!(raw.out.contains("X-1"));
    let (json, _) = ask(&url, &["--json", "one.example"]);
    assert!(json.out.contains("X-1"));
}

#[test]
fn one_bad_byte_costs_only_its_text() {
    const LATIN: &[u8] =
        b"{\"objectClassName\":\"domain\",\"ldhName\":\"one.example\",\"handle\":\"M\xfc-1\"}";
    let url = server(LATIN);
    let (said, bytes) = ask(&url, &["--raw", "one.example"]);
    assert_eq!((said.code, bytes.trim_ascii_end()), (0, LATIN));
    let (said, _) = ask(&url, &["one.example"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("M\u{fffd}-1") && said.out.contains("not UTF-8"),
        "{said:?}"
    );
    let (said, _) = ask(&url, &["--json", "one.example"]);
    let line: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(line["answer"]["handle"], "M\u{fffd}-1");
    let (said, _) = ask(&url, &["--check", "one.example"]);
    assert!(said.out.contains("/handle"), "{said:?}");
}
