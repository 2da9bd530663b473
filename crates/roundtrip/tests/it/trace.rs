//! `roundtrip trace` on the command line: a recording of curl, or of probe, is read from a file,
//! compressed, and from a pipe; a file that is not a capture is refused.

#![allow(clippy::unwrap_used, clippy::panic)]

mod keys;
mod live;
mod logs;
mod program;
mod qlog;
mod two_captures;
mod wireshark;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use roundtrip_wire::pcapng::{Block, PcapngReader};
use serde_json::Value;

use crate::process::signal;

fn roundtrip(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The results of a capture, as JSON.
fn results(file: &Path, keys: Option<&Path>) -> Vec<Value> {
    let mut arguments = vec!["trace", "--json", file.to_str().unwrap()];
    if let Some(keys) = keys {
        arguments.extend(["--keys", keys.to_str().unwrap()]);
    }
    let output = roundtrip(&arguments);
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["results"].as_array().unwrap().clone()
}

/// One request over a path, recorded.
fn recorded(folder: &Path) -> PathBuf {
    let options = ["--dns", "--origin", "think=100ms"];
    record(folder, &options, &["-q", "http://server.test/bytes/5000"])
}

/// What `probe` asks over a path with these options, recorded at both ends.
fn record(folder: &Path, options: &[&str], asked: &[&str]) -> PathBuf {
    let file = folder.join("packets.pcapng");
    let mut words = vec!["path", "--rtt", "40ms"];
    words.extend(options);
    words.extend(["--pcapng", file.to_str().unwrap(), "--"]);
    words.extend([env!("CARGO_BIN_EXE_roundtrip"), "probe"]);
    words.extend(asked);
    let output = roundtrip(&words);
    assert!(output.status.success(), "{output:?}");
    file
}

#[test]
fn a_recording_is_explained_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path());
    let file = file.to_str().unwrap();
    let output = roundtrip(&["trace", file]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for part in [
        "1 connection, 1 exchange",
        "seen at the client's end",
        "GET http://server.test/bytes/5000  200",
        "name lookup",
        "server-think-time",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = text(&roundtrip(&["trace", file, "--flow", "1"]).stdout);
    assert!(shown.contains("Packets of connection 1"), "{shown}");
    assert!(shown.contains("not decidable from here"), "{shown}");
    let shown = text(&roundtrip(&["trace", file, "-q"]).stdout);
    assert!(shown.contains("Causes, by total cost"), "{shown}");
    let document: Value =
        serde_json::from_slice(&roundtrip(&["trace", file, "--json"]).stdout).unwrap();
    assert_eq!(document["schema"], "roundtrip/trace/1");
    assert_eq!(document["results"][0]["http"]["status"], 200);
    assert_eq!(
        document["results"][0]["connection"]["vantage"]["place"],
        "client"
    );
    let page = folder.path().join("page.html");
    let output = roundtrip(&["trace", file, "-q", "--html", page.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("server-think-time")
    );
}

#[test]
fn compressed_and_from_a_pipe_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path());
    let bytes = fs::read(&file).unwrap();
    let plain = roundtrip(&[
        "trace",
        "--ndjson",
        "--interface",
        "0",
        file.to_str().unwrap(),
    ]);
    let result = |output: &Output| {
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        (line["total_ms"].clone(), line["findings"].clone())
    };
    let compressed = folder.path().join("packets.gz");
    let mut encoder = flate2::write::GzEncoder::new(
        File::create(&compressed).unwrap(),
        flate2::Compression::fast(),
    );
    encoder.write_all(&bytes).unwrap();
    encoder.finish().unwrap();
    let gzip = roundtrip(&[
        "trace",
        "--ndjson",
        "--interface",
        "0",
        compressed.to_str().unwrap(),
    ]);
    assert_eq!(result(&gzip), result(&plain));
    let mut piped = Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(["trace", "--ndjson", "--interface", "0", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&bytes).unwrap();
    assert_eq!(result(&piped.wait_with_output().unwrap()), result(&plain));
}

#[test]
fn limits_are_judged_and_two_captures_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path());
    let file = file.to_str().unwrap();
    let missed = roundtrip(&["trace", file, "-q", "--fail-if", "server > 50ms"]);
    assert_eq!(missed.status.code(), Some(3), "{missed:?}");
    assert!(text(&missed.stderr).contains("limit missed"), "{missed:?}");
    let kept = roundtrip(&["trace", file, "-q", "--fail-if", "server > 50s"]);
    assert_eq!(kept.status.code(), Some(0), "{kept:?}");
    let report = folder.path().join("a.json");
    fs::write(&report, roundtrip(&["trace", file, "--json"]).stdout).unwrap();
    let report = report.to_str().unwrap();
    let compared = roundtrip(&["diff", report, report]);
    assert!(compared.status.success(), "{compared:?}");
}

