//! Measurements in two namespaces, as root or as an ordinary user: the figures exist, and agree
//! with each other.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fire;
mod remote;
mod s2n;

use std::time::Duration;

use roundtrip_path::sandbox_before_main;
use roundtrip_perf::plan::{Amount, Pattern, Pin, Terrain, Work};
use roundtrip_perf::{PerfOutcome, PerfPlan, SideReport, json, run};

sandbox_before_main!();

/// A segment's or a datagram's payload is less.
const MTU: u64 = 1500;
const BYTES: u64 = 20_000_000;

fn plan(arms: &[&str], pattern: Pattern) -> PerfPlan {
    let allowed = roundtrip_net::cpu::allowed_cpus().unwrap();
    PerfPlan {
        arms: arms.iter().map(|arm| arm.parse().unwrap()).collect(),
        work: Work {
            pattern,
            streams: 1,
            connections: 1,
            amount: Amount::Bytes(BYTES),
        },
        rounds: 1,
        pin: Pin::among(&allowed),
        terrain: Terrain::default(),
    }
}

fn measured(plan: PerfPlan) -> PerfOutcome {
    run(plan, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_paid(side: &SideReport) {
    assert!(side.usage.cpu() > Duration::ZERO, "{side:?}");
    assert!(side.usage.thread <= side.usage.wall, "one thread: {side:?}");
    for calls in [side.wire.send_calls, side.wire.receive_calls] {
        assert!(calls.unwrap() > 0, "{side:?}");
    }
}

#[test]
fn each_transport_carries_all_of_it_and_both_sides_pay() {
    let outcome = measured(plan(&["tcp", "tls", "quic", "quic/proto"], Pattern::Down));
    for arm in &outcome.arms {
        let [visit] = &arm.visits[..] else {
            panic!("one round: {arm:?}");
        };
        assert_eq!((visit.server.sent, visit.client.received), (BYTES, BYTES));
        assert_paid(&visit.server);
        assert_paid(&visit.client);
        assert!(
            visit.server.wire.packets_sent.unwrap() >= BYTES / MTU,
            "{arm:?}"
        );
        let heard = visit.server.wire.acks_received.unwrap();
        assert!(
            heard > 0 && heard <= visit.server.wire.packets_sent.unwrap(),
            "{arm:?}"
        );
        assert!(arm.figures.sender.unwrap().median > 0.0);
    }
    let [_, tls, quic, _] = &outcome.arms[..] else {
        panic!("four arms");
    };
    let cost = |arm: &roundtrip_perf::PerfArmOutcome| arm.figures.sender.unwrap().median;
    let ratio = quic.figures.ratio_to_tls.unwrap();
    assert!((ratio - cost(tls) / cost(quic)).abs() < 1e-9);
}

#[test]
fn the_client_may_send_or_both() {
    let arms = ["tcp", "tls", "quic", "quic/proto"];
    for arm in &measured(plan(&arms, Pattern::Up)).arms {
        let visit = &arm.visits[0];
        assert_eq!(
            (visit.client.sent, visit.server.received),
            (BYTES, BYTES),
            "{arm:?}"
        );
        assert_eq!(
            (visit.server.sent, visit.client.received),
            (0, 0),
            "{arm:?}"
        );
    }
    for arm in &measured(plan(&arms, Pattern::Both)).arms {
        let visit = &arm.visits[0];
        assert_eq!(visit.server.received, BYTES / 2, "{arm:?}");
        assert_eq!(visit.client.received, BYTES / 2, "{arm:?}");
    }
}

#[test]
fn lanes_share_the_bytes() {
    let mut plan = plan(&["tls", "quic", "quic/proto"], Pattern::Down);
    (plan.work.connections, plan.work.streams) = (2, 3);
    for arm in &measured(plan).arms {
        let received = arm.visits[0].client.received;
        assert!((BYTES..BYTES + 6).contains(&received), "{arm:?}");
    }
}

#[test]
fn requests_are_timed_one_by_one() {
    let mut asked = plan(
        &["tcp", "tls", "quic", "quic/proto"],
        Pattern::Requests {
            request: 100,
            response: 2000,
        },
    );
    asked.work.amount = Amount::For(Duration::from_millis(300));
    for arm in &measured(asked).arms {
        let visit = &arm.visits[0];
        let requests = visit.requests();
        assert!(requests > 0, "{arm:?}");
        assert_eq!(visit.client.sent, requests * 100);
        assert_eq!(visit.client.received, requests * 2000);
        assert_eq!(visit.server.received, requests * 100);
        assert!(arm.figures.latencies.quantile(0.5) > Duration::ZERO);
    }
    let mixed = Pattern::Mixed {
        request: 10,
        response: 10,
    };
    for arm in &measured(plan(&["tls", "quic", "quic/proto"], mixed)).arms {
        let visit = &arm.visits[0];
        let requests = visit.requests();
        assert_eq!(visit.client.received, BYTES + requests * 10, "{arm:?}");
    }
}

#[test]
fn time_ends_what_has_no_end() {
    for pattern in [Pattern::Down, Pattern::Up] {
        let mut timed = plan(&["tcp", "tls", "quic", "quic/proto"], pattern);
        timed.work.amount = Amount::For(Duration::from_millis(300));
        for arm in &measured(timed).arms {
            let visit = &arm.visits[0];
            assert!(visit.payload() > 0, "{arm:?}");
            assert!(visit.wall() >= Duration::from_millis(150), "{arm:?}");
        }
    }
}

#[test]
fn knobs_are_turned() {
    let outcome = measured(plan(
        &[
            "quic",
            "quic+gso1",
            "quic+ack64",
            "quic+datagram1200",
            "quic+mirror1300",
        ],
        Pattern::Down,
    ));
    let wire = |place: usize| outcome.arms[place].visits[0].server.wire;
    let per_call = |place: usize| {
        wire(place).packets_sent.unwrap() as f64 / wire(place).send_calls.unwrap() as f64
    };
    assert!(per_call(0) > 2.0, "bursts: {:?}", wire(0));
    // Packets of the handshake may share a datagram.
    assert!(per_call(1) < 1.1, "no bursts: {:?}", wire(1));
    assert_eq!(wire(3).largest, Some(1200));
    // The server was not told the size, but shown it. What discovery finds depends on when the
    // results of its probes arrive.
    assert_eq!(wire(4).largest, Some(1300));
}

/// Needs a processor that supports it.
#[cfg(feature = "packet-aead")]
#[test]
fn packets_sealed_by_ourselves_arrive() {
    let plan = plan(
        &["quic+packetaead", "quic+packetaead+aes256"],
        Pattern::Both,
    );
    if let Err(error) = plan.check() {
        assert!(
            error.to_string().contains("this processor has no"),
            "{error}"
        );
        return;
    }
    for arm in &measured(plan).arms {
        let visit = &arm.visits[0];
        assert_eq!(visit.server.sent, visit.client.received);
        assert_eq!(visit.client.sent, visit.server.received);
    }
}

#[test]
fn the_knobs_of_quinn_proto_are_turned() {
    let outcome = measured(plan(
        &[
            "quic/proto",
            "quic/proto+gso1",
            "quic/proto+gso4",
            "quic/proto+datagram1200",
            "quic/proto+mirror1300",
            "quic/proto+ack50",
        ],
        Pattern::Down,
    ));
    let wire = |place: usize| outcome.arms[place].visits[0].server.wire;
    let per_call = |place: usize| {
        wire(place).packets_sent.unwrap() as f64 / wire(place).send_calls.unwrap() as f64
    };
    assert!(per_call(0) > 4.0, "bursts: {:?}", wire(0));
    // Packets of the handshake may share a datagram.
    assert!(per_call(1) < 1.1, "no bursts: {:?}", wire(1));
    assert!(per_call(2) < 4.1, "short bursts: {:?}", wire(2));
    assert_eq!(wire(3).largest, Some(1200));
    // The server was not told the size, but shown it.
    assert_eq!(wire(4).largest, Some(1300));
    let heard = |place: usize| wire(place).acks_received.unwrap();
    assert!(heard(5) < heard(1), "fewer: {:?}, {:?}", wire(5), wire(1));
}

#[test]
fn a_path_may_lie_between() {
    let mut far = plan(&["tls", "quic", "quic/proto"], Pattern::Down);
    far.terrain =
        Terrain::described(&[("rtt", "10ms".into()), ("loss", "down:3%".into())], None).unwrap();
    far.work.amount = Amount::Bytes(500_000);
    let outcome = measured(far);
    for arm in &outcome.arms {
        let visit = &arm.visits[0];
        assert_eq!(visit.client.received, 500_000);
        let wire = visit.server.wire;
        assert!(wire.lost.or(wire.retransmitted).unwrap() > 0, "{arm:?}");
    }
    let document = json::document(&outcome);
    assert_eq!(document["path"]["kind"], "emulated");
    assert_eq!(document["arms"][0]["knobs"]["cc"], "cubic");
    let figure = document["arms"][1]["median"].as_f64().unwrap();
    assert!((figure - outcome.arms[1].figures.sender.unwrap().median).abs() < 1e-12);
}
