//! Replicas with one store: one of them orders, and all serve the certificate.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::scene::{Pebble, Setting, free_port, make_certificate, names_at};
use crate::lifecycle::scene::eventually_true;
use crate::runtime;
use crate::server::Server;

const TEXT: &str = "ROUNDTRIP_TEST_ACME_GATE";
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn redis(test: &str) -> Option<Server> {
    let runtime = runtime();
    runtime.block_on(Server::start(test, &[]))
}

/// Pebble, which finds all names at the second replica.
fn second_is_validated(test: &str) -> Option<Pebble> {
    let folder = tempfile::tempdir().unwrap();
    make_certificate(&folder);
    let ports = (free_port(), free_port());
    Pebble::start_at(
        test,
        free_port(),
        names_at(SECOND),
        ports,
        folder,
        3600,
        &[],
    )
}

#[test]
fn one_replica_orders_another_answers_and_both_serve() {
    let test = "gate: ACME in a fleet";
    let Some(redis) = redis(test) else { return };
    let Some(pebble) = second_is_validated(test) else {
        return;
    };
    let mut setting = Setting::new(&pebble);
    setting.store = format!("unix:{}", redis.socket().display());
    let first = setting.start();
    eventually_true(|| first.event("order_begun") == 1);
    let second = setting.at(SECOND).start();
    for gate in [&first, &second] {
        gate.wait_for_certificate("a.example");
    }
    assert_eq!(
        (first.event("order_begun"), second.event("order_begun")),
        (1, 0)
    );
    assert_eq!(
        (
            first.event("challenge_answered"),
            first.event("certificate_issued")
        ),
        (0, 1)
    );
    assert!(second.event("challenge_answered") >= 1);
    second.wait_for_line("a.example has a certificate until");
}

#[test]
fn another_replica_goes_on_for_one_that_was_killed_in_the_middle() {
    let test = "gate: ACME after a death";
    let Some(redis) = redis(test) else { return };
    let Some(pebble) = second_is_validated(test) else {
        return;
    };
    let mut setting = Setting::new(&pebble);
    setting.store = format!("unix:{}", redis.socket().display());
    setting.acme = setting.acme.replace("20s", "10s");
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), setting.text()).unwrap();
    let mut dying = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "acme::fleet::a_gate_that_is_killed", "--ignored"])
        .env(TEXT, path.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let claimed = || {
        let known = Command::new("redis-cli")
            .arg("-s")
            .arg(redis.socket())
            .args(["keys", "roundtrip-claim:*"])
            .output()
            .unwrap();
        known.stdout.starts_with(b"roundtrip-claim:")
    };
    eventually_true(claimed);
    dying.kill().unwrap();
    dying.wait().unwrap();
    let second = setting.at(SECOND).start();
    thread::sleep(Duration::from_secs(2));
    assert_eq!(
        second.event("order_begun"),
        0,
        "the claim of the dead one still holds"
    );
    second.wait_for_certificate("a.example");
    assert_eq!(
        (second.event("order_begun"), second.event("order_failed")),
        (1, 0)
    );
}

#[test]
#[ignore = "the other test starts it as a process, and kills it"]
fn a_gate_that_is_killed() {
    let Some(path) = std::env::var_os(TEXT) else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let config = roundtrip_gate::config::Config::parse(&text, "test").unwrap();
    let _gate = roundtrip_gate::Gate::start(config, |_| ()).unwrap();
    thread::sleep(Duration::from_mins(1));
}
