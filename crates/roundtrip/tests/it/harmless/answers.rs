//! What servers send: probe, compare and rdap.

use serde_json::{Value, json};

use crate::harmless::{User, assert_harmless, assert_inert, sent, text, typed};
use crate::servers::one_answer;

pub(super) fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let (sent, length) = (sent(), body.len());
    format!(
        "HTTP/1.1 {status}\r\nServer: {sent}\r\nX-Other: {sent}\r\nContent-Type: {kind}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[test]
fn what_probe_was_told() {
    let user = User::new();
    let url = format!("http://{}/", one_answer(answer("200 OK", "x", "ok")));
    let page = user.home().join("page.html");
    let page = page.to_str().unwrap();
    for words in [
        &["-v"][..],
        &["-v", "--html", page],
        &["-v", "-c", "2", "--color", "never"],
    ] {
        let said = user.run(&[&["probe"], words, &[&url]].concat());
        assert!(said.status.success(), "{said:?}");
        assert_harmless(&text(&said.stdout));
    }
    assert_inert(&std::fs::read_to_string(page).unwrap());
    let test = "what_probe_was_told";
    for words in [
        &["--json"][..],
        &["--ndjson"],
        &["-I", "-o", "-", "-q"],
        &["-w", "%header{server}\\n"],
        &["-w", "%{stderr}%header{server:all:, }\\n"],
        &["-w", "%{json}%{header_json}\\n"],
    ] {
        let words = [&["probe"], words, &[&url]].concat();
        let Some(said) = user.on_a_terminal(test, &words) else {
            return;
        };
        assert_inert(&said);
        assert!(
            said.contains("202e") || !words.contains(&"%header{server}\\n"),
            "{said}"
        );
    }
}

#[test]
fn why_probe_failed() {
    let user = User::new();
    let nonsense = format!("HTTP/1.1 {0}\r\n{0}: {0}\r\n\r\n", typed());
    let away = format!(
        "HTTP/1.1 302 {0}\r\nLocation: http://{0}/{0}\r\nContent-Length: 0\r\n\r\n",
        sent()
    );
    let coded = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\n\r\nx", sent());
    for answer in [nonsense, typed(), away, coded] {
        let url = format!("http://{}/", one_answer(&answer));
        for words in [
            &["-L", "-v"][..],
            &["-L", "-q"],
            &["-L", "--compressed", "-v"],
            &["-L", "-w", "%{errormsg}"],
        ] {
            let said = user.run(&[&["probe"], words, &[&url]].concat());
            if words != ["-L", "-w", "%{errormsg}"] {
                assert_inert(&text(&said.stdout));
            }
            assert_inert(&text(&said.stderr));
        }
    }
}

#[test]
fn what_compare_was_told() {
    let user = User::new();
    let url = format!("http://{}/", one_answer(answer("200 OK", "x", "ok")));
    let page = user.home().join("page.html");
    let page = page.to_str().unwrap();
    let words = ["compare", "--rate", "1000", "-n", "24", "--html", page];
    let words = [&words[..], &["--strategies", "h1+clear+reuse", &url]].concat();
    let said = user.run(&words);
    assert_harmless(&text(&said.stdout));
    assert_inert(&text(&said.stderr));
    assert_inert(&std::fs::read_to_string(page).unwrap());
}

/// A JSON text that holds all of it, and halves of surrogate pairs.
fn in_json() -> String {
    let text = serde_json::to_string(&typed()).unwrap();
    text.replacen('<', "<\\ud83d\\udc00 \\u202e", 1)
}

fn registration(class: &str) -> String {
    let hostile = in_json();
    json!({
        "objectClassName": class, "rdapConformance": ["H"], "handle": "H", "ldhName": "H", "unicodeName": "H",
        "status": ["active", "H"], "port43": "H", "lang": "H", "errorCode": 500, "title": "H", "description": ["H"],
        "notices": [{ "title": "H", "type": "H", "description": ["H", "H"], "links": [{ "href": "H", "rel": "H" }] }],
        "remarks": [{ "title": "H", "description": ["H"] }],
        "events": [{ "eventAction": "registration", "eventDate": "H", "eventActor": "H" }],
        "nameservers": [{ "objectClassName": "nameserver", "ldhName": "H" }],
        "entities": [{
            "objectClassName": "entity", "handle": "H", "roles": ["registrar", "abuse", "registrant", "H"],
            "publicIds": [{ "type": "H", "identifier": "H" }],
            "vcardArray": ["vcard", [
                ["version", {}, "text", "4.0"], ["fn", {}, "text", "H"], ["org", {}, "text", "H"],
                ["tel", {}, "text", "H"], ["email", {}, "text", "H"],
                ["adr", { "label": "H" }, "text", ["", "", "H", "H", "H", "H", "H"]],
            ]],
        }],
        "redacted": [{ "name": { "description": "H" }, "reason": { "description": "H" }, "method": "H" }],
    })
    .to_string()
    .replace("\"H\"", &hostile)
}

#[test]
fn what_registries_say() {
    let test = "what_registries_say";
    for (status, kind, body) in [
        ("200 OK", "application/rdap+json", registration("domain")),
        ("200 OK", "application/rdap+json", registration("strange")),
        ("500 No", "application/rdap+json", registration("problem")),
        ("404 No", "application/rdap+json", registration("problem")),
        ("200 OK", "text/html", format!("<title>{}</title>", typed())),
        ("200 OK", "application/json", format!("{{{}", typed())),
    ] {
        let user = User::new();
        let server = format!("http://{}/", one_answer(answer(status, kind, &body)));
        let asked = [
            "rdap",
            "--insecure-http",
            "--rate",
            "off",
            "--no-follow",
            "--server",
            &server,
        ];
        for form in [
            &[][..],
            &["--verbose", "--check", "--timing"],
            &["--whois"],
            &[
                "--columns",
                "name,status,registrar,/handle,/notices/0/title",
            ],
            &["--csv"],
            &["--json"],
            &["--raw"],
        ] {
            let words = [&asked[..], form, &["x.example"]].concat();
            if form == ["--json"] || form == ["--raw"] {
                let Some(said) = user.on_a_terminal(test, &words) else {
                    return;
                };
                assert_inert(&said);
                continue;
            }
            let said = user.run(&words);
            assert_inert(&text(&said.stdout).replace("\r\n", "\n"));
            assert_inert(&text(&said.stderr));
            if form.is_empty() && kind.ends_with("rdap+json") && status != "404 No" {
                assert_harmless(&text(&said.stdout));
            }
        }
    }
}

#[test]
fn json_on_a_terminal_is_the_same_json() {
    let user = User::new();
    let url = format!("http://{}/", one_answer(answer("200 OK", "x", "ok")));
    let test = "json_on_a_terminal_is_the_same_json";
    let Some(said) = user.on_a_terminal(test, &["probe", "--json", &url]) else {
        return;
    };
    assert_inert(&said);
    let document: Value = serde_json::from_str(&said).unwrap();
    assert!(document.to_string().contains(&sent()), "{said}");
}
