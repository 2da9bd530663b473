//! Phases of hand-made timelines: they cover the whole timeline, and each wait is attributed to its
//! cause.

#[path = "../../../../tests/any_event.rs"]
mod any_event;
mod beyond;
mod bodies;
mod lines;
mod quic;
mod unknown_paths;
mod uploads;
mod windows;

use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Event, HttpFacts, QuicFacts, TcpFacts};

const R: f64 = 50.0;

fn peer() -> SocketAddr {
    ([127, 0, 0, 1], 443).into()
}

fn exchange(events: &[(f64, Event)]) -> Exchange {
    let mut e = Exchange {
        rtt: Some(Duration::from_millis(R as u64)),
        tcp: Some(TcpFacts {
            mss: 1448,
            ..TcpFacts::default()
        }),
        ..Exchange::default()
    };
    for (at, event) in events {
        e.timeline.push(Moment::from_millis(*at), event.clone());
    }
    e
}

fn sent(bytes: u64) -> Event {
    Event::Sent { bytes }
}

fn received(bytes: u64) -> Event {
    Event::Received { bytes }
}

fn connect(at: f64) -> Vec<(f64, Event)> {
    vec![
        (0.2, Event::LookupStarted),
        (0.3, Event::LookupFinished),
        (0.3, Event::AttemptStarted { peer: peer() }),
        (
            at,
            Event::Connected {
                peer: peer(),
                deferred: false,
            },
        ),
    ]
}

fn names(e: &Exchange) -> Vec<(&'static str, u32)> {
    e.phases()
        .iter()
        .map(|p| (p.name.as_str(), p.round_trips))
        .collect()
}

#[test]
fn a_cold_tls13_request_takes_three_round_trips() {
    let mut events = connect(50.3);
    events.extend([
        (50.3, Event::HandshakeStarted),
        (50.5, sent(1700)),
        (103.5, received(3000)),
        (104.0, sent(80)),
        (104.0, Event::HandshakeFinished),
        (104.0, Event::RequestStarted),
        (104.1, sent(120)),
        (104.1, Event::RequestSent),
        (184.1, received(500)),
        (184.1, Event::FirstByte),
        (184.2, Event::Finished),
    ]);
    let e = exchange(&events);
    assert_eq!(
        names(&e),
        [
            ("setup", 0),
            ("name", 0),
            ("tcp", 1),
            ("tls", 1),
            ("request", 0),
            ("first_byte", 1),
            ("body", 0)
        ]
    );
    let tls = e.phases()[3];
    assert!(
        (tls.waited.network - 50.0).abs() < 1e-6 && (tls.waited.server - 3.0).abs() < 1e-6,
        "{tls:?}"
    );
    let wait = e.phases()[5];
    assert!((wait.waited.server - 30.0).abs() < 1e-6, "{wait:?}");
}

#[test]
fn tls12_and_hello_retry_alternate_twice() {
    let mut events = connect(50.0);
    events.extend([
        (50.0, Event::HandshakeStarted),
        (50.0, sent(300)),
        (100.0, received(3000)),
        (101.0, sent(200)),
        (151.0, received(60)),
        (151.0, Event::HandshakeFinished),
        (151.0, Event::Finished),
    ]);
    assert_eq!(names(&exchange(&events))[3], ("tls", 2));
}

#[test]
fn a_flight_over_the_initial_window_costs_one_more() {
    let mut events = connect(50.0);
    events.extend([
        (50.0, Event::HandshakeStarted),
        (50.0, sent(300)),
        (100.0, received(14_480)),
        (150.0, received(6_000)),
        (151.0, sent(80)),
        (151.0, Event::HandshakeFinished),
        (151.0, Event::Finished),
    ]);
    assert_eq!(names(&exchange(&events))[3], ("tls", 2));
    // The same pause after a small flight is attributed to the server.
    events[6].1 = received(2_000);
    let e = exchange(&events);
    assert_eq!(names(&e)[3], ("tls", 1));
    assert!((e.phases()[3].waited.server - 50.0).abs() < 1e-6);
}