#[test]
fn a_file_that_is_not_a_capture_is_refused_and_a_damaged_one_is_read_up_to_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage");
    fs::write(&garbage, "GET / HTTP/1.1").unwrap();
    let output = roundtrip(&["trace", garbage.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output.stderr).contains("neither a capture"),
        "{output:?}"
    );
    let output = roundtrip(&["trace", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let file = recorded(folder.path());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 30]).unwrap();
    let file = file.to_str().unwrap();
    let output = roundtrip(&["trace", file]);
    assert!(output.status.success(), "{output:?}");
    assert!(
        text(&output.stderr).contains("ends in the middle of a packet"),
        "{output:?}"
    );
    let output = roundtrip(&["trace", file, "--flow", "9"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("there is no connection 9"),
        "{output:?}"
    );
}

/// The exchanges of a capture: of each its URL, milliseconds and findings.
fn exchanges(file: &str) -> Vec<(Value, Value, Value)> {
    let output = roundtrip(&["trace", "--json", file]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = document["results"].as_array().unwrap().iter();
    results
        .map(|r| {
            (
                r["url"].clone(),
                r["total_ms"].clone(),
                r["findings"].clone(),
            )
        })
        .collect()
}

#[test]
fn the_evidence_is_written_with_comments_and_tells_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path());
    let file = file.to_str().unwrap();
    let evidence = folder.path().join("evidence.pcapng");
    let written = evidence.to_str().unwrap();
    let output = roundtrip(&["trace", file, "-q", "--write", written]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(exchanges(written), exchanges(file));
    let bytes = fs::read(&evidence).unwrap();
    let mut comments = String::new();
    let mut packets = 0;
    for block in PcapngReader::new(&bytes) {
        if let Block::Packet(packet) = block.unwrap() {
            packets += 1;
            comments += &packet.comments.join("\n");
            comments += "\n";
        }
    }
    for part in [
        "connection 1: http://server.test/bytes/5000 200",
        "server-think-time cost",
        "TCP connect: ",
        "server 1",
    ] {
        assert!(comments.contains(part), "{part}: {comments}");
    }
    let told = text(&output.stderr);
    assert!(
        told.contains(&format!("{packets} packets written")),
        "{told}"
    );
    // Another program reads them.
    let tshark = Command::new("tshark")
        .args(["-r", written, "-T", "fields", "-e", "frame.comment"])
        .output();
    if let Ok(tshark) = tshark {
        assert!(
            text(&tshark.stdout).contains("server-think-time"),
            "{tshark:?}"
        );
    }
    // The packets of each end become a capture, and the two can be compared.
    let ends = ["0", "1"].map(|end| {
        let path = folder.path().join(end).with_extension("pcapng");
        let path = path.to_str().unwrap().to_owned();
        let output = roundtrip(&["trace", file, "-q", "--interface", end, "--write", &path]);
        assert!(output.status.success(), "{output:?}");
        path
    });
    let output = roundtrip(&["trace", &ends[0], &ends[1], "-q"]);
    assert!(output.status.success(), "{output:?}");
    // The capture itself is not overwritten, and a pipe cannot be read twice.
    let other = folder.path().join("other name");
    fs::hard_link(file, &other).unwrap();
    for name in [file, other.to_str().unwrap()] {
        let output = roundtrip(&["trace", file, "-q", "--write", name]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    let output = roundtrip(&["trace", "-", "-q", "--write", written]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// A capture in the older format: unanswered SYNs from this many ports, a second apart.
fn in_vain(count: u16) -> Vec<u8> {
    let mut bytes = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0; 8]);
    bytes.extend([0xff, 0xff, 0, 0, 101, 0, 0, 0]);
    for n in 0..count {
        // It is refused at once, so that it is over.
        for (ports, flags, reply) in [([n + 1000, 80], 2, false), ([80, n + 1000], 0x14, true)] {
            let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
            let ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
            let ends = if reply { [ends[1], ends[0]] } else { ends };
            ip.extend(ends.concat());
            ip.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
            ip.extend([0, 0, 0, if reply { 0 } else { 7 }, 0, 0, 0, 8]);
            ip.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
            bytes.extend(u32::from(n).to_le_bytes());
            bytes.extend(u32::from(reply).to_le_bytes());
            bytes.extend([40_u32.to_le_bytes(), 40_u32.to_le_bytes()].concat());
            bytes.extend(ip);
        }
    }
    bytes
}

#[test]
fn connections_that_end_leave_at_once_and_ctrl_c_tells_the_rest() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(["trace", "--ndjson", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&in_vain(20)).unwrap();
    stdin.flush().unwrap();
    // The pipe stays open: finished exchanges are printed nevertheless.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["connection"]["number"], 1);
    // By now it waits for more; the signal has to end that wait.
    std::thread::sleep(Duration::from_millis(200));
    signal(child.id(), "INT");
    let rest: Vec<Value> = lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let numbers: Vec<u64> = rest
        .iter()
        .map(|line| line["connection"]["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (2..=20).collect::<Vec<u64>>());
    drop(stdin);
    child.wait().unwrap();
}
