//! The allowed contents of a file, and the reports of errors.

use super::*;
use crate::experiment::ArmClient;

const HEAD: &str = "question = 'Why?'\narticle = 'A0'\nmeasure = 'total'\nruns = 3\n";
const REST: &str =
    "[[server]]\nname = 'origin'\nknobs = {}\n[[arm]]\nname = 'a'\nstrategy = 'h1'\n";

fn flaw(text: &str) -> String {
    read("x", "x.toml", text).unwrap_err().to_string()
}

#[test]
fn the_smallest_valid_experiment() {
    let experiment = read("x", "x.toml", &format!("{HEAD}{REST}")).unwrap();
    assert_eq!(experiment.cells.len(), 1);
    assert_eq!(experiment.cells[0].requests, 1);
    assert_eq!(experiment.unit, "ms");
}

#[test]
fn variants_multiply_arms_and_keep_their_baseline() {
    let text = format!(
        "{HEAD}baseline = 'a'\n[path]\nrtt = '50ms'\n{REST}[[arm]]\nname = 'b'\nstrategy = 'h2'\n\
         [[variant]]\nname = '@lan'\npath = {{ rtt = '0.3ms' }}\n\
         [[variant]]\nname = '@far'\npath = {{ rtt = '100ms' }}\narms = ['b']\n"
    );
    let cells = read("x", "x.toml", &text).unwrap().cells;
    let told: Vec<_> = cells
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                c.path.rtt_ms().unwrap(),
                c.against.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("a", 50.0, None),
            ("b", 50.0, Some("a")),
            ("a@lan", 0.3, None),
            ("b@lan", 0.3, Some("a@lan")),
            ("b@far", 100.0, Some("a")),
            ("a (A/A)", 50.0, Some("a")),
        ]
    );
}

#[test]
fn an_arm_s_settings_override_the_experiment_s() {
    let text = format!(
        "{HEAD}[client]\nsysctl = {{ a = 1, b = 2 }}\n{REST}packets = true\nfails = 'no answer'\n\
         max-time = '2s'\nsysctl = {{ b = 3 }}\n\
         [[variant]]\nname = '@lan'\npath = {{ rtt = '1ms' }}\npackets = false\n"
    );
    let cells = read("x", "x.toml", &text).unwrap().cells;
    let arm = &cells[0].arm;
    let settings: Vec<_> = arm
        .sysctl
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(settings, [("a", "1"), ("b", "3")]);
    assert_eq!(arm.fails.as_deref(), Some("no answer"));
    let told: Vec<_> = cells
        .iter()
        .map(|cell| (cell.name.as_str(), cell.packets))
        .collect();
    assert_eq!(told, [("a", true), ("a@lan", false)]);
    let ArmClient::Ours { max_time, .. } = &arm.client else {
        panic!("not ours");
    };
    assert_eq!(max_time.as_secs(), 2);
}

#[test]
fn claims_can_name_the_points_of_a_sweep() {
    let text = format!(
        "{HEAD}[path]\nrtt = '50ms'\n{REST}[[sweep]]\nword = 'requests'\nvalues = [1, 5]\narms = ['a']\n\
         [[claim]]\ntext = 'more costs more'\nholds = 'median(a@5) > median(a@1)'\n"
    );
    let experiment = read("x", "x.toml", &text).unwrap();
    let points = &experiment.sweeps[0].points;
    assert_eq!((points.len(), points[1].cells[0].1.requests), (2, 5));
}

#[test]
fn knobs_are_the_origin_s_flags() {
    let text = format!("{HEAD}{REST}").replace(
        "knobs = {}",
        "knobs = { early-data = 'on', think = '5ms', gzip = true }",
    );
    let experiment = read("x", "x.toml", &text).unwrap();
    let crate::experiment::ServerKind::Origin(knobs) = &experiment.cells[0].arm.server.kind else {
        panic!("no origin");
    };
    assert!(knobs.http.gzip && knobs.http.think.as_millis() == 5);
}

