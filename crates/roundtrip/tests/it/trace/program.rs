//! `roundtrip trace -- COMMAND` and `--watch` on the command line: over an emulated path, with the
//! command's outputs and exit codes.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use serde_json::Value;

use crate::skip;
use crate::trace::{roundtrip, text};

const BINARY: &str = env!("CARGO_BIN_EXE_roundtrip");

#[test]
fn a_client_behind_a_path_is_explained() {
    const TEST: &str = "a_client_behind_a_path_is_explained";
    if !Path::new("/usr/bin/curl").exists() {
        return skip::lacking(TEST, "curl");
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let url = "https://server.roundtrip.test/bytes/5000";
    let path = [
        "path",
        "--rtt",
        "40ms",
        "--dns",
        "--origin",
        "think=100ms",
        "-q",
        "--",
        BINARY,
    ];
    let trace = ["trace", "--json", "-o", report.to_str().unwrap(), "--"];
    let curl = ["/usr/bin/curl", "-sSk4", "--http1.1", url];
    let output = roundtrip(&[path.as_slice(), &trace, &curl].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout.len(), 5000);
    let document: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(document["schema"], "roundtrip/trace/1");
    assert_eq!(document["exit_code"], 0);
    let result = &document["results"][0];
    assert_eq!(result["url"], "https://server.roundtrip.test/");
    let phases = result["phases"].as_array().unwrap();
    let trips = |name: &str| {
        let phase = phases.iter().find(|phase| phase["name"] == name);
        phase.map(|phase| phase["round_trips"].as_u64().unwrap())
    };
    assert_eq!(
        [
            trips("name"),
            trips("tcp"),
            trips("tls"),
            trips("first_byte")
        ],
        [Some(0), Some(1), Some(1), Some(1)],
        "a resolver is not on the path to the server: {phases:#?}"
    );
    // On a busy machine the acknowledgement may be noticed too late, or the path may vary by as
    // much.
    let told = result["findings"].as_array().unwrap().iter();
    let blamed = ["server-think-time", "late-answer"];
    let named = told.clone().any(|f| blamed.iter().any(|id| f["id"] == *id));
    let left = result["unexplained"].as_array().unwrap().iter();
    let is_left = left
        .clone()
        .any(|at| at["phase"] == "first_byte" && at["ms"].as_f64() > Some(90.0));
    assert!(named || is_left, "{result:#?}");
}

#[test]
fn the_report_is_beside_the_command_s_output() {
    let output = roundtrip(&["trace", "--", "sh", "-c", "echo mine; exit 42"]);
    assert_eq!(output.status.code(), Some(42));
    assert_eq!(text(&output.stdout), "mine\n");
    assert_eq!(
        text(&output.stderr),
        "roundtrip: 0 connections, 0 exchanges\n"
    );
    let missing = roundtrip(&["trace", "--", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert_eq!(
        text(&missing.stderr),
        "roundtrip: no-such-program: command not found\n"
    );
    let killed = roundtrip(&["trace", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(137));
}

#[test]
fn a_process_is_watched_for_a_while() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _ours = TcpStream::connect(address).unwrap();
    let process = std::process::id().to_string();
    let arguments = [
        "trace",
        "--watch",
        &process,
        "--interval",
        "50ms",
        "--duration",
        "300ms",
    ];
    let output = roundtrip(&arguments);
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_ours = |line: &&Value| line["peer"] == address.to_string();
    assert!(lines.iter().filter(of_ours).count() >= 2, "{lines:?}");
    let gone = roundtrip(&["trace", "--watch", "8388608"]);
    assert_eq!(gone.status.code(), Some(1));
    assert_eq!(
        text(&gone.stderr),
        "roundtrip: there is no process 8388608\n"
    );
}

#[test]
fn one_thing_is_traced_at_a_time() {
    for arguments in [
        vec!["trace"],
        vec!["trace", "a.pcap", "--", "true"],
        vec!["trace", "--watch", ":443", "--", "true"],
        vec!["trace", "--watch", ":443", "a.pcap"],
        vec!["trace", "--watch", "curl"],
        vec!["trace", "--duration", "1s", "--", "true"],
    ] {
        let output = roundtrip(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
