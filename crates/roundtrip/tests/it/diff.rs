//! `diff` for people and programs: what it says, how it exits, and how it handles files that are
//! not reports.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Reports in a directory that is removed with them.
struct Reports(TempDir);

impl Reports {
    fn new() -> Self {
        let reports = Self(tempfile::tempdir().unwrap());
        reports.write("old.json", &document(&old()).to_string());
        reports.write("new.json", &document(&new()).to_string());
        reports
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn diff(&self, arguments: &[&str]) -> Output {
        diff(self.0.path(), arguments).output().unwrap()
    }
}

fn diff(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
    command
        .arg("diff")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8");
    command
}

fn document(result: &Value) -> Value {
    json!({ "schema": "roundtrip/probe/1", "results": [result] })
}

fn result(version: &str, trips: u32, hello: f64) -> Value {
    let network = f64::from(trips) * 10.0;
    json!({
        "url": "https://shop.example/", "run": 0, "hop": 0, "ok": true, "error": null, "rtt_ms": 10.0,
        "total_ms": 10.0 + network + hello, "ttfb_ms": null,
        "phases": [
            { "name": "tcp", "ms": 10.0, "round_trips": 1, "first_sent_ms": null, "waited_for": { "network_ms": 10.0 } },
            {
                "name": "tls", "ms": network + hello, "round_trips": trips, "first_sent_ms": hello,
                "waited_for": { "network_ms": network, "client_ms": hello },
            },
        ],
        "tls": { "version": version },
        "findings": [{ "id": "\u{1b}[31mred", "ms": hello, "evidence": "", "remedy": "" }],
    })
}

fn old() -> Value {
    result("TLSv1.2", 2, 100.0)
}

fn new() -> Value {
    result("TLSv1.3", 1, 1.0)
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, code: i32, told: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(
        said.starts_with("roundtrip: ") && said.contains(told),
        "{said}"
    );
    assert!(
        said.lines().count() <= 2 && output.stdout.is_empty(),
        "{said}"
    );
}

#[test]
fn the_answer_comes_first_and_what_peers_wrote_is_made_safe() {
    let reports = Reports::new();
    let output = reports.diff(&["old.json", "new.json"]);
    assert!(output.status.success(), "{output:?}");
    let said = out(&output);
    assert!(
        said.starts_with(
            "B is 109.0 ms faster (21.0 ms instead of 130.0 ms, 84 % less). 99.0 ms of it"
        ),
        "{said}"
    );
    for line in [
        "TLS handshake         120.00     11.00   -109.00  2 → 1",
        "-99.00  client work before the ClientHello",
        "-10.00  1 round trip less in the TLS handshake: TLS 1.3 instead of TLS 1.2",
        "TLS version                       TLSv1.2 → TLSv1.3",
    ] {
        assert!(said.contains(line), "'{line}' is not in:\n{said}");
    }
    assert!(
        !said.contains('\u{1b}') && said.contains("\\u{1b}[31mred"),
        "{said}"
    );
    let quiet = out(&reports.diff(&["-q", "old.json", "new.json"]));
    assert!(
        said.starts_with(&quiet) && !quiet.contains("\n\n"),
        "{quiet}"
    );
}

#[test]
fn programs_get_a_document_and_pages_are_written() {
    let reports = Reports::new();
    let output = reports.diff(&["--json", "--html", "page.html", "old.json", "new.json"]);
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(document["schema"], "roundtrip/diff/1");
    assert_eq!(document["difference"]["ms"], -109.0);
    assert_eq!(document["parts"][1]["kind"], "round_trips");
    assert_eq!(document["parts"][1]["why"], "TLS 1.3 instead of TLS 1.2");
    assert_eq!(document["unexplained_ms"], 0.0);
    let page = fs::read_to_string(reports.0.path().join("page.html")).unwrap();
    assert!(
        page.contains("client work before the ClientHello") && page.contains("TLSv1.2 → TLSv1.3")
    );
    assert!(
        !page.contains('\u{1b}')
            && !page.contains("<script")
            && !page.contains("http-equiv=\"refresh")
    );
}

/// Each key that a comparison of probes or doctors can have is explained in docs/json.md.
#[test]
fn every_key_is_documented() {
    let reports = Reports::new();
    let check = json!({ "id": "a", "area": "tls", "title": "t", "value": "1", "status": "good", "meaning": "m", "change": null });
    let doctor = |checks: &[Value]| {
        json!({ "schema": "roundtrip/doctor/1", "root": null, "checks": checks }).to_string()
    };
    reports.write("d1.json", &doctor(&[check]));
    reports.write("d2.json", &doctor(&[]));
    let guide =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    let (_, section) = guide.split_once("roundtrip/diff/1").unwrap();
    for files in [["old.json", "new.json"], ["d1.json", "d2.json"]] {
        let output = reports.diff(&["--json", files[0], files[1]]);
        let document: Value = serde_json::from_str(&out(&output)).unwrap();
        for key in keys(&document) {
            assert!(
                section.contains(&format!("`{key}`")),
                "{key} is not in docs/json.md"
            );
        }
    }
}

fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let below = map.values().flat_map(keys);
            map.keys().cloned().chain(below).collect()
        }
        Value::Array(values) => values.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let reports = Reports::new();
    for width in ["64", "80", "100"] {
        let mut command = diff(reports.0.path(), &["-v", "old.json", "new.json"]);
        let said = out(&command.env("COLUMNS", width).output().unwrap());
        let widest = said.lines().map(|line| line.chars().count()).max();
        assert!(widest <= width.parse().ok(), "{width}:\n{said}");
    }
}

