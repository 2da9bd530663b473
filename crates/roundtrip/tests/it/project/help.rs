//! Output that is made from the flags: help, man pages, completions. The snapshots are the
//! contract: a flag may be added, never renamed. After an intended change: `INSTA_UPDATE=always
//! cargo test -p roundtrip --test it help`.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const VERBS: [&str; 17] = [
    "demo",
    "probe",
    "compare",
    "diff",
    "history",
    "trace",
    "doctor",
    "causes",
    "exporter",
    "lab",
    "rdap",
    "gate",
    "origin",
    "path",
    "perf",
    "man",
    "completions",
];
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

#[test]
fn help_is_the_contract() {
    insta::assert_snapshot!("roundtrip", help(&[]));
    for verb in VERBS {
        insta::assert_snapshot!(verb, help(&[verb]));
    }
    insta::assert_snapshot!("lab_run", help(&["lab", "run"]));
    for verb in ["run", "authz", "check", "init", "session", "token"] {
        insta::assert_snapshot!(format!("gate_{verb}"), help(&["gate", verb]));
    }
    for verb in ["put", "show", "list", "revoke", "import", "seal"] {
        let name = format!("gate_session_{verb}");
        insta::assert_snapshot!(name, help(&["gate", "session", verb]));
    }
    for verb in ["server", "client"] {
        insta::assert_snapshot!(format!("perf_{verb}"), help(&["perf", verb]));
    }
    insta::assert_snapshot!("exporter_check", help(&["exporter", "check"]));
    insta::assert_snapshot!("origin_echo", help(&["origin", "echo"]));
}

#[test]
fn no_verb_is_left_out_here() {
    let listed = help(&[]);
    let (_, rest) = listed.split_once("Commands:\n").unwrap();
    let verbs: Vec<_> = rest
        .lines()
        .map_while(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert_eq!(verbs, VERBS);
}

#[test]
fn man_pages_know_every_flag() {
    let directory = tempfile::tempdir().unwrap();
    let written = roundtrip([OsStr::new("man"), directory.path().as_os_str()]);
    assert!(written.status.success(), "{written:?}");
    let whole = fs::read_to_string(directory.path().join("roundtrip.1")).unwrap();
    assert!(whole.contains(".TH roundtrip 1"), "{whole}");
    for verb in VERBS {
        let page = directory.path().join(format!("roundtrip-{verb}.1"));
        let page = fs::read_to_string(page).unwrap();
        for flag in flags(&help(&[verb])) {
            let troff = flag.replace('-', r"\-");
            assert!(page.contains(&troff), "{flag} is not in the page of {verb}");
        }
    }
}

#[test]
fn examples_in_man_pages_stay_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let written = roundtrip([OsStr::new("man"), directory.path().as_os_str()]);
    assert!(written.status.success(), "{written:?}");
    for verb in ["probe", "compare", "demo", "path"] {
        let page = directory.path().join(format!("roundtrip-{verb}.1"));
        let page = fs::read_to_string(page).unwrap();
        let examples = help(&[verb]);
        let (_, examples) = examples.split_once("Examples:\n").unwrap();
        let (_, section) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap();
        let (section, _) = section.split_once("\n.fi\n").unwrap();
        let plain = section.replace(r"\-", "-").replace(r"\*(Aq", "'");
        let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        let typed: Vec<String> = lines(examples)
            .into_iter()
            .take_while(|line| line.starts_with("  "))
            .collect();
        assert_eq!(lines(&plain), typed, "{verb}");
    }
}

#[test]
fn completions_offer_the_words_of_each_list() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&roundtrip(["completions", shell]));
        for word in [
            "starlink",
            "strip-fast-open",
            "h2+tls1.3+reuse",
            "server-think-time",
            "quic-vs-tcp",
            "faults",
            "chacha",
            "bbr",
            "quinn",
            "powershell",
        ] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn completions_know_every_flag() {
    for shell in SHELLS {
        let script = text(&roundtrip(["completions", shell]));
        for verb in VERBS {
            assert!(script.contains(verb), "{shell}: no {verb}");
        }
        for flag in flags(&help(&["probe"])) {
            // Fish writes `-l json` for `--json`.
            let bare = flag.trim_start_matches('-');
            assert!(script.contains(bare), "{shell}: no {flag}");
        }
    }
}

#[test]
fn bash_reads_its_completions() {
    let script = roundtrip(["completions", "bash"]).stdout;
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin.take().unwrap().write_all(&script).unwrap();
    assert!(bash.wait().unwrap().success());
}

/// The long flags that a help text lists.
fn flags(help: &str) -> Vec<String> {
    let mut flags: Vec<String> = help
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('-'))
        .flat_map(|line| line.split([' ', ',', '[']).take(3))
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(str::to_owned)
        .collect();
    flags.dedup();
    assert!(!flags.is_empty(), "{help}");
    flags
}

fn help(verb: &[&str]) -> String {
    text(&roundtrip(verb.iter().copied().chain(["--help"])))
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn roundtrip<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .args(arguments)
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}