#[test]
fn fast_open_saves_only_what_the_syn_ack_acknowledged() {
    let opened = |acked| {
        exchange(&[
            (0.2, Event::LookupStarted),
            (0.3, Event::LookupFinished),
            (0.3, Event::AttemptStarted { peer: peer() }),
            (
                0.3,
                Event::Connected {
                    peer: peer(),
                    deferred: true,
                },
            ),
            (0.3, Event::HandshakeStarted),
            (0.4, sent(1700)),
            (
                50.4,
                Event::SynAcked {
                    data_sent: 1700,
                    data_acked: acked,
                },
            ),
            (if acked == 1700 { 50.5 } else { 100.5 }, received(3000)),
            (101.0, sent(80)),
            (101.0, Event::HandshakeFinished),
            (101.0, Event::Finished),
        ])
    };
    assert_eq!(names(&opened(1700))[2..], [("tcp", 0), ("tls", 1)]);
    assert_eq!(names(&opened(1420))[2..], [("tcp", 1), ("tls", 1)]);
}

#[test]
fn a_request_that_no_syn_ack_acknowledged_waits_for_the_connection_first() {
    let asked = |early: bool| {
        let mut events = connect(0.3);
        events[3].1 = Event::Connected {
            peer: peer(),
            deferred: true,
        };
        if early {
            events.push((0.35, Event::HandshakeStarted));
            events.push((101.0, Event::HandshakeFinished));
        }
        events.extend([
            (0.4, Event::RequestStarted),
            (0.5, sent(1700)),
            (0.5, Event::RequestSent),
            (
                50.5,
                Event::SynAcked {
                    data_sent: 1700,
                    data_acked: 0,
                },
            ),
            (100.9, received(300)),
            (100.9, Event::FirstByte),
            (101.0, Event::Finished),
        ]);
        exchange(&events)
    };
    for early in [false, true] {
        let e = asked(early);
        assert_eq!(
            names(&e)[2..],
            [("tcp", 1), ("first_byte", 1), ("body", 0)],
            "early data: {early}"
        );
        assert!((e.phases()[2].waited.network - 50.2).abs() < 1e-6);
    }
}

#[test]
fn early_data_leaves_no_wait_for_the_handshake() {
    let mut events = connect(50.0);
    events.extend([
        (50.0, Event::HandshakeStarted),
        (50.1, Event::RequestStarted),
        (50.2, sent(700)),
        (50.2, Event::RequestSent),
        (100.2, received(900)),
        (100.3, Event::HandshakeFinished),
        (100.2, Event::FirstByte),
        (100.4, Event::Finished),
    ]);
    let e = exchange(&events);
    assert_eq!(e.round_trips(), 2, "{:?}", names(&e));
    events.push((100.3, Event::EarlyDataRefused));
    events[8] = (150.3, received(900));
    events[10] = (150.3, Event::FirstByte);
    events[11] = (150.4, Event::Finished);
    events.push((100.2, received(400)));
    let e = exchange(&events);
    assert_eq!(e.round_trips(), 3, "{:?}", names(&e));
}

#[test]
fn a_body_over_the_window_counts_its_stalls_and_a_dripping_one_does_not() {
    let body = |chunks: [u64; 3]| {
        exchange(&[
            (0.0, Event::RequestStarted),
            (0.0, Event::RequestSent),
            (50.0, received(chunks[0])),
            (50.0, Event::FirstByte),
            (100.0, received(chunks[1])),
            (150.0, received(chunks[2])),
            (150.0, Event::Finished),
        ])
    };
    assert_eq!(
        names(&body([14_480, 28_960, 4_000])).last(),
        Some(&("body", 2))
    );
    let dripping = body([100, 100, 100]);
    assert_eq!(names(&dripping).last(), Some(&("body", 0)));
    assert!((dripping.phases().last().unwrap().waited.server - 100.0).abs() < 1e-6);
}

#[test]
fn acknowledgements_in_a_body_cost_the_client_nothing() {
    let mut events = vec![
        (0.0, Event::RequestSent),
        (50.0, received(1200)),
        (50.0, Event::FirstByte),
    ];
    for n in 1..=10 {
        let at = 50.0 + f64::from(n);
        events.extend([(at - 0.4, sent(34)), (at, received(1200))]);
    }
    events.push((60.5, Event::Finished));
    let body = *exchange(&events).phases().last().unwrap();
    assert!((body.waited.client - 0.5).abs() < 1e-6, "{body:?}");
    assert_eq!(body.round_trips, 0);
}

/// A request of `bytes` whose answer arrives `wait` ms after it was sent.
fn uploaded(bytes: u64, wait: f64) -> Exchange {
    let mut events = connect(50.3);
    events.extend([
        (50.3, Event::RequestStarted),
        (50.4, sent(bytes)),
        (50.4, Event::RequestSent),
        (50.4 + wait, received(500)),
        (50.4 + wait, Event::FirstByte),
        (50.4 + wait, Event::Finished),
    ]);
    let mut e = exchange(&events);
    e.http = Some(HttpFacts {
        uploaded: bytes,
        ..HttpFacts::default()
    });
    e
}

