//! QUIC handshakes: Retry, timeouts, the limit before the address is validated, slow flights.

use super::*;
use crate::{Attempt, AttemptOutcome, Task};

#[test]
fn quic_pays_for_retry_and_loses_to_timeouts() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(1200)),
        (1000.5, sent(1200)),
        (1050.5, received(150)),
        (1050.6, sent(1200)),
        (1100.6, received(1200)),
        (1100.7, received(1200)),
        (1101.0, sent(1200)),
        (1101.0, Event::HandshakeFinished),
        (1101.0, Event::Finished),
    ]);
    e.tcp = None;
    e.quic = Some(QuicFacts::default());
    e.extra_trips = 1;
    let quic = *e.phases().last().unwrap();
    assert_eq!((quic.name, quic.round_trips), (PhaseName::Quic, 2));
    assert!((quic.waited.loss - 1000.0).abs() < 1e-6, "{quic:?}");
}

/// A server acknowledges the client's packets for ever, but its own flight does not come.
#[test]
fn a_client_that_waits_for_its_timer_does_not_compute() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(1200)),
        (50.7, received(52)),
        (400.0, sent(1200)),
        (450.0, received(52)),
        (1_200.0, sent(1200)),
        (1_250.0, received(52)),
        (3_000.0, Event::Finished),
    ]);
    (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
    e.failure = Some(crate::Failure {
        kind: crate::FailureKind::Timeout,
        phase: PhaseName::Quic,
        message: String::new(),
        advice: String::new(),
    });
    let quic = *e.phases().last().unwrap();
    assert!(quic.waited.client < 1.0, "{quic:?}");
    assert!((quic.waited.loss - 1_099.3).abs() < 1.0, "{quic:?}");
}

#[test]
fn a_server_at_its_limit_waits_for_an_acknowledgement_that_left_before() {
    let mut events = vec![
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(2_400)),
        (50.7, received(1_200)),
        (50.8, sent(1_200)),
    ];
    events.extend((0..5).map(|_| (51.0, received(1_200))));
    events.extend([
        (101.0, received(1_200)),
        (101.1, received(900)),
        (101.5, sent(100)),
        (101.5, Event::HandshakeFinished),
        (101.5, Event::Finished),
    ]);
    let mut e = exchange(&events);
    e.tcp = None;
    e.quic = Some(QuicFacts::default());
    let quic = *e.phases().last().unwrap();
    assert_eq!((quic.name, quic.round_trips), (PhaseName::Quic, 2));
    assert!(quic.waited.server < 1.0, "{quic:?}");
}

/// An acknowledgement of the hello's first half comes alone, and the last datagram then exceeds the
/// limit.
#[test]
fn a_server_that_exceeds_its_limit_by_less_than_a_datagram_was_at_it() {
    let mut events = vec![
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(1_200)),
        (1.2, sent(1_200)),
        (50.7, received(54)),
    ];
    events.extend((0..6).map(|_| (51.0, received(1_200))));
    events.extend([
        (51.5, sent(1_200)),
        (102.0, received(1_200)),
        (102.1, received(600)),
        (102.5, sent(100)),
        (102.5, Event::HandshakeFinished),
        (102.5, Event::Finished),
    ]);
    let mut e = exchange(&events);
    e.tcp = None;
    e.quic = Some(QuicFacts::default());
    let quic = *e.phases().last().unwrap();
    assert_eq!((quic.name, quic.round_trips), (PhaseName::Quic, 2));
}

#[test]
fn a_first_flight_that_is_read_in_two_pieces_is_one_round_trip() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(2_400)),
        (50.7, received(6_600)),
        // All but the end of the server's allowance has arrived, and the rest is on the way.
        (51.0, sent(60)),
        (54.0, received(600)),
        (54.2, sent(60)),
        (104.2, received(2_000)),
        (104.5, sent(100)),
        (104.5, Event::HandshakeFinished),
        (104.5, Event::Finished),
    ]);
    e.tcp = None;
    e.quic = Some(QuicFacts::default());
    let quic = *e.phases().last().unwrap();
    assert_eq!((quic.name, quic.round_trips), (PhaseName::Quic, 2));
    assert!(quic.waited.server < 1.0, "{quic:?}");
}