#[test]
fn two_machines_are_compared_by_their_findings() {
    let reports = Reports::new();
    let with = |status: &str| {
        let check = json!({
            "id": "openssl", "area": "tls", "title": "OpenSSL", "value": status, "status": status,
            "meaning": "Two round trips.", "change": "a newer image",
        });
        json!({ "schema": "roundtrip/doctor/1", "root": null, "checks": [check] }).to_string()
    };
    reports.write("good.json", &with("good"));
    reports.write("bad.json", &with("problem"));
    let output = reports.diff(&[
        "good.json",
        "bad.json",
        "--fail-if",
        "worse > 0",
        "--html",
        "page.html",
    ]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = out(&output);
    assert!(
        said.starts_with("B is worse in 1 finding: OpenSSL (good → problem)."),
        "{said}"
    );
    assert!(said.contains("  worse     OpenSSL: good (good) → problem (problem)\n            Two round trips.\n            change: a newer image\n"), "{said}");
    let page = fs::read_to_string(reports.0.path().join("page.html")).unwrap();
    assert!(page.contains("problem (problem)"), "{page}");
    let better = reports.diff(&["bad.json", "good.json", "--fail-if", "worse > 0"]);
    assert!(
        better.status.success() && out(&better).starts_with("B is better in 1 finding"),
        "{better:?}"
    );
}

#[test]
fn limits_decide_the_exit_code() {
    let reports = Reports::new();
    let missed = reports.diff(&["-q", "new.json", "old.json", "--fail-if", "worse > 10%"]);
    assert_eq!(missed.status.code(), Some(3));
    let said = String::from_utf8(missed.stderr).unwrap();
    assert_eq!(said, "roundtrip: limit missed: worse > 10% (+519.0 %)\n");
    let kept = reports.diff(&["-q", "old.json", "new.json", "--fail-if", "worse > 10%"]);
    assert_eq!(kept.status.code(), Some(0));
    let wrong = reports.diff(&["old.json", "new.json", "--fail-if", "speed > 1"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn one_report_may_come_from_a_pipe() {
    let reports = Reports::new();
    let mut command = diff(reports.0.path(), &["-q", "old.json", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = format!("{}\n{}\n", new(), new());
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let said = out(&child.wait_with_output().unwrap());
    assert!(said.starts_with("B is 109.0 ms faster"), "{said}");
    refused(&reports.diff(&["-", "-"]), 2, "standard input");
}

#[test]
fn errors_of_diff_take_one_line() {
    let reports = Reports::new();
    let mut broken = old();
    broken["phases"][0]["ms"] = json!("soon");
    reports.write("broken.json", &document(&broken).to_string());
    reports.write("page.json", "<html>");
    reports.write("later.json", r#"{"schema":"roundtrip/probe/9\u001b[31m"}"#);
    reports.write(
        "doctor.json",
        r#"{"schema":"roundtrip/doctor/1","root":null,"checks":[]}"#,
    );
    let with = |file: &str| reports.diff(&["new.json", file]);
    refused(
        &with("absent.json"),
        1,
        "cannot read absent.json: No such file",
    );
    refused(&with("."), 1, "cannot read .: Is a directory");
    refused(
        &with("broken.json"),
        1,
        "broken.json: results[0].phases[0].ms: a number was expected, a string was found",
    );
    refused(&with("page.json"), 1, "page.json: no JSON: ");
    refused(
        &with("later.json"),
        1,
        "later.json: holds 'roundtrip/probe/9\\u{1b}[31m', which this version does not",
    );
    refused(
        &with("doctor.json"),
        2,
        "A is a report of probe, but B is one of doctor",
    );
    let limit = reports.diff(&["doctor.json", "doctor.json", "--fail-if", "client > 1"]);
    refused(
        &limit,
        2,
        "'client > 1' does not apply to two doctor reports",
    );
    let url = reports.diff(&["old.json", "new.json", "--url", "https://none.example/"]);
    refused(&url, 1, "no result of https://none.example/");
}