#[test]
fn a_large_request_s_flights_are_the_network_s() {
    let wait = |e: &Exchange| {
        let phases = e.phases();
        let wait = phases
            .iter()
            .find(|p| p.name == PhaseName::FirstByte)
            .unwrap();
        (wait.round_trips, wait.waited.server.round() as u32)
    };
    // 42 segments: ten, twenty, and the rest.
    assert_eq!(wait(&uploaded(60_000, 3.0 * R + 2.0)), (3, 2));
    assert_eq!(wait(&uploaded(60_000, R + 20.0)), (1, 20));
    assert_eq!(wait(&uploaded(60_000, 3.0 * R + 200.0)), (3, 200));
    assert_eq!(wait(&uploaded(1_000, 3.0 * R)), (1, 100));
    let mut kept = uploaded(60_000, 3.0 * R);
    kept.reused = true;
    assert_eq!(wait(&kept), (1, 100), "its window has grown");
}

#[test]
fn the_wait_for_100_continue_is_a_round_trip_or_a_time_out() {
    let asked = |left: f64, wait: f64, interim: Vec<u16>| {
        let mut events = connect(50.3);
        events.extend([
            (left, sent(200)),
            (50.3, Event::RequestStarted),
            (left + wait, sent(5)),
            (left + wait, Event::RequestSent),
            (50.0 + left + wait, Event::FirstByte),
        ]);
        let mut e = exchange(&events);
        e.http = Some(HttpFacts {
            continue_wait: Some(Duration::from_secs_f64(wait / 1e3)),
            interim,
            ..HttpFacts::default()
        });
        let phases = e.phases();
        let request = phases
            .iter()
            .find(|p| p.name == PhaseName::Request)
            .unwrap();
        (request.round_trips, request.waited.server.round() as u32)
    };
    // Seen from afar, the head leaves at the moment at which the connection is there.
    for left in [50.3, 50.4] {
        assert_eq!(asked(left, R + 10.0, vec![100]), (1, 10));
        assert_eq!(asked(left, 1_000.0, Vec::new()), (0, 1_000));
    }
}

/// The client did not ask for `100 Continue`, but gets it at once, and the response later.
#[test]
fn a_100_that_nobody_waited_for_is_not_the_answer() {
    let first_byte = |continue_wait: Option<Duration>| {
        let mut events = connect(50.3);
        events.extend([
            (50.4, Event::RequestStarted),
            (50.5, sent(200)),
            (50.5, Event::RequestSent),
            (101.0, received(25)),
            (101.0, Event::FirstByte),
            (241.0, received(600)),
            (241.0, Event::Answered),
            (241.1, Event::Finished),
        ]);
        let mut e = exchange(&events);
        e.http = Some(HttpFacts {
            interim: vec![100],
            continue_wait,
            ..HttpFacts::default()
        });
        let phases = e.phases();
        let first_byte = phases.iter().find(|p| p.name == PhaseName::FirstByte);
        first_byte.unwrap().ms().round() as u32
    };
    assert_eq!(first_byte(None), 191);
    assert_eq!(first_byte(Some(Duration::from_millis(50))), 51);
}

proptest! {
    /// For any events in any order, phases cover the timeline and waits cover each phase.
    #[test]
    fn phases_tile_the_whole(events in prop::collection::vec((0.0f64..2000.0, any_event::any_event()), 0..40), rtt in prop::option::of(0u64..200_000), over_quic: bool, failed: bool) {
        let mut e = exchange(&events);
        e.rtt = rtt.map(Duration::from_micros);
        e.quic = over_quic.then(QuicFacts::default);
        e.failure = failed.then(|| crate::Failure { kind: crate::FailureKind::Timeout, phase: PhaseName::Body, message: String::new(), advice: String::new() });
        let phases = e.phases();
        let mut cursor = Moment::ZERO;
        for phase in &phases {
            prop_assert_eq!(phase.start, cursor);
            prop_assert!(phase.end >= phase.start);
            prop_assert!((phase.waited.sum() - phase.ms()).abs() < 1e-6, "{:?}", phase);
            for part in [phase.waited.network, phase.waited.server, phase.waited.client, phase.waited.resolver, phase.waited.loss] {
                prop_assert!(part > -1e-9, "{:?}", phase);
            }
            cursor = phase.end;
        }
        if !events.is_empty() {
            prop_assert_eq!(cursor, e.timeline.end());
        }
    }
}