#[test]
fn a_server_that_computes_its_flight_slowly_takes_no_round_trip() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(2_400)),
        (50.7, received(1_200)),
        (51.0, sent(60)),
        // This is sooner than anything could answer the acknowledgement.
        (81.0, received(2_000)),
        (81.5, sent(100)),
        (81.5, Event::HandshakeFinished),
        (81.5, Event::Finished),
    ]);
    e.tcp = None;
    e.quic = Some(QuicFacts::default());
    assert_eq!(names(&e).last(), Some(&("quic", 1)));
}

/// A QUIC server waits for its client only at a limit. A pause for another reason is not a round
/// trip, even if it takes as long.
#[test]
fn a_server_that_may_go_on_makes_no_round_trip_of_its_pause() {
    let handshake = |flight: u64| {
        let mut e = exchange(&[
            (0.0, Event::AttemptStarted { peer: peer() }),
            (0.0, Event::HandshakeStarted),
            (0.5, sent(2_400)),
            (50.7, received(flight)),
            (51.0, sent(60)),
            (102.0, received(1_000)),
            (102.5, sent(100)),
            (102.5, Event::HandshakeFinished),
            (102.5, Event::Finished),
        ]);
        (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
        *e.phases().last().unwrap()
    };
    let (paused, stopped) = (handshake(2_400), handshake(7_200));
    assert_eq!((paused.round_trips, stopped.round_trips), (1, 2));
    assert!((paused.waited.server - 51.0).abs() < 0.5, "{paused:?}");
    assert!(stopped.waited.server < 1.5, "{stopped:?}");
}

/// Half of the first hello is lost, and the server asks for another one.
#[test]
fn a_loss_and_another_hello_take_a_round_trip_each() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(2_400)),
        (50.7, received(52)),
        (57.0, sent(1_200)),
        (107.2, received(1_200)),
        (107.5, sent(1_200)),
        (157.7, received(2_400)),
        (158.0, sent(100)),
        (158.0, Event::HandshakeFinished),
        (158.0, Event::Finished),
    ]);
    let lost_in_handshake = 1;
    let quic = QuicFacts {
        lost_in_handshake,
        ..QuicFacts::default()
    };
    (e.tcp, e.quic, e.extra_trips) = (None, Some(quic), 1);
    assert_eq!(names(&e).last(), Some(&("quic", 3)));
}

/// Both programs share a busy host, so every wait takes milliseconds, and so does R.
#[test]
fn a_busy_host_adds_no_round_trip() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(2_400)),
        (5.0, received(1_200)),
        (8.0, sent(1_200)),
        (11.0, received(1_200)),
        (14.0, sent(1_200)),
        (14.0, Event::HandshakeFinished),
        (14.0, Event::RequestStarted),
        (14.0, sent(200)),
        (14.0, Event::RequestSent),
        (17.0, received(1_200)),
        (17.0, Event::FirstByte),
        // Flights that grow, as after each acknowledgement that the client sends late.
        (20.0, received(13_000)),
        (23.0, received(27_000)),
        (26.0, received(30_000)),
        (26.5, Event::Finished),
    ]);
    e.rtt = Some(Duration::from_micros(2_900));
    let local = Some(([127, 0, 0, 1], 50_000).into());
    let peer = Some(peer());
    (e.tcp, e.quic) = (
        None,
        Some(QuicFacts {
            local,
            peer,
            ..QuicFacts::default()
        }),
    );
    assert_eq!(e.round_trips(), 2, "{:?}", names(&e));
}