#[test]
fn servers_depend_on_those_above_them() {
    let more = "[[server]]\nname = 'store'\ncommand = ['redis-server']\n[[server]]\nname = 'gate'\n\
                command = ['@roundtrip@']\nready = 'port'\nbeside = ['store']\n\
                far = { server = 'origin', port = 8443, path = { rtt = '90ms' } }\n\
                [[arm]]\nname = 'b'\nprogram = 'ab'\nserver = 'gate'\n\
                output = { after = 'second:', unit = '/s', zero = ['Failed:'] }\n\
                [[variant]]\nname = '@8'\nconcurrency = 8\narms = ['b']\n";
    let whole = format!("{HEAD}{REST}{more}").replace("'total'", "'rate'");
    let cells = read("x", "x.toml", &whole).unwrap().cells;
    let gate = &cells[1].arm.server;
    let far = gate.far.as_ref().unwrap();
    assert_eq!(gate.beside[0].name, "store");
    assert_eq!((far.server.name.as_str(), far.port), ("origin", 8443));
    assert_eq!(far.path.rtt_ms(), Some(90.0));
    let told: Vec<_> = cells
        .iter()
        .map(|c| (c.name.as_str(), c.concurrency))
        .collect();
    assert_eq!(told, [("a", 1), ("b", 1), ("b@8", 8)]);
    for (from, to, told) in [
        (
            "['store']",
            "['gate']",
            "there is no server 'gate'; known are origin, store",
        ),
        (
            "'origin', port",
            "'nobody', port",
            "there is no server 'nobody'",
        ),
        ("rtt = '90ms'", "rtt = 'soon'", "invalid path"),
        (
            "concurrency = 8",
            "concurrency = 0",
            "concurrency must be between 1 and",
        ),
        ("unit = '/s'", "unit = 'm'", "unknown variant `m`"),
        (
            "program = 'ab'",
            "program = 'ab'\nheaders = { a = 'b' }",
            "headers is for arms with a strategy",
        ),
        (
            "strategy = 'h1'",
            "strategy = 'h1'\nat-server = true",
            "at-server is for arms with a program",
        ),
    ] {
        let text = whole.replace(from, to);
        assert_ne!(text, whole, "{from}");
        assert!(flaw(&text).contains(told), "{to}: {}", flaw(&text));
    }
}

#[test]
fn errors_are_reported_with_their_line() {
    let whole = format!("{HEAD}{REST}");
    for (from, to, told) in [
        ("question", "qestion", "x.toml:1: unknown field `qestion`"),
        (
            "runs = 3",
            "runs = 0",
            "x.toml:4: runs must be between 1 and",
        ),
        ("runs = 3", "runs = 'many'", "x.toml:4: invalid type"),
        ("runs = 3", "runs = ", "x.toml:4:"),
        ("'total'", "'speed'", "x.toml:3: unknown variant `speed`"),
        (
            "strategy = 'h1'",
            "strategy = 'h9'",
            "x.toml:10: 'h9' is not a part of a strategy",
        ),
        (
            "strategy = 'h1'",
            "strategie = 'h1'",
            "x.toml:10: unknown field",
        ),
        ("strategy = 'h1'", "", "x.toml:9: the arm 'a' needs either"),
        (
            "strategy = 'h1'",
            "strategy = 'h1'\nserver = 'b'",
            "x.toml:11: there is no server 'b'; known are origin",
        ),
        (
            "strategy = 'h1'",
            "strategy = 'h1'\nagainst = 'b'",
            "x.toml:11: there is no arm 'b'",
        ),
        (
            "strategy = 'h1'",
            "strategy = 'h1'\nhello-delay = 'long'",
            "x.toml:11: 'long' is not a time span",
        ),
        (
            "strategy = 'h1'",
            "strategy = 'h1'\narguments = ['x']",
            "x.toml:10: output or arguments is for",
        ),
        (
            "strategy = 'h1'",
            "program = 'curl'\nhello-delay = '1ms'",
            "x.toml:11: hello-delay is for",
        ),
        (
            "strategy = 'h1'",
            "program = 'curl'\nmax-time = '1s'",
            "x.toml:11: max-time is for",
        ),
        (
            "name = 'a'",
            "name = 'a(b'",
            "x.toml:9: 'a(b' is not a valid name",
        ),
        (
            "knobs = {}",
            "knobs = { thinks = 1 }",
            "x.toml:7: the origin has no such knob",
        ),
        (
            "knobs = {}",
            "knobs = { think = 'soon' }",
            "x.toml:7: the origin has no such knob",
        ),
        (
            "knobs = {}",
            "",
            "x.toml:6: the server 'origin' needs either",
        ),
        (
            "[[server]]",
            "[path]\nrtt = 'soon'\n[[server]]",
            "x.toml:6: invalid path: rtt: `soon` is not a valid time",
        ),
        (
            "[[server]]",
            "[path]\nspeed = 1\n[[server]]",
            "x.toml:6: invalid path: a path has no `speed`",
        ),
        ("[[server]]", "[path]\nrtt = {}\n[[server]]", "x.toml:6:"),
    ] {
        let text = whole.replace(from, to);
        assert_ne!(text, whole, "{from}");
        let flaw = flaw(&text);
        assert!(flaw.starts_with(told), "{to}: {flaw}");
        assert!(!flaw.contains('\n'), "{flaw}");
    }
    let twice = format!("{whole}[[arm]]\nname = 'a'\nstrategy = 'h2'\n");
    assert!(flaw(&twice).starts_with("x.toml:12: the arm 'a' exists twice"));
    let claim = format!("{whole}[[claim]]\ntext = 'x'\nholds = 'median(b) > 1 ms'\n");
    assert!(flaw(&claim).starts_with("x.toml:13: the claim cannot be read: there is no arm 'b'"));
    let sweep = format!("{whole}[[sweep]]\nword = 'speed'\nvalues = [1]\narms = ['a']\n");
    assert!(flaw(&sweep).starts_with("x.toml:13: the word of a sweep must be"));
}
