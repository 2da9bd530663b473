//! Certificates by ACME, before Pebble (Let's Encrypt's server for tests) and before servers that
//! fail or lie.

mod fleet;
mod hostile;
mod scene;

use std::time::Duration;

use scene::{Pebble, Setting, free_port};

use crate::lifecycle::scene::eventually_true;

#[test]
fn a_name_gets_its_certificate_by_a_handshake_without_a_restart() {
    let Some(pebble) = Pebble::start("gate: ACME by TLS", &[("PEBBLE_WFE_NONCEREJECT", "30")])
    else {
        return;
    };
    let setting = Setting::new(&pebble);
    let gate = setting.start();
    // Meanwhile the name is unknown.
    let before = gate.handshake(Some("a.example"));
    assert!(
        before.contains("unrecognized name") || before.contains("number 112"),
        "{before}"
    );
    gate.wait_for_certificate("a.example");
    // Without a name, gate can choose a certificate; for another name it has none.
    assert!(gate.handshake(None).contains("Pebble"));
    let other = gate.handshake(Some("b.example"));
    assert!(
        other.contains("unrecognized name") || other.contains("number 112"),
        "{other}"
    );
    assert_eq!(gate.event("certificate_issued"), 1);
    assert!(gate.event("challenge_answered") >= 1);
    assert!(gate.event("handshake_without_certificate") >= 2);
    gate.wait_for_line("a.example has a certificate until");
    // If no challenge is under way, a handshake for one gets no certificate.
    let asked = gate.handshake_with(Some("a.example"), &["-alpn", "acme-tls/1"]);
    assert!(!asked.contains("BEGIN CERTIFICATE"), "{asked}");
    // A gate that starts again has it at once, and orders nothing.
    let again = gate.restart();
    again.wait_for_certificate("a.example");
    assert_eq!(again.event("order_begun"), 0);
}

#[test]
fn a_name_gets_its_certificate_by_a_request_that_no_route_sees() {
    let Some(pebble) = Pebble::start("gate: ACME by HTTP", &[]) else {
        return;
    };
    let mut setting = Setting::new(&pebble);
    setting.acme += "challenge = \"http-01\"\n";
    let gate = setting.start();
    gate.wait_for_certificate("a.example");
    assert!(gate.event("challenge_answered") >= 1);
    // Requests for other tokens go to the route.
    let other = gate.get("/.well-known/acme-challenge/other");
    assert!(other.starts_with("HTTP/1.1 401"), "{other}");
}

#[test]
fn a_certificate_is_renewed_before_it_expires() {
    let Some(pebble) = Pebble::start_for("gate: ACME again", 24, &[]) else {
        return;
    };
    let gate = Setting::new(&pebble).start();
    gate.wait_for_certificate("a.example");
    let first = gate.handshake(Some("a.example"));
    eventually_true(|| gate.event("certificate_issued") >= 2);
    eventually_true(|| {
        let now = gate.handshake(Some("a.example"));
        now.contains("Pebble") && scene::certificate(&now) != scene::certificate(&first)
    });
}

#[test]
fn without_the_ca_gate_serves_and_comes_back_to_it() {
    let (port, dns) = (free_port(), scene::names_of_loopback());
    let mut setting = Setting::for_directory(&format!("https://127.0.0.1:{port}/dir"));
    let folder = tempfile::tempdir().unwrap();
    let ca = scene::make_certificate(&folder);
    setting.trust(&ca);
    let gate = setting.start();
    gate.wait_for_line("a.example has no certificate: the CA's directory cannot be asked");
    assert!(gate.get("/").starts_with("HTTP/1.1 401"));
    assert_eq!(
        (gate.event("order_failed"), gate.event("order_begun")),
        (1, 1)
    );
    std::thread::sleep(Duration::from_secs(2));
    // It does not try all the time.
    assert_eq!(gate.event("order_begun"), 1);
    let ports = (setting.https.port(), setting.http.port());
    let started = Pebble::start_at(
        "gate: ACME without a CA",
        port,
        dns,
        ports,
        folder,
        3600,
        &[],
    );
    if started.is_some() {
        gate.wait_for_certificate("a.example");
        gate.wait_for_line("a.example has a certificate until");
    }
}
