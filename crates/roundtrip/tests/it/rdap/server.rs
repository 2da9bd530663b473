//! `--check-server`: a server in its good form and in broken ones.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{IpAddr, TcpListener, TcpStream};

use serde_json::Value;

use crate::process::Said;
use crate::rdap::scene::{Scene, said};
use crate::servers::{listen, read_request, serve_on};

const JSON: &str = "Content-Type: application/rdap+json\r\n";
const OPEN: &str = "Access-Control-Allow-Origin: *\r\n";
const DOMAIN: &str =
    r#"{"rdapConformance":["rdap_level_0"],"objectClassName":"domain","ldhName":"one.example"}"#;

/// Status, header lines and body of the answer to a request line and its head.
type Answers = fn(&str, &str) -> (u16, String, String);

/// The answers of a server that conforms.
fn good(line: &str, _: &str) -> (u16, String, String) {
    let path = line.split([' ', '?']).nth(1).unwrap_or_default();
    let (status, body) = match path {
        "/help" => (
            200,
            r#"{"rdapConformance":["rdap_level_0"],"notices":[{"description":["Ask."]}]}"#.into(),
        ),
        "/domain/one.example" => (200, DOMAIN.to_owned()),
        "/domain/not-a-domain.invalid" => (404, error(404)),
        _ => (400, error(400)),
    };
    (status, format!("{JSON}{OPEN}"), body)
}

