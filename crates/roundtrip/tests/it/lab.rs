//! `roundtrip lab` from outside: what it lists, the results of a user's own file, what it refuses,
//! and the exit codes.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const FILE: &str = "
question = 'Is a connection worth keeping?'
article = 'none'
measure = 'total'
runs = 4
requests = 2
baseline = 'each'
[path]
rtt = '50ms'
[[server]]
name = 'origin'
knobs = {}
[[arm]]
name = 'each'
strategy = 'h1+clear'
[[arm]]
name = 'kept'
strategy = 'h1+clear'
manner = 'kept'
[[claim]]
text = 'it is'
holds = 'round_trips(kept) == 3 and round_trips(each) == 4'
";

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundtrip"))
        .arg("lab")
        .args(arguments)
        .output()
        .unwrap()
}

fn file(directory: &Path, text: &str) -> String {
    let file = directory.join("mine.toml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_experiments_are_listed() {
    let text = String::from_utf8(lab(&["list"]).stdout).unwrap();
    let json = lab(&["list", "--json"]);
    assert!(json.status.success(), "{json:?}");
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    let known = [
        "persistence",
        "fast-open",
        "https-100ms",
        "auth-proxy",
        "auth-proxy-far",
        "quic-vs-tcp",
    ];
    for (place, name) in known.iter().enumerate() {
        assert!(text.contains(name), "{text}");
        assert_eq!(document["experiments"][place]["name"], *name);
    }
}

#[test]
fn a_file_of_one_s_own_is_an_experiment() {
    let directory = tempfile::tempdir().unwrap();
    let mine = file(directory.path(), FILE);
    let output = lab(&["run", &mine, "--runs", "2", "--rtt", "20ms", "--json"]);
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(told(&output), "", "no progress where there is no terminal");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "roundtrip/lab/1");
    assert_eq!(document["experiment"], "mine");
    assert_eq!(document["path"]["rtt"], "20ms");
    let names: Vec<&Value> = document["arms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["name"])
        .collect();
    assert_eq!(names, ["each", "kept", "each (A/A)"]);
    assert_eq!(document["arms"][1]["round_trips"], 3);
    assert_eq!(document["arms"][1]["runs"], 2);
    let again = document["again"].as_str().unwrap();
    assert_eq!(
        again,
        format!("roundtrip lab run {mine} --runs 2 --rtt 20ms --seed 1")
    );
}

/// `roundtrip` as an arm's program, which asks for as many names as there are requests.
const OURSELVES: &str = "
question = 'Is what a run leaves of use to the next?'
article = 'none'
measure = 'total'
runs = 2
requests = 3
[path]
rtt = '60ms'
[[server]]
name = 'registry'
knobs = { early-data = 'on' }
place = '/rdap/'
[[arm]]
name = 'first'
program = 'roundtrip'
arguments = ['rdap', '--timing', '--no-follow', '--no-reuse', '--serial', '--cacert', '@ca@', '-s', '@url@', 'x-@each@.example']
output = { after = 'lookups in ', unit = 'ms', once = true }
[[arm]]
name = 'second'
program = 'roundtrip'
arguments = ['rdap', '--timing', '--no-follow', '--memory', '@directory@/memory', '--cacert', '@ca@', '-s', '@url@', 'x-@each@.example']
output = { after = 'lookups in ', unit = 'ms', once = true }
warm = true
[[claim]]
text = 'it is'
holds = 'requests(first) == 3 and requests(second) == 6 and min(first) >= 9 R and min(second) < min(first) / 2'
";

#[test]
fn a_program_called_roundtrip_is_the_one_that_runs() {
    let directory = tempfile::tempdir().unwrap();
    let mine = file(directory.path(), OURSELVES);
    let output = lab(&["run", &mine]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}{text}", told(&output));
    assert!(text.contains("✓ it is"), "{text}");
}

/// Two ways to carry bytes, with and without offloads.
const CARRYING: &str = "
question = 'What does it cost?'
article = 'none'
measure = 'cost'
runs = 2
baseline = 'tls'
[transfer]
bytes = '1MB'
[[arm]]
name = 'tls'
transfer = 'tls'
[[arm]]
name = 'quic'
transfer = 'quic'
[[variant]]
name = '@offload'
offload = true
[[claim]]
text = 'all are held against TLS'
holds = 'ratio_to_tls(tls) == 1 and ratio_to_tls(tls@offload) == 1 and ratio_to_tls(quic, quic@offload) > 0'
";

#[test]
fn bytes_that_are_carried_have_a_ratio_to_tls() {
    let directory = tempfile::tempdir().unwrap();
    let mine = file(directory.path(), CARRYING);
    let output = lab(&["run", &mine, "--json"]);
    assert!(output.status.success(), "{}", told(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let arms = document["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 5);
    for arm in arms {
        assert_eq!(arm["unit"], "s/GB");
        assert!(arm["ratio_to_tls"].as_f64() > Some(0.0), "{arm}");
        assert!(arm["median"].as_f64() > Some(0.0), "{arm}");
    }
    let quinn = file(
        directory.path(),
        &CARRYING.replace("transfer = 'quic'", "transfer = 'quic/quinn'"),
    );
    let output = lab(&["run", &quinn, "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for arm in document["arms"].as_array().unwrap() {
        let is_measured = arm["median"].as_f64() > Some(0.0);
        let is_told = arm["not_run"]
            .as_str()
            .is_some_and(|why| why.contains("--features peers"));
        assert!(is_measured || arm["name"] != "tls" && is_told, "{arm}");
    }
    let wrong = file(
        directory.path(),
        &CARRYING.replace("'quic'\n[[var", "'quic+gso0x'\n[[var"),
    );
    let output = lab(&["run", &wrong]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("mine.toml:14: invalid transfer"),
        "{}",
        told(&output)
    );
}

#[test]
fn several_are_one_document_and_a_report_may_go_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let mine = file(directory.path(), FILE);
    let report = directory.path().join("report.json").display().to_string();
    let output = lab(&[
        "run", &mine, &mine, "--runs", "1", "--rtt", "1ms", "--json", "-o", &report,
    ]);
    assert!(output.stdout.is_empty(), "{}", told(&output));
    let document: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(document["experiments"].as_array().unwrap().len(), 2);
    let silent = lab(&["run", &mine, "--runs", "1", "--rtt", "20ms", "-q"]);
    assert!(silent.stdout.is_empty() && silent.stderr.is_empty());
    assert!(silent.status.success());
}

#[test]
fn a_claim_that_does_not_hold_fails() {
    let directory = tempfile::tempdir().unwrap();
    let mine = file(directory.path(), &FILE.replace("== 3 and", "== 2 and"));
    let output = lab(&["run", &mine, "--runs", "1", "--rtt", "20ms"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("✗ it is (measured 3 round trips)"), "{text}");
}

#[test]
fn an_experiment_that_cannot_be_run_is_wrong_usage() {
    let directory = tempfile::tempdir().unwrap();
    let mine = file(
        directory.path(),
        &FILE.replace("'kept'\n[[claim", "'sold'\n[[claim"),
    );
    for (arguments, word) in [
        (vec!["run", "teapot"], "there is no experiment 'teapot'"),
        (
            vec!["run", "nowhere.toml"],
            "cannot read the experiment nowhere.toml",
        ),
        (vec!["run", &mine], "mine.toml:19: unknown variant `sold`"),
        (
            vec!["run", "https-100ms", "--rtt", "5ms"],
            "sets its own round trip",
        ),
        (
            vec!["run", "persistence", "--runs", "0"],
            "0 is not in 1..=10000",
        ),
        (vec!["run", "persistence", "--rtt", "soon"], "as in 90ms"),
        (vec!["run"], "required"),
    ] {
        let output = lab(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            told(&output).contains(word),
            "{arguments:?}: {}",
            told(&output)
        );
        assert!(output.stdout.is_empty());
    }
}
