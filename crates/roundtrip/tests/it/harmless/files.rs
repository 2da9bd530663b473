//! The content of other people's files: reports for diff, images for doctor, experiments for lab.

use serde_json::{Value, json};

use crate::harmless::{User, assert_harmless, assert_inert, hostile, text, typed};

/// A name of a file.
fn name() -> String {
    format!("a{}", '\u{202e}')
}

fn report(total: f64) -> Value {
    let hostile = hostile(|_| false);
    json!({ "schema": "roundtrip/probe/1", "results": [{
        "url": hostile, "run": 0, "hop": 0, "ok": true, "error": null, "rtt_ms": 10.0, "total_ms": total,
        "ttfb_ms": null,
        "phases": [{
            "name": hostile, "ms": total, "round_trips": 1, "first_sent_ms": null,
            "waited_for": { "network_ms": total },
        }],
        "tls": { "version": format!("{hostile}{total}"), "cipher": hostile },
        "http": { "version": hostile, "status": 200 },
        "client_work": [{ "task": hostile, "ms": total }],
        "findings": [{ "id": hostile, "ms": total, "evidence": hostile, "remedy": hostile }],
    }] })
}

fn examination(status: &str) -> Value {
    let hostile = hostile(|_| false);
    json!({ "schema": "roundtrip/doctor/1", "root": hostile, "checks": [{
        "id": hostile, "area": hostile, "title": hostile, "value": hostile, "status": status, "meaning": hostile,
        "change": hostile,
    }] })
}

#[test]
fn reports_that_are_compared() {
    let user = User::new();
    let test = "reports_that_are_compared";
    for (a, b) in [
        (report(10.0), report(20.0)),
        (examination("good"), examination("problem")),
        (report(10.0), examination(&typed())),
        (json!({ "schema": typed() }), report(1.0)),
        (
            json!({ "schema": "roundtrip/probe/1", "results": [{ typed(): typed() }] }),
            report(1.0),
        ),
    ] {
        let a = user.write(&format!("{}a.json", name()), a.to_string());
        let b = user.write(&format!("{}b.json", name()), b.to_string());
        let page = user.home().join("page.html");
        for words in [&["-v"][..], &["-q"], &["--url", &typed()]] {
            let html = ["--html", page.to_str().unwrap(), &a, &b];
            let said = user.run(&[&["diff"], words, &html].concat());
            assert_inert(&text(&said.stdout));
            assert_inert(&text(&said.stderr));
            if words == ["-v"] {
                assert_harmless(&(text(&said.stdout) + &text(&said.stderr)));
            }
            if said.status.success() {
                assert_harmless(&std::fs::read_to_string(&page).unwrap());
            }
        }
        if let Some(said) = user.on_a_terminal(test, &["diff", "--json", &a, &b]) {
            assert_harmless(&said);
        }
    }
}

/// Doctor replaces characters that act with a question mark.
#[test]
fn images_that_are_examined() {
    let user = User::new();
    let root = format!("image{}", name());
    let line = hostile(|c| c == '\n');
    for (file, text) in [
        ("etc/os-release", format!("PRETTY_NAME=\"{line}\"\n")),
        (
            "etc/resolv.conf",
            format!("nameserver {line}\noptions {line}\nnameserver 192.0.2.1\n"),
        ),
        ("etc/nsswitch.conf", format!("hosts: {line}\n")),
        ("etc/hosts", format!("127.0.0.1 {line}\n")),
        (
            "etc/ssl/openssl.cnf",
            format!("[default]\nMinProtocol = {line}\nOptions = {line}\n"),
        ),
        (
            "var/lib/dpkg/status",
            format!("Package: openssl\nStatus: {line}\nVersion: {line}\n\n"),
        ),
        (&format!("usr/bin/curl{}", name())[..], line.clone()),
    ] {
        user.write(&format!("{root}/{file}"), text);
    }
    let said = user.run(&["doctor", "--root", &root]);
    assert!(said.status.success(), "{said:?}");
    let shown = text(&said.stdout);
    assert_inert(&shown);
    assert!(shown.contains("Distribution: <???"), "{shown}");
    let test = "images_that_are_examined";
    if let Some(said) = user.on_a_terminal(test, &["doctor", "--json", "--root", &root]) {
        assert_harmless(&said);
    }
}

/// Writes `text` as a TOML string.
fn in_toml(text: &str) -> String {
    let escaped = text.chars().map(|c| format!("\\U{:08x}", u32::from(c)));
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn experiments_that_are_run() {
    let user = User::new();
    let hostile = in_toml(&hostile(|_| false));
    let file = format!(
        "
question = {hostile}
article = {hostile}
measure = 'total'
runs = 1
requests = 1
baseline = 'each'
[path]
rtt = '5ms'
[[server]]
name = 'origin'
knobs = {{}}
[[arm]]
name = 'each'
strategy = 'h1+clear'
[[arm]]
name = 'absent'
program = {hostile}
[[claim]]
text = {hostile}
holds = 'round_trips(each) == 2'
"
    );
    let file = user.write(&format!("{}.toml", name()), file);
    let page = user.home().join("page.html");
    let page = page.to_str().unwrap();
    let said = user.run(&["lab", "run", &file, "--html", page]);
    assert_harmless(&(text(&said.stdout) + &text(&said.stderr)));
    assert_harmless(&std::fs::read_to_string(page).unwrap());
    let test = "experiments_that_are_run";
    if let Some(said) = user.on_a_terminal(test, &["lab", "run", "--json", "-q", &file]) {
        assert_harmless(&said);
    }
}

#[test]
fn experiments_that_are_refused() {
    let user = User::new();
    let word = in_toml(&hostile(|c| c == '\0'));
    for wrong in [
        format!("question = {word}\n{word} = 1\n"),
        format!("question = 'a'\nmeasure = {word}\n"),
        format!(
            "question = 'a'\narticle = 'b'\nbaseline = {word}\n[[arm]]\nname = {word}\nstrategy = {word}\n"
        ),
        format!("question = '{}'\n", hostile(char::is_control)),
    ] {
        let file = user.write(&format!("{}.toml", name()), wrong);
        let said = user.run(&["lab", "run", &file]);
        assert!(!said.status.success());
        assert_harmless(&text(&said.stderr));
    }
}
