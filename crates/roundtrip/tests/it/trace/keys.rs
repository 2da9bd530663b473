//! Requests inside TLS and QUIC, opened with the secrets of a key log.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use roundtrip_wire::capture::{CaptureItem, CaptureReader};
use serde_json::Value;

use crate::trace::{results, roundtrip, text};

/// A program behind a path, recorded, with the secrets of its sessions.
pub(super) fn recorded_with_keys(folder: &Path, program: &[&str]) -> (PathBuf, PathBuf) {
    let file = folder.join("packets.pcapng");
    let keys = folder.join("keys.log");
    let path = [
        "path",
        "--rtt",
        "40ms",
        "--dns",
        "--origin",
        "think=100ms",
        "--pcapng",
        file.to_str().unwrap(),
        "--",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(path)
        .args(program)
        .env("SSLKEYLOGFILE", &keys)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    (file, keys)
}

#[test]
fn with_keys_requests_are_seen_instead_of_inferred() {
    let url = "https://server.test/bytes/5000";
    for strategy in ["h1+tls1.3", "h1+tls1.2", "h2+tls1.3", "h2+tls1.2", "h3"] {
        let folder = tempfile::tempdir().unwrap();
        let probe = env!("CARGO_BIN_EXE_roundtrip");
        let asked = [probe, "probe", "-q", "--strategy", strategy, url];
        let (file, keys) = recorded_with_keys(folder.path(), &asked);
        let sealed = results(&file, None);
        assert_eq!(sealed[0]["connection"]["known"], "inferred", "{strategy}");
        let opened = results(&file, Some(&keys));
        assert_eq!(opened.len(), 1, "{strategy}: {opened:#?}");
        let result = &opened[0];
        assert_eq!(result["connection"]["known"], "seen", "{strategy}");
        assert_eq!(result["url"], url, "{strategy}");
        assert_eq!(result["http"]["status"], 200, "{strategy}: {result:#}");
        assert_eq!(result["http"]["method"], "GET", "{strategy}");
        assert_eq!(
            result["http"]["downloaded_bytes"], 5000,
            "{strategy}: {result:#}"
        );
        assert_eq!(
            result["round_trips"], sealed[0]["round_trips"],
            "{strategy}: {result:#}"
        );
        let needs = result["connection"]["undecidable"].to_string();
        assert!(!needs.contains("keys"), "{strategy}: {needs}");
    }
}

#[test]
fn curls_requests_of_one_connection_are_told_one_by_one() {
    let of = |n: u32| format!("https://server.test/bytes/{n}");
    let urls: Vec<String> = (1..=6).map(|n| of(n * 1000)).collect();
    for version in ["--http1.1", "--http2"] {
        let folder = tempfile::tempdir().unwrap();
        let mut asked = vec!["curl", "-s", "-k", version];
        if version == "--http2" {
            asked.push("--parallel");
        }
        for url in &urls {
            asked.extend(["-o", "/dev/null", url]);
        }
        let (file, keys) = recorded_with_keys(folder.path(), &asked);
        let opened = results(&file, Some(&keys));
        let mut told: Vec<(String, u64, u64)> = opened
            .iter()
            .map(|result| {
                let number = |value: &Value| value.as_u64().unwrap_or_default();
                let http = &result["http"];
                let url = result["url"].as_str().unwrap().to_owned();
                (
                    url,
                    number(&http["status"]),
                    number(&http["downloaded_bytes"]),
                )
            })
            .collect();
        told.sort_by_key(|(.., bytes)| *bytes);
        let expected = urls.iter().zip(1..);
        let expected: Vec<_> = expected
            .map(|(url, n)| (url.clone(), 200, n * 1000))
            .collect();
        assert_eq!(told, expected, "{version}");
    }
}

#[test]
fn keys_of_others_open_nothing_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let probe = env!("CARGO_BIN_EXE_roundtrip");
    let url = "https://server.test/";
    let (file, keys) = recorded_with_keys(folder.path(), &[probe, "probe", "-q", url]);
    let right = fs::read_to_string(&keys).unwrap();
    // The same sessions with other secrets, and a line that cannot be parsed.
    let wrong: String = right
        .lines()
        .map(|line| {
            let (session, secret) = line.rsplit_once(' ').unwrap();
            format!("{session} {}\n", "5a".repeat(secret.len() / 2))
        })
        .collect();
    fs::write(&keys, format!("{wrong}CLIENT_RANDOM zz zz\n")).unwrap();
    let arguments = [
        "trace",
        file.to_str().unwrap(),
        "--keys",
        keys.to_str().unwrap(),
    ];
    let output = roundtrip(&arguments);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    for part in [
        "the keys belong to none of its connections",
        "1 connections could not be decrypted with the keys",
        "1 lines of the key logs cannot be read",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("5a5a"), "{said}");
    let lost = folder.path().join("no such file");
    let output = roundtrip(&[
        "trace",
        file.to_str().unwrap(),
        "--keys",
        lost.to_str().unwrap(),
    ]);
    assert!(!output.status.success());
}

#[test]
fn evidence_is_written_with_its_own_secrets_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let probe = env!("CARGO_BIN_EXE_roundtrip");
    // Each exchange has its own connection.
    let url = "https://server.test/bytes/3000";
    let asked = [
        probe,
        "probe",
        "-q4",
        "-c",
        "3",
        "--strategy",
        "h1+tls1.3",
        url,
    ];
    let (file, keys) = recorded_with_keys(folder.path(), &asked);
    let cut = folder.path().join("cut.pcapng");
    let [file, keys, to] = [&file, &keys, &cut].map(|path| path.to_str().unwrap());
    let output = roundtrip(&["trace", file, "--keys", keys, "--flow", "2", "--write", to]);
    assert!(output.status.success(), "{output:?}");
    let results = results(&cut, None);
    assert_eq!(results.len(), 1, "{results:#?}");
    assert_eq!(results[0]["connection"]["known"], "seen");
    assert_eq!(results[0]["http"]["status"], 200);
    let mut sessions = HashSet::new();
    let bytes = fs::read(&cut).unwrap();
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    while let Some(item) = reader.item().unwrap() {
        if let CaptureItem::Secrets(lines) = item {
            for line in text(lines).lines() {
                sessions.extend(line.split(' ').nth(1).map(str::to_owned));
            }
        }
    }
    assert_eq!(sessions.len(), 1, "{sessions:?}");
}
