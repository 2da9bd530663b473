//! `roundtrip perf` on the command line: a document, a table, two halves, and what is refused with
//! which code.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn perf(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .arg("perf")
        .args(line.split_whitespace())
        .output()
        .unwrap()
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_document_has_every_arm_and_its_ratio() {
    let document = document(&perf("--bytes 5MB --rounds 2 --json"));
    assert_eq!(document["schema"], "roundtrip/perf/1");
    let arms = document["arms"].as_array().unwrap();
    let names: Vec<&str> = arms.iter().filter_map(|arm| arm["name"].as_str()).collect();
    assert_eq!(names, ["tcp", "tls", "tls+write262144", "quic"]);
    let tls = arms[1]["median"].as_f64().unwrap();
    for arm in arms {
        assert_eq!(arm["rounds"].as_array().unwrap().len(), 2);
        let (own, ratio) = (
            arm["median"].as_f64().unwrap(),
            arm["ratio_to_tls"].as_f64(),
        );
        assert!((ratio.unwrap() - tls / own).abs() < 1e-9, "{arm}");
        let interval = &arm["ratio_to_tls_interval"];
        if arm["name"] == "tls" {
            assert!(interval.is_null(), "{arm}");
        } else {
            assert_eq!(interval["pairs"], 2, "{arm}");
            assert!(interval["low"].as_f64() <= ratio && ratio <= interval["high"].as_f64());
        }
        assert!(arm["both_to_tls"].as_f64() > Some(0.0), "{arm}");
        for round in arm["rounds"].as_array().unwrap() {
            assert_eq!(round["payload_bytes"], 5_000_000);
            let cpu = &round["sender"]["cpu"];
            assert!(cpu["seconds"].as_f64().unwrap() > 0.0);
            // On a machine with one CPU, no side is pinned.
            if let Some(uncounted) = cpu["core"]["uncounted_s"].as_f64() {
                assert!(uncounted <= cpu["wall_s"].as_f64().unwrap(), "{cpu}");
            } else {
                assert!(cpu["core"].is_null(), "{cpu}");
            }
        }
    }
}

#[test]
fn an_arm_of_the_defaults_is_not_measured_twice() {
    let document = document(&perf("--write-size 256k --bytes 1MB --rounds 1 --json"));
    let arms = document["arms"].as_array().unwrap();
    let tls = |arm: &&Value| arm["transport"] == "tls";
    assert_eq!(arms.iter().filter(tls).count(), 1, "{document}");
}

#[test]
fn the_table_names_what_was_measured() {
    let output = perf("tls quic+gso1 --bytes 2MB --rounds 1");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "bulk down",
        "a bare wire",
        "cubic",
        "s/GB",
        "quic+gso1",
        "x TLS",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn contradictions_are_wrong_usage_in_a_line_or_two() {
    for (line, why) in [
        ("tls --gso 4", "--gso applies to none of the arms"),
        ("quic/quinn --datagram mirror", "quinn cannot do"),
        ("tls tls", "given twice"),
        ("tls+ack4", "does not apply to tls"),
        ("--pin 0,0", "exclude each other"),
        ("--request 9", "a pattern without requests"),
        (
            "--pattern requests --bytes 9",
            "requests are made for a time",
        ),
        ("--seconds 1 --bytes 9", "cannot be used with"),
        ("--rtt soon", "`soon` is not a valid time"),
        ("--streams 0", "--streams must be from 1"),
        ("server --cpu 4095", "may not run on CPU 4095"),
    ] {
        let output = perf(line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        assert!(told.contains(why), "{line}: {told}");
    }
}

/// Whether other people's engines were built in. A build of the whole workspace may have them
/// without the feature here.
fn has_peers() -> bool {
    perf("quic/quinn --bytes 1MB --rounds 1").status.success()
}

#[test]
fn an_engine_that_is_off_by_default_is_there_or_says_how_to_have_it() {
    let is_built_in = has_peers();
    for engine in ["proto", "quinn", "s2n"] {
        let output = perf(&format!(
            "quic --engine {engine} --bytes 1MB --rounds 1 --json"
        ));
        if is_built_in {
            let name = format!("quic/{engine}");
            assert_eq!(document(&output)["arms"][0]["name"], name.as_str());
        } else {
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{told}");
            assert!(told.contains("build it with --features peers"), "{told}");
        }
    }
}

#[test]
fn two_processes_make_one_measurement() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(["perf", "server", "--listen", "127.0.0.1:0", "--once"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut said = BufReader::new(server.stdout.take().unwrap());
    said.read_line(&mut address).unwrap();
    let line = format!(
        "client {} tls quic --cc reno --bytes 2MB --rounds 1 --json",
        address.trim()
    );
    let document = document(&perf(&line));
    assert!(server.wait().unwrap().success());
    assert_eq!(document["path"]["host"], address.trim());
    for arm in document["arms"].as_array().unwrap() {
        let sender = &arm["rounds"][0]["sender"];
        assert_eq!(
            sender["payload_sent"], 2_000_000,
            "the server's half: {arm}"
        );
    }
}

#[test]
fn a_page_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("perf.html");
    let line = format!(
        "tls quic+gso20 --bytes 1MB --rounds 1 --html {}",
        file.display()
    );
    let output = perf(&line);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("page written to"));
    let page = fs::read_to_string(&file).unwrap();
    for part in [
        "What does it cost the processor to carry a gigabyte?",
        "quic+gso20",
        "a bare wire",
        "Linux ",
        &format!("roundtrip perf {line}"),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let nowhere = perf("tls --html /nowhere/perf.html");
    assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("cannot write the page"));
}

/// Waits longer if it takes longer until the first arm is measured.
#[test]
fn ctrl_c_keeps_what_was_measured() {
    for patience in [2, 8, 32] {
        let process = Command::new(env!("CARGO_BIN_EXE_roundtrip"))
            .args(["perf", "tcp", "--bytes", "1k", "--rounds", "1000", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_secs(patience));
        kill_process(Pid::from_child(&process), Signal::INT).unwrap();
        let output = process.wait_with_output().unwrap();
        if output.status.code().is_none() {
            // It did not get as far as listening.
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        if output.stdout.is_empty() {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(told.contains("interrupted before anything"), "{told}");
            continue;
        }
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = document["arms"][0]["runs"].as_u64().unwrap();
        assert!((1..1000).contains(&runs), "{document}");
        assert_eq!(document["interrupted"], true);
        return;
    }
    panic!("nothing was measured in all that time");
}

/// Each command in the reference and the guide can be typed, if what it names was built in.
#[test]
fn commands_in_the_guide_work() {
    let reference = include_str!("../../../../docs/perf.md");
    let guide = include_str!("../../../../docs/quic-cost.md");
    let quoted = reference.split(['`', '\n']).chain(guide.split(['`', '\n']));
    let commands: Vec<&str> = quoted
        .filter_map(|text| text.strip_prefix("roundtrip perf"))
        .filter(|line| {
            !["server", "client", "--help"]
                .iter()
                .any(|w| line.contains(w))
        })
        .collect();
    assert!(commands.len() > 12, "{commands:?}");
    let has_peers = has_peers();
    for line in commands {
        let much = if line.contains("requests") {
            "--seconds 0.05"
        } else {
            "--bytes 100k"
        };
        let output = perf(&format!("{line} {much} --rounds 1"));
        let names_peers = ["quinn", "proto", "s2n"].iter().any(|w| line.contains(w));
        let expected = has_peers || !names_peers;
        assert_eq!(output.status.success(), expected, "{line}: {output:?}");
    }
}