/// The client acknowledges a full window late: the round trip belongs to the path, and the rest to
/// the client.
#[test]
fn a_window_that_waits_for_a_client_that_does_not_run() {
    let absent = Duration::from_millis(30);
    let body = |absent: Option<Duration>| {
        let late = absent.map_or(0.0, |_| 30.0);
        let mut events = vec![
            (0.0, Event::RequestSent),
            (50.0, received(12_000)),
            (50.0, Event::FirstByte),
            (100.0 + late, received(24_000)),
            (150.0 + late, received(30_000)),
            (150.0 + late, Event::Finished),
        ];
        if let Some(took) = absent {
            let throttled = false;
            events.push((50.0 + late, Event::Starved { took, throttled }));
        }
        let mut e = exchange(&events);
        (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
        *e.phases().last().unwrap()
    };
    let (present, starved) = (body(None), body(Some(absent)));
    assert_eq!((present.round_trips, starved.round_trips), (2, 2));
    assert!((starved.waited.client - 30.0).abs() < 0.5, "{starved:?}");
    assert!(starved.waited.server < 0.5, "{starved:?}");
}

/// An acknowledgement arrived while the client wrote the body to a slow output.
#[test]
fn a_client_that_writes_makes_no_server_pause() {
    let (task, took) = (Task::Write, Duration::from_millis(290));
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, sent(100)),
        (0.0, Event::RequestSent),
        (50.0, received(1_200)),
        (50.0, Event::FirstByte),
        (50.1, received(490)),
        (200.0, received(45)),
        (341.0, Event::Worked { task, took }),
        (341.0, Event::Finished),
    ]);
    (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
    let waited = e.phases().last().unwrap().waited;
    assert!(waited.client > 289.0 && waited.server < 1e-6, "{waited:?}");
}

#[test]
fn acknowledgements_on_loopback_are_not_round_trips() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.1, sent(2400)),
        (0.5, received(1200)),
        (0.6, sent(60)),
        (1.4, received(1200)),
        (1.5, sent(60)),
        (2.2, received(1200)),
        (2.3, sent(1200)),
        (2.3, Event::HandshakeFinished),
        (2.3, Event::Finished),
    ]);
    e.tcp = None;
    e.rtt = Some(Duration::from_micros(250));
    e.quic = Some(QuicFacts::default());
    assert_eq!(names(&e).last(), Some(&("quic", 1)));
}

#[test]
fn a_refusal_is_a_round_trip_and_not_a_loss() {
    let mut e = exchange(&[
        (0.0, Event::AttemptStarted { peer: peer() }),
        (0.0, Event::HandshakeStarted),
        (0.5, sent(1_200)),
        (50.6, Event::AttemptStarted { peer: peer() }),
        (50.7, sent(1_200)),
        (100.8, Event::Finished),
    ]);
    let attempt = |began, ended| Attempt {
        peer: peer(),
        over_quic: true,
        began: Moment::from_millis(began),
        ended: Moment::from_millis(ended),
        outcome: AttemptOutcome::Failed("connection refused".to_owned()),
    };
    e.attempts = vec![attempt(0.0, 50.5), attempt(50.6, 100.7)];
    (e.tcp, e.rtt, e.quic) = (None, None, Some(QuicFacts::default()));
    e.failure = Some(crate::Failure {
        kind: crate::FailureKind::Timeout,
        phase: PhaseName::Quic,
        message: String::new(),
        advice: String::new(),
    });
    let quic = *e.phases().last().unwrap();
    assert_eq!((quic.name, quic.round_trips), (PhaseName::Quic, 2));
    assert!(quic.waited.loss.abs() < 1e-6, "{quic:?}");
    assert!(quic.waited.network > 100.0, "{quic:?}");
}

