//! Servers and clients of other projects, where they are installed.

use std::process::Command;
use std::time::Duration;

use crate::{arm, round_trips, run, skip, some_of};

const RTT: Duration = Duration::from_millis(60);

pub(crate) fn lacks(test: &str, programs: &[&str]) -> bool {
    let absent = |program: &&&str| {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .output();
        !found.is_ok_and(|output| output.status.success())
    };
    let missing = programs.iter().find(absent);
    missing
        .inspect(|program| skip::lacking(test, program))
        .is_some()
}

#[test]
fn stock_servers_answer_before_the_handshake_is_over() {
    if lacks("stock servers", &["nginx", "apache2"]) {
        return;
    }
    let wanted = ["nginx-off", "nginx-on", "apache-off", "apache-on"];
    let mut experiment = some_of("fast-open", |name, _| wanted.contains(&name));
    for cell in &mut experiment.cells {
        cell.requests = 3;
    }
    let outcome = run(experiment, 1, Some(RTT));
    for (name, trips) in wanted.iter().zip([6, 4, 6, 4]) {
        assert_eq!(round_trips(&outcome, name, 3), trips, "{name}");
    }
}

#[test]
fn httping_saves_what_our_client_saves() {
    if lacks("httping", &["httping", "apache2"]) {
        return;
    }
    let mut experiment = some_of("fast-open", |name, _| name.starts_with("httping"));
    for cell in &mut experiment.cells {
        cell.requests = 4;
    }
    let outcome = run(experiment, 2, Some(RTT));
    // Eight round trips, and five.
    let ratio = arm(&outcome, "httping-on").figures.min.unwrap()
        / arm(&outcome, "httping-off").figures.min.unwrap();
    assert!(ratio < 0.85, "{ratio}");
}

#[test]
fn clients_that_keep_their_connection_are_faster() {
    if lacks("curl and Python", &["curl", "python3"]) {
        return;
    }
    let experiment = some_of("persistence", |name, _| {
        name.starts_with("curl") || name.starts_with("python")
    });
    let outcome = run(experiment, 2, Some(RTT));
    for client in ["curl", "python"] {
        let least = |kind: &str| {
            arm(&outcome, &format!("{client}-{kind}"))
                .figures
                .min
                .unwrap()
        };
        // Five round trips, and nine.
        let ratio = least("reuse") / least("no-reuse");
        assert!(ratio < 0.8, "{client}: {ratio}");
        assert!(least("no-reuse") > 9.0 * 60.0, "{client}");
    }
}