fn error(code: u16) -> String {
    format!(r#"{{"rdapConformance":["rdap_level_0"],"errorCode":{code},"title":"No"}}"#)
}

fn serve(answers: Answers) -> String {
    format!(
        "http://{}/",
        listen(move |stream| converse(stream, answers))
    )
}

/// Listeners at these addresses, at the same port.
fn listeners(addresses: &[&str]) -> Vec<TcpListener> {
    let bind = |address: &&str, port| TcpListener::bind((address.parse::<IpAddr>().unwrap(), port));
    for _ in 0..100 {
        let first = bind(&addresses[0], 0).unwrap();
        let port = first.local_addr().unwrap().port();
        let others = addresses[1..].iter().map(|address| bind(address, port));
        // The port may be taken at another address.
        if let Ok(others) = others.collect::<Result<Vec<_>, _>>() {
            return std::iter::once(first).chain(others).collect();
        }
    }
    panic!("no port is free at {addresses:?}");
}

fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

fn converse(mut stream: TcpStream, answers: Answers) {
    while let Some((head, _)) = read_request(&mut stream) {
        let line = head.lines().next().unwrap();
        let (status, fields, body) = answers(line, &head);
        let length = body.len();
        let body = if line.starts_with("HEAD ") { "" } else { &body };
        let answer =
            format!("HTTP/1.1 {status} x\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn checked(answers: Answers, flags: &[&str]) -> Said {
    let url = serve(answers);
    let scene = Scene::new();
    let arguments = [&["--check-server", &url][..], flags, &["one.example"]].concat();
    said(scene.plain(&arguments))
}

/// The rules that are violated.
fn broken(said: &Said) -> Vec<String> {
    let document: Value =
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(document["schema"], "roundtrip/rdap-server/1");
    let mut ids: Vec<String> = document["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|result| result["held"] == false)
        .map(|result| result["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

#[test]
fn a_good_server_breaks_only_what_clear_text_breaks() {
    let said = checked(good, &["--json"]);
    assert_eq!(broken(&said), ["server-https"], "{said:?}");
    assert_eq!(said.code, 1);
    // Lines are wrapped if the address is that long.
    let text = checked(good, &[]).out;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "ok",
        "server-head",
        "(RFC 7480, section 5.3",
        "1 error, 0 warnings, 0 notes",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn head_cors_statuses_and_parameters_are_looked_at() {
    let cases: [(Answers, &[&str]); 6] = [
        (
            |line, head| match good(line, head) {
                (_, fields, _) if line.starts_with("HEAD ") => (405, fields, String::new()),
                other => other,
            },
            &["server-head"],
        ),
        (
            |line, head| match good(line, head) {
                (status, _, body) if !head.to_lowercase().contains("\r\norigin: ") => {
                    (status, JSON.into(), body)
                }
                other => other,
            },
            &["server-cors-always"],
        ),
        (
            |line, head| {
                let (status, _, body) = good(line, head);
                (status, JSON.into(), body)
            },
            &["server-cors", "server-cors-always"],
        ),
        (
            |line, head| match good(line, head) {
                (404, fields, _) => (200, fields, DOMAIN.into()),
                (400, fields, _) => (500, fields, String::new()),
                other => other,
            },
            &["server-malformed-taken", "server-missing"],
        ),
        (
            |line, head| match good(line, head) {
                (200, fields, _) if line.contains('?') => (400, fields, error(400)),
                other => other,
            },
            &["server-parameter"],
        ),
        (
            |line, head| match good(line, head) {
                (_, fields, _) if line.contains("/help") => (404, fields, error(404)),
                other => other,
            },
            &["server-help"],
        ),
    ];
    for (answers, expected) in cases {
        let said = checked(answers, &["--json"]);
        let mut expected = [expected, &["server-https"]].concat();
        expected.sort_unstable();
        assert_eq!(broken(&said), expected, "{said:?}");
    }
}

#[test]
fn tls_and_both_families_are_looked_at() {
    let scene = Scene::new();
    let port = scene.origin.https.port();
    let url = format!("https://localhost:{port}/rdap/");
    let resolve = format!("localhost:{port}:127.0.0.1");
    let run = |flags: &[&str]| {
        let arguments = [
            &["--json", "--check-server", &url, "--resolve", &resolve],
            flags,
        ]
        .concat();
        said(scene.plain(&arguments))
    };
    let said = run(&["one.example"]);
    // The tests' own registry is queried over IPv4 only.
    let ids = broken(&said);
    assert!(ids.contains(&"server-family".to_owned()), "{said:?}");
    assert!(!ids.contains(&"server-certificate".to_owned()), "{said:?}");
    assert!(!ids.contains(&"server-https".to_owned()), "{said:?}");
    let mut other = std::process::Command::new(crate::process::ROUNDTRIP);
    other.args([
        "rdap",
        "--json",
        "--check-server",
        &url,
        "--resolve",
        &resolve,
    ]);
    let untrusted = crate::rdap::scene::said(other);
    assert_eq!(untrusted.code, 1, "{untrusted:?}");
    let ids = broken(&untrusted);
    assert!(
        ids.contains(&"server-certificate".to_owned()),
        "{untrusted:?}"
    );
}

#[test]
fn every_address_is_asked() {
    let mut addresses = vec!["127.0.0.1", "127.0.0.2", "127.0.0.3"];
    addresses.extend(has_ipv6().then_some("::1"));
    let listeners = listeners(&addresses);
    let port = listeners[0].local_addr().unwrap().port();
    let other: Answers = |line, head| match good(line, head) {
        (200, fields, body) => (200, fields, body.replace("one.example", "two.example")),
        other => other,
    };
    // The second has other data, the third accepts no connections, and the last knows no HEAD.
    let headless: Answers = |line, head| match good(line, head) {
        (_, fields, _) if line.starts_with("HEAD ") => (405, fields, String::new()),
        other => other,
    };
    let kinds = [Some(good as Answers), Some(other), None, Some(headless)];
    for (listener, kind) in listeners.into_iter().zip(kinds) {
        if let Some(answers) = kind {
            serve_on(listener, move |stream| converse(stream, answers));
        }
    }
    let scene = Scene::new();
    let url = format!("http://rdap.test:{port}/");
    let resolve = format!("rdap.test:{port}:{}", addresses.join(","));
    let run = |flags: &[&str]| {
        let server = ["--check-server", &url, "--resolve", &resolve, "one.example"];
        said(scene.plain(&[flags, &server].concat()))
    };
    let json = run(&["--json"]);
    let document: Value =
        serde_json::from_str(&json.out).unwrap_or_else(|e| panic!("{e}: {json:?}"));
    assert_eq!(document["addresses"], serde_json::json!(addresses));
    let results = document["results"].as_array().unwrap();
    let unkept: BTreeSet<(String, String)> = results
        .iter()
        .filter(|result| result["held"] == false)
        .map(|result| {
            let word = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
            (word("address"), word("id"))
        })
        .collect();
    let mut expected = vec![
        ("", "server-https"),
        ("127.0.0.2", "server-answers-agree"),
        ("127.0.0.3", "server-reached"),
    ];
    if has_ipv6() {
        expected.push(("::1", "server-head"));
    } else {
        expected.push(("", "server-family"));
    }
    let expected = expected
        .into_iter()
        .map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(unkept, expected.collect(), "{json:?}");
    let text = run(&[]).out;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(&format!("/ at {} ", addresses.join(", "))),
        "{text}"
    );
    assert!(text.contains("other ldhName than at 127.0.0.1"), "{text}");
}

#[test]
fn an_object_at_another_server_is_wrong_usage() {
    let scene = Scene::new();
    let server = [
        "--check-server",
        "https://127.0.0.1:9/",
        "https://127.0.0.2:9/domain/a.example",
    ];
    let wrong = said(scene.plain(&server));
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn a_dead_server_is_told() {
    let scene = Scene::new();
    let said = said(scene.plain(&["--json", "--check-server", "https://127.0.0.1:9/"]));
    assert_eq!(
        (said.code, broken(&said)),
        (1, vec!["server-reached".to_owned()])
    );
    // Nothing showed whether it supports HTTPS.
    assert!(!said.out.contains("server-https"), "{said:?}");
    let wrong = crate::rdap::scene::said(scene.plain(&["--check-server", "rdap.example"]));
    assert_eq!(wrong.code, 2, "{wrong:?}");
}
