//! `roundtrip compare` on the command line: what it announces, what it refuses, and what it writes.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Output};

use roundtrip_origin::{Knobs, Origin, Running};
use serde_json::Value;

struct Scene {
    origin: Running,
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let origin = Origin::spawn_thread(Knobs::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("ca.pem"), &origin.ca_pem).unwrap();
        Self { origin, directory }
    }

    /// Two ways besides the current one, and few requests.
    fn compare(&self, more: &[&str]) -> Output {
        let url = format!("https://{}/bytes/100", self.origin.https);
        let ca = self.directory.path().join("ca.pem");
        let mut words: Vec<&OsStr> = ["--rate", "1000", "-n", "60", "--cacert"]
            .map(OsStr::new)
            .into();
        words.push(ca.as_os_str());
        words.extend(["--strategies", "h2+tls1.3+reuse,h1+tls1.2"].map(OsStr::new));
        words.extend(more.iter().map(OsStr::new));
        words.push(OsStr::new(&url));
        roundtrip(&words)
    }
}

fn roundtrip(words: &[&OsStr]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
    command.env_remove("SSL_CERT_FILE").env("LC_ALL", "C.UTF-8");
    command.env("no_proxy", "*");
    command.arg("compare").args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_announced_budget_is_kept() {
    let scene = Scene::new();
    let output = scene.compare(&[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(err.contains("at most 60 requests"), "{err}");
    let seen = scene.origin.stats().requests;
    assert!((20..=60).contains(&seen), "{seen}");
    assert!(out.contains("keep the connection: "), "{out}");
    assert!(out.contains("Today: h2+tls1.3"), "{out}");
}

#[test]
fn the_json_and_the_page() {
    let scene = Scene::new();
    let page = scene.directory.path().join("page.html");
    let output = scene.compare(&["--json", "-q", "--html", page.to_str().unwrap()]);
    let err = text(&output.stderr);
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "roundtrip/compare/1");
    let word = |way: &Value| way["way"].as_str().unwrap().to_owned();
    let mut words: Vec<String> = document["ways"]
        .as_array()
        .unwrap()
        .iter()
        .map(word)
        .collect();
    words.sort();
    assert_eq!(words, ["h1+tls1.2", "h2+tls1.3+reuse"]);
    assert!(document["control"]["saving"]["pairs"].as_u64().unwrap() >= 2);
    assert!(document["requests_sent"].as_u64().unwrap() <= 60);
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
}

#[test]
fn impossible_comparisons_are_refused_before_anything_is_sent() {
    let scene = Scene::new();
    for (words, why) in [
        (vec!["-X", "POST"], "--force"),
        (vec!["-L"], "redirects"),
        (vec!["--requests", "40"], "does not fit"),
    ] {
        let output = scene.compare(&words);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(why), "{err}");
    }
    assert_eq!(scene.origin.stats().requests, 0);
    let output = roundtrip(&["http://127.0.0.1:9/".as_ref()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nothing to compare with"));
}

/// A capture (raw IPv4, microseconds) of one request to this origin in clear text.
fn capture(origin: std::net::SocketAddr) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    let request = format!("GET /bytes/100 HTTP/1.1\r\nHost: {origin}\r\n\r\n");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        "x".repeat(100)
    );
    let (asked, end) = (1 + request.len() as u32, 1 + answer.len() as u32);
    let packets = [
        (0, true, 2, 0, 0, ""),
        (40_000, false, 18, 0, 1, ""),
        (40_100, true, 16, 1, 1, request.as_str()),
        (80_200, false, 16, 1, asked, ""),
        (380_000, false, 16, 1, asked, answer.as_str()),
        (380_100, true, 17, asked, end, ""),
        (420_000, false, 17, end, asked + 1, ""),
    ];
    for (at, is_clients, flags, sequence, acknowledgment, payload) in packets {
        let length = 40 + payload.len() as u32;
        for word in [1_700_000_000_u32, at, length, length] {
            file.extend(word.to_le_bytes());
        }
        let mut ends = [([127, 0, 0, 9], 50_000), ([127, 0, 0, 1], origin.port())];
        if !is_clients {
            ends.reverse();
        }
        file.extend([0x45, 0]);
        file.extend((length as u16).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        file.extend(ends.iter().flat_map(|(address, _)| *address));
        file.extend(ends.iter().flat_map(|(_, port)| port.to_be_bytes()));
        let numbers: [u32; 2] = [sequence, acknowledgment];
        file.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
        file.extend([0x50, flags, 255, 255, 0, 0, 0, 0]);
        file.extend(payload.as_bytes());
    }
    file
}

#[test]
fn a_capture_says_what_to_ask_again() {
    let scene = Scene::new();
    let file = scene.directory.path().join("slow.pcap");
    fs::write(&file, capture(scene.origin.http)).unwrap();
    let words = [
        "--rate",
        "1000",
        "-n",
        "40",
        "--strategies",
        "h1+clear+reuse",
        "--json",
    ];
    let mut words: Vec<&OsStr> = words.map(OsStr::new).into();
    words.extend([OsStr::new("--from-trace"), file.as_os_str()]);
    let output = roundtrip(&words);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let told = "/bytes/100 in 380.0 ms, 2 round trips of 40.0 ms, as h1+clear; server-think-time ";
    assert!(err.replace("\n  ", " ").contains(told), "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let url = format!("http://{}/bytes/100", scene.origin.http);
    assert!(out.contains(&url), "{json}");
    assert!(scene.origin.stats().requests > 0);

    words.extend(["--flow", "2"].map(OsStr::new));
    let output = roundtrip(&words);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("contains no exchange that can be asked again"));
}

#[test]
fn a_log_says_what_to_ask_again_and_a_damaged_capture_what_was_before() {
    let scene = Scene::new();
    let url = format!("http://{}/bytes/100", scene.origin.http);
    let entry = |method: &str, url: &str, time: u32| {
        format!(
            r#"{{"startedDateTime": "2026-01-05T10:00:00Z", "time": {time},
            "request": {{"method": "{method}", "url": "{url}"}},
            "response": {{"status": 200, "httpVersion": "HTTP/1.1"}}, "timings": {{"wait": {time}}}}}"#
        )
    };
    let entries = [
        entry("POST", &url, 900),
        entry("GET", &url, 380),
        entry("GET", "data:text/plain,x", 700),
    ];
    let har = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
    let damaged = [&capture(scene.origin.http)[..], &[0xff; 64]].concat();
    let told = [
        (har.into_bytes(), "the client that wrote the HAR asked"),
        (damaged, "connection 1 of the capture asked"),
    ];
    for (bytes, told) in told {
        let file = scene.directory.path().join("slow");
        fs::write(&file, bytes).unwrap();
        let words = "--rate 1000 -n 40 --strategies h1+clear+reuse --json --from-trace";
        let mut words: Vec<&OsStr> = words.split(' ').map(OsStr::new).collect();
        words.push(file.as_os_str());
        let output = roundtrip(&words);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{out}{err}");
        let err = err.replace("\n  ", " ");
        assert!(err.contains(told) && err.contains("380.0 ms"), "{err}");
        assert!(out.contains(&url), "{out}");
    }
}
