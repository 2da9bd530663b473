//! The built-in server at the far end, and which authority its clients trust.

use serde_json::Value;

use crate::path::run::{inside, path, said};
use crate::process::ROUNDTRIP;

#[test]
fn round_trips_are_counted_across_the_path() {
    for (strategy, count) in [
        ("h1+clear", 2),
        ("h1+tls1.3", 3),
        ("h1+tls1.2", 4),
        ("h3", 2),
    ] {
        let scheme = if strategy == "h1+clear" {
            "http"
        } else {
            "https"
        };
        let line = format!("{ROUNDTRIP} probe --json -q --strategy {strategy} {scheme}://server/");
        let report = inside(&["--rtt=30ms", "--origin", "--quiet"], &line);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["results"][0]["round_trips"], count, "{report:#}");
    }
}

#[test]
fn knobs_are_those_of_the_origin() {
    let line =
        format!("{ROUNDTRIP} probe --json -q --strategy h1+tls1.3+0rtt https://shop.example:8443/");
    let flags = [
        "--rtt=30ms",
        "--name=shop.example",
        "--origin=early-data=on https-port=8443",
        "--quiet",
    ];
    let report: Value = serde_json::from_str(&inside(&flags, &line)).unwrap();
    assert_eq!(report["results"][0]["round_trips"], 2, "{report:#}");
}

#[test]
fn the_environment_says_where_it_is_and_whom_to_trust() {
    let line = "echo $ORIGIN_URL $ORIGIN_HTTP_URL $ORIGIN_ECHO; test \"$SSL_CERT_FILE\" = \"$ORIGIN_CA\" && cat $ORIGIN_CA";
    let out = inside(&["--origin", "http-port=8080 echo-port=7"], line);
    let (first, rest) = out.split_once('\n').unwrap();
    assert_eq!(first, "https://server/ http://server:8080/ tcp://server:7");
    assert!(rest.starts_with("-----BEGIN CERTIFICATE-----"), "{rest}");
}

#[test]
fn both_ends_know_each_other() {
    let far = "echo $SERVER_V4 $CLIENT_V6 >&2";
    let said = said(path(
        &["--serve", far, "--wait", "none"],
        &["sh", "-c", "echo $CLIENT_V4 $SERVER_V6; sleep 0.3"],
    ));
    assert_eq!(said.out, "198.18.0.1 2001:2::2\n");
    assert!(said.err.contains("198.18.0.2 2001:2::1\n"), "{said:?}");
}

#[test]
fn a_recording_is_whole_when_the_command_has_ended() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let flags = [
        "--origin",
        "--quiet",
        "--pcapng",
        file.path().to_str().unwrap(),
    ];
    inside(&flags, &format!("{ROUNDTRIP} probe -q http://server/"));
    let bytes = std::fs::read(file.path()).unwrap();
    // A section header block is followed by packets.
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert!(bytes.len() > 1000, "{}", bytes.len());
}

#[test]
fn the_command_starts_once_the_far_end_listens() {
    let far = format!("sleep 0.5; exec {ROUNDTRIP} origin --bind 198.18.0.2 --http-port 8080");
    let near = format!("{ROUNDTRIP} probe -q -4 http://server:8080/ && echo reached");
    for wait in [&[][..], &["--wait", "8080"]] {
        let flags = [&["--serve", &far, "--quiet"], wait].concat();
        assert_eq!(inside(&flags, &near), "reached\n");
    }
}
