//! Exit codes, and error messages: one or two lines on standard error.

use serde_json::Value;

use crate::path::run::{path, said};
use crate::process::Said;

fn code(command: &[&str]) -> i32 {
    said(path(&[], command)).code
}

#[test]
fn the_exit_code_is_the_command_s() {
    assert_eq!(code(&["true"]), 0);
    assert_eq!(code(&["sh", "-c", "exit 42"]), 42);
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), 137);
}

#[test]
fn a_missing_command_differs_from_one_that_cannot_run() {
    let missing = said(path(&[], &["no-such-program"]));
    assert_eq!(missing.code, 127);
    assert_eq!(
        missing.err,
        "roundtrip: no-such-program: command not found\n"
    );
    let directory = said(path(&[], &["/etc/hosts"]));
    assert_eq!(directory.code, 126, "{directory:?}");
}

#[test]
fn wrong_usage_is_2_and_says_what_would_be_right() {
    for (flags, part) in [
        (["--preset", "moon"], "known are lan, metro"),
        (["--loss", "200%"], "--loss: `200%` is not a loss"),
        (["--mtu", "100"], "1280"),
        (["--origin", "think=soon"], "--think"),
        (["--origin", "no-such-knob"], "roundtrip origin"),
        (["--name", "a b"], "is not a name for the server"),
        (["--sysctl", "kernel.hostname=x"], "net.ipv4.tcp_fastopen"),
    ] {
        let Said { code, out, err } = said(path(&flags, &["true"]));
        assert_eq!(code, 2, "{flags:?}: {err}");
        assert!(err.contains(part) && err.lines().count() <= 2, "{err}");
        assert_eq!(out, "");
    }
}

#[test]
fn without_a_path_no_command_is_run() {
    for (flags, part) in [
        (
            &["--sysctl", "net.ipv4.no_such_setting=1"][..],
            "net.ipv4.no_such_setting could not be set",
        ),
        (&["--serve", "exit 3"], "the server ended (exit status: 3)"),
        (&["--serve", "true"], "left nothing that listens"),
        (
            &["--pcapng", "/no/such/directory/file"],
            "/no/such/directory/file cannot be written",
        ),
    ] {
        let Said { code, out, err } = said(path(flags, &["echo", "ran"]));
        assert_eq!(code, 1, "{flags:?}: {err}");
        assert!(err.contains(part) && err.lines().count() <= 2, "{err}");
        assert_eq!(out, "");
    }
}

#[test]
fn standard_output_is_the_command_s_alone() {
    let ping = "echo near; exec 3<>/dev/tcp/198.18.0.2/9 2>&1";
    let said = said(path(
        &["--serve", "echo far", "--wait", "none"],
        &["bash", "-c", ping],
    ));
    assert!(
        said.out.starts_with("near\n") && !said.out.contains("far\n"),
        "{said:?}"
    );
    // A SYN and its answer crossed the path.
    assert!(said.err.contains("roundtrip: up 1 packet, "), "{said:?}");
}

#[test]
fn live_figures_are_shown_on_request() {
    let said = said(path(&["--live", "--quiet"], &["sleep", "2.5"]));
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(lines.len() >= 2, "{said:?}");
    let shape = |line: &&str| line.contains(" s: up 0.000 Mbit/s (0 packets), down 0.000");
    assert!(lines.iter().all(shape), "{said:?}");
}

#[test]
fn the_document_holds_what_the_summary_says_and_more() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let file_name = file.path().to_str().unwrap();
    let flags = [
        "--rtt=2ms",
        "--loss=up:syn",
        "--json",
        "--output",
        file_name,
    ];
    let connect = ": < /dev/tcp/198.18.0.2/9; exit 3";
    let said = said(path(&flags, &["bash", "-c", connect]));
    assert_eq!(said.code, 3, "{said:?}");
    assert!(!said.err.contains("roundtrip: up"), "{said:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    assert_eq!(document["schema"], "roundtrip/path/1");
    assert_eq!(document["exit_code"], 3);
    assert_eq!(document["path"][1]["value"], "up:syn");
    // The first SYN was lost, the second was answered.
    assert_eq!(document["up"]["packets"], 2);
    assert_eq!(document["up"]["causes"]["loss"], 1);
    assert_eq!(document["down"]["delivered"], 1);
}