/// The server's flight was lost, and a timeout sent it again; a sender may skip a single number.
#[test]
fn missing_packets_are_a_loss_and_not_a_slow_server() {
    let handshake = |packets| {
        let mut e = exchange(&[
            (0.0, Event::AttemptStarted { peer: peer() }),
            (0.0, Event::HandshakeStarted),
            (0.5, sent(1_200)),
            (1050.5, Event::Missed { packets }),
            (1050.5, received(1_200)),
            (1051.0, sent(1_200)),
            (1051.0, Event::HandshakeFinished),
            (1051.0, Event::Finished),
        ]);
        (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
        e.phases().last().unwrap().waited
    };
    let (several, one) = (handshake(3), handshake(1));
    assert!((several.loss - 1000.0).abs() < 1.0, "{several:?}");
    assert!((one.server - 1000.0).abs() < 1.0, "{one:?}");
}

#[test]
fn the_answer_to_a_retransmitted_request_shows_a_loss() {
    let mut e = exchange(&[
        (0.0, Event::RequestStarted),
        (0.0, sent(100)),
        (0.0, Event::RequestSent),
        (
            150.0,
            Event::Resent {
                segments: 1,
                unacked: Duration::from_millis(100),
            },
        ),
        (
            150.0,
            Event::Acknowledged {
                after: Duration::from_millis(150),
                again: Some(Duration::from_millis(50)),
            },
        ),
        (150.0, received(500)),
        (150.0, Event::FirstByte),
        (150.0, Event::Finished),
    ]);
    (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
    let phases = e.phases();
    let wait = phases
        .iter()
        .find(|p| p.name == PhaseName::FirstByte)
        .unwrap()
        .waited;
    assert!((wait.loss - 100.0).abs() < 1.0, "{wait:?}");
    assert!((wait.network - 50.0).abs() < 1.0, "{wait:?}");
}

fn failed(events: &[(f64, Event)], rtt: Option<f64>) -> Waited {
    let mut e = exchange(events);
    (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
    e.rtt = rtt.map(|rtt| Duration::from_secs_f64(rtt / 1e3));
    e.failure = Some(crate::Failure {
        kind: crate::FailureKind::Timeout,
        phase: PhaseName::Quic,
        message: String::new(),
        advice: String::new(),
    });
    e.phases().last().unwrap().waited
}

/// The datagrams were sent again and again, and lost each time.
#[test]
fn datagrams_that_nobody_answers_are_lost() {
    let waited = failed(
        &[
            (0.0, Event::AttemptStarted { peer: peer() }),
            (0.0, Event::HandshakeStarted),
            (0.5, sent(1200)),
            (1000.5, sent(1200)),
            (3000.0, Event::Finished),
        ],
        None,
    );
    assert!(waited.network < 1.0 && waited.loss > 2_990.0, "{waited:?}");
}

#[test]
fn a_request_over_quic_without_an_answer_was_lost_unless_it_was_acknowledged() {
    let asked = |acknowledged: bool| {
        let mut events = vec![
            (0.0, Event::RequestStarted),
            (0.0, sent(300)),
            (0.0, Event::RequestSent),
            (2_000.0, Event::Finished),
        ];
        if acknowledged {
            let after = Duration::from_millis(R as u64);
            events.push((R, Event::Acknowledged { after, again: None }));
        }
        failed(&events, Some(R))
    };
    assert!(asked(false).server < 1.0, "{:?}", asked(false));
    assert!(asked(true).loss < 1.0, "{:?}", asked(true));
}

/// A probe for larger datagrams came before the answer, which the sender began with small ones: ten
/// of them filled its first window.
#[test]
fn datagrams_that_recur_are_full() {
    let doubtful = |last: u64| {
        let mut events = vec![
            (0.0, Event::RequestStarted),
            (0.0, Event::RequestSent),
            (R, received(1_472)),
            (R, Event::FirstByte),
        ];
        events.extend((0..9).map(|n| (R + 0.1 * f64::from(n), received(1_200))));
        events.push((R + 1.0, received(last)));
        events.push((5.0 * R, received(1_472)));
        events.push((5.0 * R + 1.0, received(1_472)));
        events.push((5.0 * R + 1.0, Event::Finished));
        let mut e = exchange(&events);
        (e.tcp, e.quic) = (None, Some(QuicFacts::default()));
        let pauses = bodies::on_a_steady_path(&e).transfer().unwrap().pauses;
        pauses.first().map(|pause| pause.doubtful)
    };
    assert_eq!((doubtful(1_200), doubtful(700)), (Some(true), Some(false)));
}
