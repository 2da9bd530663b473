//! `demo` for people and programs: its counts match its arithmetic, it needs no privilege, and it
//! says what to do if it cannot work.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::process::signal;
use crate::skip;

const FAST: [&str; 4] = ["--rtt", "40ms", "--runs", "1"];

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
    command
        .arg("demo")
        .args(arguments)
        .stdin(Stdio::null())
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .env("LC_ALL", "C.UTF-8");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

#[test]
fn seven_ways_from_four_round_trips_to_one() {
    // Far enough that the computation of a busy machine takes less than one of them.
    let said = succeeded(&mut demo(&["--rtt", "120ms", "--runs", "1", "--json"]));
    let document: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(document["schema"], "roundtrip/demo/1");
    assert_eq!(document["path"]["rtt_ms"], 120.0);
    let ways = document["ways"].as_array().unwrap();
    let counted: Vec<u64> = ways
        .iter()
        .map(|way| way["round_trips"].as_u64().unwrap())
        .collect();
    assert_eq!(counted, [4, 3, 2, 2, 1, 1, 1], "{said}");
    for way in ways {
        assert_eq!(way["round_trips"], way["expected_round_trips"], "{way}");
        assert_eq!(way["agrees"], true, "{way}");
        assert_eq!(way["answers"].as_array().unwrap().len(), 1, "{way}");
        // The clock agrees: this many trips of the path. A busy machine takes longer, but the
        // network's share grows by less than one trip.
        let trips = way["median_ms"].as_f64().unwrap() / 120.0;
        let network = way["waited_for"]["network_ms"].as_f64().unwrap() / 120.0;
        let counted = way["round_trips"].as_f64().unwrap();
        assert!(trips >= counted && network < counted + 0.9, "{way}");
    }
    assert!(ways[0]["saved_ms"].is_null());
    assert!(ways[6]["saved_share"].as_f64().unwrap() > 0.5, "{said}");
    let lesson = document["lesson"].as_str().unwrap();
    assert!(lesson.contains("in 1 round trip instead of 4"), "{lesson}");
}

#[test]
fn rows_in_the_order_of_the_story_without_a_terminal() {
    let said = succeeded(&mut demo(&FAST));
    assert!(!said.contains('\x1b'), "{said:?}");
    let places: Vec<usize> = [
        "TLS 1.2", "TLS 1.3", "TCP fast", "HTTP/3", "kept", "Try next",
    ]
    .iter()
    .map(|word| {
        said.find(word)
            .unwrap_or_else(|| panic!("no {word}: {said}"))
    })
    .collect();
    assert!(places.is_sorted(), "{said}");
    // Each row once, though the table was shown many times.
    assert_eq!(said.matches("\n  kept connection").count(), 1, "{said}");
    assert!(
        said.lines().all(|line| line.chars().count() <= 100),
        "{said}"
    );
}

#[test]
fn quiet_is_the_table_alone() {
    let said = succeeded(&mut demo(&[&FAST[..], &["-q"]].concat()));
    assert!(said.contains("kept connection"), "{said}");
    assert!(
        !said.contains("Try next") && !said.contains("The server and"),
        "{said}"
    );
}

#[test]
fn more_runs_than_a_handshake_leaves_tickets() {
    let said = succeeded(&mut demo(&["--rtt", "20ms", "--runs", "9", "--json"]));
    let document: Value = serde_json::from_str(&said).unwrap();
    for way in document["ways"].as_array().unwrap() {
        let answers = way["answers"].as_array().unwrap();
        assert_eq!(answers.len(), 9, "{way}");
        // A busy machine may reorder a packet; a missing ticket would show in every run from the
        // eighth on.
        assert_eq!(answers[8]["strategy"], answers[0]["strategy"], "{way}");
    }
}

#[test]
fn nonsense_is_wrong_usage() {
    for arguments in [
        ["--rtt", "90"],
        ["--rtt", "0ms"],
        ["--rtt", "1h"],
        ["--runs", "0"],
        ["--runs", "-1"],
        ["--seed", "x"],
    ] {
        let output = demo(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    }
}

/// A system that forbids namespaces, emulated by a user namespace whose limit is zero, with a root
/// without privileges there.
#[test]
fn a_refusal_says_what_to_do() {
    let line = "echo 0 > /proc/sys/user/max_user_namespaces \
                && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", line, "sh"])
        .args([env!("CARGO_BIN_EXE_roundtrip"), "demo"])
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = match output {
        Ok(output) => output,
        Err(error) => {
            return skip::lacking("a_refusal_says_what_to_do", format!("unshare(1): {error}"));
        }
    };
    let said = text(&stderr);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("roundtrip: this system does not allow"),
        "{said}"
    );
    assert!(
        said.contains("sudo sysctl -w user.max_user_namespaces="),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(stdout.is_empty(), "{}", text(&stdout));
}

/// Ctrl-C during the run, on a terminal: reported in one line below the table, exit code 1, and
/// nothing to restore.
#[test]
fn an_interruption_leaves_the_terminal_in_order() {
    let line = format!(
        "stty rows 30 cols 100; '{}' demo --rtt 1s --runs 100 & echo \"pid $!\"; wait $!; echo code $?",
        env!("CARGO_BIN_EXE_roundtrip")
    );
    let script = Command::new("script")
        .args(["-qfc", &line, "/dev/null"])
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut script = match script {
        Ok(script) => script,
        Err(error) => {
            let test = "an_interruption_leaves_the_terminal_in_order";
            return skip::lacking(test, format!("script(1): {error}"));
        }
    };
    let mut lines = BufReader::new(script.stdout.take().unwrap()).lines();
    let mut said = String::new();
    let mut read = |until: &str| {
        let mut last = String::new();
        while !last.contains(until) {
            last = lines
                .next()
                .unwrap_or_else(|| panic!("no {until}: {said}"))
                .unwrap();
            said.push_str(&last);
            said.push('\n');
        }
        (last, said.clone())
    };
    let (pid, _) = read("pid ");
    let (_, pid) = pid.split_once("pid ").unwrap();
    read("▸");
    signal(pid.trim(), "INT");
    let (code, said) = read("code ");
    assert!(script.wait().unwrap().success());
    assert_eq!(code.trim(), "code 1", "{said}");
    let (frames, rest) = said.rsplit_once("\x1b[J").unwrap();
    assert!(
        frames.contains("kept connection") && frames.ends_with('\n'),
        "{said}"
    );
    assert!(rest.starts_with("roundtrip: interrupted"), "{rest:?}");
    // No mode was switched: neither cursor nor screen.
    assert!(!said.contains("\x1b[?"), "{said}");
}
