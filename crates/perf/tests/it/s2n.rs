//! s2n-quic among the others: it does all kinds of work, its knobs take effect, and its own
//! counters agree with what arrived.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use roundtrip_perf::plan::{Amount, Pattern, Pin, Terrain};
use roundtrip_perf::remote::{PerfServer, visit};

use super::fire::{over, senders};
use super::{BYTES, MTU, assert_paid, measured, plan};

const ARM: &[&str] = &["quic/s2n"];

#[test]
fn it_carries_all_of_it_and_both_sides_pay() {
    let outcome = measured(plan(ARM, Pattern::Down));
    let visit = &outcome.arms[0].visits[0];
    assert_eq!((visit.server.sent, visit.client.received), (BYTES, BYTES));
    assert_paid(&visit.server);
    assert_paid(&visit.client);
    let (server, client) = (visit.server.wire, visit.client.wire);
    assert!(server.packets_sent.unwrap() >= BYTES / MTU, "{server:?}");
    assert!(
        client.packets_received.unwrap() >= BYTES / MTU,
        "{client:?}"
    );
    let heard = server.acks_received.unwrap();
    assert!(
        heard > 0 && heard <= client.acks_sent.unwrap(),
        "{server:?}, {client:?}"
    );
    assert_eq!((server.retransmitted, server.held_by_window), (None, None));
}

#[test]
fn the_client_may_send_or_both() {
    let outcome = measured(plan(ARM, Pattern::Up));
    let visit = &outcome.arms[0].visits[0];
    assert_eq!((visit.client.sent, visit.server.received), (BYTES, BYTES));
    assert_eq!((visit.server.sent, visit.client.received), (0, 0));
    let outcome = measured(plan(ARM, Pattern::Both));
    let visit = &outcome.arms[0].visits[0];
    assert_eq!(visit.server.received, BYTES / 2);
    assert_eq!(visit.client.received, BYTES / 2);
}

#[test]
fn lanes_share_the_bytes() {
    let mut plan = plan(ARM, Pattern::Down);
    // More streams than it would by default let a peer open.
    (plan.work.connections, plan.work.streams) = (2, 120);
    let received = measured(plan).arms[0].visits[0].client.received;
    assert!((BYTES..BYTES + 240).contains(&received), "{received}");
}

#[test]
fn requests_are_timed_one_by_one() {
    let mut asked = plan(
        ARM,
        Pattern::Requests {
            request: 100,
            response: 2000,
        },
    );
    asked.work.streams = 4;
    asked.work.amount = Amount::For(Duration::from_millis(300));
    let outcome = measured(asked);
    let visit = &outcome.arms[0].visits[0];
    let requests = visit.requests();
    assert!(requests > 0, "{visit:?}");
    assert_eq!(visit.client.sent, requests * 100);
    assert_eq!(visit.client.received, requests * 2000);
    assert_eq!(visit.server.received, requests * 100);
    let mixed = Pattern::Mixed {
        request: 10,
        response: 10,
    };
    let outcome = measured(plan(ARM, mixed));
    let visit = &outcome.arms[0].visits[0];
    assert!(visit.requests() > 0);
    assert_eq!(visit.client.received, BYTES + visit.requests() * 10);
}

#[test]
fn time_ends_what_has_no_end() {
    for pattern in [Pattern::Down, Pattern::Up] {
        let mut timed = plan(ARM, pattern);
        timed.work.amount = Amount::For(Duration::from_millis(300));
        let outcome = measured(timed);
        let visit = &outcome.arms[0].visits[0];
        assert!(visit.payload() > 0, "{visit:?}");
        assert!(visit.wall() >= Duration::from_millis(150), "{visit:?}");
    }
}

#[test]
fn its_knobs_are_turned() {
    let arms = [
        "quic/s2n",
        "quic/s2n+datagram1200",
        "quic/s2n+datagram1400+gso1",
        "quic/s2n+discover+aes256+bbr",
        "quic/s2n+chacha",
    ];
    let outcome = measured(plan(&arms, Pattern::Down));
    let wire = |place: usize| outcome.arms[place].visits[0].server.wire;
    let largest = |place| wire(place).largest.unwrap();
    // The size that it finds depends on when the results of its probes arrive.
    assert!((1200..=MTU - 28).contains(&largest(0)), "{}", largest(0));
    assert_eq!((largest(1), largest(2)), (1200, 1400));
    for arm in &outcome.arms {
        assert_eq!(arm.visits[0].client.received, BYTES, "{arm:?}");
    }
}

#[test]
fn an_emulated_path_may_lie_between() {
    let words = [
        ("rtt", "10ms"),
        ("rate", "50mbit"),
        ("loss", "5%"),
        ("duplicate", "5%"),
        ("reorder", "5%,5ms"),
    ];
    let outcome = over(&words, &["quic/s2n", "quic/s2n+bbr"], 400_000);
    for wire in senders(&outcome) {
        assert!(wire.lost.unwrap() > 0, "{wire:?}");
    }
}

#[test]
fn two_halves_talk_over_any_family() {
    // Not every kernel has IPv6.
    let has_it = |local: &&str| UdpSocket::bind(local).is_ok();
    for local in ["127.0.0.1:0", "[::1]:0"].into_iter().filter(has_it) {
        let server = PerfServer::listen(local.parse().unwrap(), None).unwrap();
        let host = server.address().unwrap().to_string();
        let serving = thread::spawn(move || server.serve_one());
        let mut plan = plan(&["quic/s2n+datagram1300"], Pattern::Down);
        (plan.pin, plan.terrain) = (Pin::default(), Terrain::Remote(host.clone()));
        let outcome = visit(plan, &host, &mut |_| {}).unwrap();
        serving.join().unwrap().unwrap();
        let visit = &outcome.arms[0].visits[0];
        assert_eq!(visit.client.received, BYTES, "{local}");
        assert_eq!(visit.server.wire.largest, Some(1300), "{local}");
        let document = roundtrip_perf::json::document(&outcome);
        assert_eq!(document["arms"][0]["engine"], "s2n");
    }
}
