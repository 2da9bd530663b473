//! Logs that programs wrote about their own requests.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::trace::{roundtrip, text};

const HAR: &str = r#"{"log": {"version": "1.2", "entries": [
 {"startedDateTime": "2026-01-05T10:00:00.000Z", "time": 150, "connection": "1",
  "request": {"method": "GET", "url": "https://a.example/<b>"},
  "response": {"status": 200, "httpVersion": "http/1.1"},
  "timings": {"blocked": 0, "dns": 10, "connect": 80, "ssl": 40, "send": 0, "wait": 50, "receive": 10}},
 {"startedDateTime": "2026-01-05T10:00:00.160Z", "time": 400, "connection": "1",
  "request": {"method": "GET", "url": "https://a.example/api"},
  "response": {"status": 200, "httpVersion": "http/1.1"},
  "timings": {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 380, "receive": 20}}
]}}"#;

fn document(file: &Path) -> Value {
    let output = roundtrip(&["trace", "--json", file.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_har_is_shown_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    // The content decides, not the name.
    let file = folder.path().join("slow.pcap");
    fs::write(&file, HAR).unwrap();
    let page = folder.path().join("slow.html");
    let arguments = [
        "trace",
        file.to_str().unwrap(),
        "--html",
        page.to_str().unwrap(),
    ];
    let output = roundtrip(&[&arguments[..], &["--fail-if", "ttfb > 300ms"]].concat());
    // The wait of one request exceeds the limit.
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let shown = text(&output.stdout);
    for part in [
        "HAR, 2 requests",
        "The critical path: 560.0 ms",
        "not decidable from this log",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("The load took 560.0 ms"));
    assert!(!page.contains("example/<b>"));
    let told = document(&file);
    assert_eq!(told["schema"], "roundtrip/trace/1");
    assert_eq!(told["told"]["requests"][1]["waited_beyond_ms"], 340.0);
    // A log alone blames nobody.
    assert_eq!(told["results"].as_array().unwrap().len(), 0);
    let output = roundtrip(&["trace", file.to_str().unwrap(), "--flow", "1"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn curls_own_log_has_the_times_of_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("curl.log");
    let output = roundtrip(&[
        "path",
        "--rtt",
        "40ms",
        "--dns",
        "--origin",
        "think=100ms",
        "-q",
        "--",
        "curl",
        "-sk4",
        "--trace-time",
        "--trace-ascii",
        log.to_str().unwrap(),
        "https://server.test/bytes/5000",
        "https://server.test/status/404",
        "-o",
        "/dev/null",
        "-o",
        "/dev/null",
    ]);
    assert!(output.status.success(), "{output:?}");
    let told = document(&log);
    assert_eq!(told["told"]["format"], "curl trace");
    let requests = told["told"]["requests"].as_array().unwrap();
    let statuses: Vec<&Value> = requests.iter().map(|request| &request["status"]).collect();
    assert_eq!(statuses, [200, 404]);
    for request in requests {
        let trip = request["round_trip_ms"].as_f64().unwrap();
        let beyond = request["waited_beyond_ms"].as_f64().unwrap();
        assert!(trip >= 40.0 && beyond >= 60.0, "{request:#}");
    }
}

#[test]
fn a_file_that_is_neither_capture_nor_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    fs::write(&file, "nothing of the kind\n").unwrap();
    let output = roundtrip(&["trace", file.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("neither a capture"));
    let from_pipe = std::process::Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(["trace", "-"])
        .stdin(Stdio::from(fs::File::open(&file).unwrap()))
        .output()
        .unwrap();
    assert!(text(&from_pipe.stderr).contains("neither a capture"));
}
