//! The client's own work.

use std::time::Duration;

use roundtrip_model::{Answer, Event, Exchange, Task};

use crate::story::{Story, assert_only, assert_silent, ids, tls};

/// An exchange with `load` ms of work before the ClientHello and `verify` ms after the server's
/// flight.
fn worked(load: f64, verify: f64) -> Exchange {
    Story::new()
        .worked(Task::Configure, 0.4)
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.0)
        .event(roundtrip_model::Event::HandshakeStarted)
        .worked(Task::LoadRoots, load)
        .sent(1_700)
        .answered(0.3, 3_000)
        .worked(Task::Decrypt, verify)
        .shook_hands(tls("TLSv1.3", 3_000))
        .asked()
        .told(0.4)
        .end()
}

#[test]
fn a_library_that_loads_slowly() {
    let found = assert_only(&worked(90.0, 25.0), "slow-client-library", 116.1, 0);
    assert!(
        found.evidence.contains("load roots 90.0 ms"),
        "{}",
        found.evidence
    );
    assert_silent(&worked(1.5, 2.0));
}

#[test]
fn work_that_falls_into_a_wait_costs_nothing() {
    let e = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.0)
        .hello()
        .worked(Task::LoadRoots, 80.0)
        .pass(20.3)
        .received(3_000)
        .shook_hands(tls("TLSv1.3", 3_000))
        .asked()
        .told(0.4)
        .end();
    assert_silent(&e);
}

#[test]
fn a_pause_without_a_task_has_no_evidence() {
    let e = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.0)
        .pass(200.0)
        .tls13()
        .asked()
        .told(0.4)
        .end();
    assert_silent(&e);
}

/// A client that could not run had no other reason to ask late.
#[test]
fn an_absent_client_is_not_a_late_request() {
    let asked_late = |absent: u64| {
        let (took, throttled) = (Duration::from_millis(absent), false);
        let story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
        let story = story.pass(60.0).event(Event::Starved { took, throttled });
        ids(&story.pass(0.1).asked().told(0.4).end())
    };
    assert_eq!(asked_late(60), ["client-starved"]);
    assert_eq!(asked_late(1), ["late-request"]);
}

#[test]
fn verification_is_told_apart() {
    let verified = |ms| {
        Story::new()
            .looked_up(Answer::Hosts, 0.1)
            .connected(0.0)
            .hello()
            .answered(0.3, 3_000)
            .worked(Task::Verify, ms)
            .shook_hands(tls("TLSv1.3", 3_000))
            .asked()
            .told(0.4)
            .end()
    };
    assert_only(&verified(60.0), "slow-verification", 60.0, 0);
    assert_silent(&verified(1.5));
}

#[test]
fn a_request_that_leaves_late() {
    let late = |ms| {
        Story::new()
            .looked_up(Answer::Hosts, 0.1)
            .connected(0.0)
            .pass(ms)
            .asked()
            .told(0.4)
            .end()
    };
    assert_only(&late(200.0), "late-request", 200.0, 0);
    assert_silent(&late(5.0));
}
