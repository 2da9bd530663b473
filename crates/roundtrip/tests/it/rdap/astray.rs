//! Servers that answer something other than what was asked, or with bytes that are not text.

use crate::process::Said;
use crate::rdap::scene::{Scene, said};
use crate::servers::answering;

/// A server that answers each request with these bytes.
fn server(body: &'static [u8]) -> String {
    let address = answering(move |_, _| {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/rdap+json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    });
    format!("http://{address}/")
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
fn another_object_is_told_in_every_form() {
    const PARENT: &[u8] = br#"{"objectClassName":"domain","ldhName":"ONE.example."}"#;
    let url = server(PARENT);
    let (text, _) = ask(&url, &["www.one.example"]);
    let words = "The answer is about one.example, not www.one.example";
    assert_eq!((text.code, text.out.contains(words)), (0, true), "{text:?}");
    for form in ["--json", "--raw", "--whois", "--csv", "--field=name"] {
        let (said, _) = ask(&url, &[form, "www.one.example", "two.example"]);
        let words = "www.one.example and 1 more: the answers are about other objects";
        assert!(said.err.contains(words), "{form}: {said:?}");
        let (said, _) = ask(&url, &[form, "one.example"]);
        assert!(!said.err.contains("about"), "{form}: {said:?}");
    }
    let other = |query: &str| {
        let (json, _) = ask(&url, &["--json", query]);
        let line: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        (json.code, line["other_object"].clone())
    };
    assert_eq!(other("www.one.example"), (0, "one.example".into()));
    assert_eq!(other("one.example"), (0, serde_json::Value::Null));
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
