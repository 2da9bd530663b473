//! The speed of the line as acknowledgements show it, and what the line carries.

use std::time::Duration;

use crate::{Event, Exchange, HttpFacts, Moment, PhaseName, TcpFacts};

const R: f64 = 20.0;
const MSS: u64 = 1428;

/// A hello of `hello` milliseconds and 1,700 bytes, and a request of `request` bytes that is
/// answered after `wait` milliseconds.
fn exchange(hello: f64, request: u64, wait: f64, tcp: TcpFacts) -> Exchange {
    let mut e = Exchange {
        rtt: Some(Duration::from_secs_f64(R / 1e3)),
        tcp: Some(TcpFacts {
            mss: MSS as u32,
            ..tcp
        }),
        http: Some(HttpFacts {
            status: 200,
            request_bytes: request,
            ..HttpFacts::default()
        }),
        ..Exchange::default()
    };
    for (at, event) in [
        (0.0, Event::HandshakeStarted),
        (0.0, Event::Sent { bytes: 1700 }),
        (hello, Event::Received { bytes: 1400 }),
        (hello, Event::HandshakeFinished),
        (hello, Event::RequestStarted),
        (hello, Event::Sent { bytes: request }),
        (hello, Event::RequestSent),
        (hello + wait, Event::Received { bytes: 200 }),
        (hello + wait, Event::FirstByte),
        (hello + wait, Event::Finished),
    ] {
        e.timeline.push(Moment::from_millis(at), event);
    }
    e
}

/// Returns the parts of the network, the server and the line in both waits, rounded.
fn waits(e: &Exchange) -> [(i32, i32, i32, u32); 2] {
    [PhaseName::Tls, PhaseName::FirstByte].map(|name| {
        let phases = e.phases();
        let phase = phases.iter().find(|p| p.name == name).unwrap();
        assert!((phase.waited.sum() - phase.ms()).abs() < 1e-6, "{phase:?}");
        let [network, server, carried] = [phase.waited.network, phase.waited.server, phase.carried]
            .map(|part| part.round() as i32);
        (network, server, carried, phase.round_trips)
    })
}

/// The data that left at this time is acknowledged `late` ms after a round trip.
fn acknowledge(e: &mut Exchange, left: f64, late: f64) {
    let after = Duration::from_secs_f64((R + late) / 1e3);
    let event = Event::Acknowledged { after, again: None };
    e.timeline.push(Moment::from_millis(left + R + late), event);
}

/// The rate as the kernel measures it: whole segments, from the first sent to the last
/// acknowledged.
fn limited_by_what_there_was(took: f64) -> TcpFacts {
    TcpFacts {
        delivery_rate: (2.0 * MSS as f64 / took * 1e3) as u64,
        delivery_app_limited: true,
        ..TcpFacts::default()
    }
}

#[test]
fn a_hello_of_two_segments_on_a_slow_line() {
    let slow = limited_by_what_there_was(R + 14.0);
    let mut e = exchange(R + 20.0, 300, R + 5.0, slow);
    // If 1,700 bytes take 14 ms, 300 take 2.5.
    acknowledge(&mut e, R + 20.0, 2.5);
    assert_eq!(waits(&e), [(34, 6, 14, 1), (23, 3, 2, 1)]);
    let quick = limited_by_what_there_was(R + 0.5);
    let e = exchange(R + 20.0, 100, R + 5.0, quick);
    assert_eq!(waits(&e), [(20, 20, 0, 1), (20, 5, 0, 1)]);
}

/// The kernel counted the request's two short segments as full ones, and its figure is that of
/// a line four times as fast.
#[test]
fn acknowledgements_show_a_line_that_the_kernel_s_figure_hides() {
    let carried = |late: [f64; 2]| {
        let hides = limited_by_what_there_was(R + 8.0);
        let mut e = exchange(R + 40.0, 150, R + 20.0, hides);
        acknowledge(&mut e, 0.0, 40.0);
        // A second short write left with the request.
        let at = Moment::from_millis(R + 40.2);
        e.timeline.push(at, Event::Sent { bytes: 100 });
        acknowledge(&mut e, R + 40.0, late[0]);
        acknowledge(&mut e, R + 40.2, late[1]);
        waits(&e)[0].2
    };
    assert_eq!(carried([4.5, 8.0]), 40);
    // Both are late by chance, or one of them is not late.
    assert_eq!(carried([9.0, 17.0]), 0);
    assert_eq!(carried([4.5, 0.1]), 0);
}

/// Two short writes are two segments. Each has headers, and those of IPv6 are larger.
#[test]
fn headers_of_short_writes_need_the_line_as_well() {
    let carried = |late: f64| {
        let hides = limited_by_what_there_was(R + 8.0);
        let mut e = exchange(R + 50.0, 126, R + 15.0, hides);
        if let Some(tcp) = &mut e.tcp {
            tcp.peer = Some("[2001:db8::7]:443".parse().unwrap());
        }
        // 1,700 bytes are 1,844 with headers, 126 are 198, and 126 and 107 are 377.
        acknowledge(&mut e, 0.0, 48.0);
        let at = Moment::from_millis(R + 50.3);
        e.timeline.push(at, Event::Sent { bytes: 107 });
        acknowledge(&mut e, R + 50.0, 5.2);
        acknowledge(&mut e, R + 50.3, late);
        waits(&e)[0].2
    };
    assert_eq!(carried(9.8), 48);
    assert_eq!(carried(16.0), 0);
}

#[test]
fn one_late_acknowledgement_is_a_path_that_varies() {
    // 300 bytes need 2.5 ms on such a line.
    for (late, carried) in [(2.5, 14), (9.0, 0), (0.2, 0)] {
        let mut e = exchange(R + 20.0, 300, R + 10.0, limited_by_what_there_was(R + 14.0));
        assert_eq!(waits(&e)[0].2, 0, "nothing confirms it");
        acknowledge(&mut e, R + 20.0, late);
        assert_eq!(waits(&e)[0].2, carried, "{late}");
    }
}

#[test]
fn a_hello_shows_how_long_a_large_request_may_take() {
    let carriage = |request: u64| {
        let mut e = exchange(R + 20.0, request, R + 140.0, TcpFacts::default());
        acknowledge(&mut e, 0.0, 4.0);
        e.carriage_of_request()
    };
    // 1,700 bytes are 1,804 with headers, and 8,200 are 8,512.
    assert!((carriage(8_200) - 18.9).abs() < 0.1, "{}", carriage(8_200));
    assert!(carriage(1_000) < 1e-9, "it is one segment");
}

/// A modem needed longer for the hello than the kernel's timer waits, so an unnecessary copy was
/// sent.
#[test]
fn a_line_is_slow_also_if_the_hello_was_sent_again() {
    let mut e = exchange(R + 400.0, 300, R, TcpFacts::default());
    let span = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let (after, again) = (span(R + 400.0), Some(span(R + 150.0)));
    let at = Moment::from_millis(R + 400.0);
    e.timeline.push(at, Event::Acknowledged { after, again });
    let slowest = super::slowest_ms_per_byte(&e, u64::MAX);
    assert!((slowest - 400.0 / 1804.0).abs() < 0.01, "{slowest}");
}

#[test]
fn a_client_that_pauses_between_two_writes_is_not_a_slow_line() {
    let mut e = exchange(R + 20.0, 100, R + 5.0, limited_by_what_there_was(2.0 * R));
    e.timeline = crate::Timeline::default();
    for (at, event) in [
        (0.0, Event::HandshakeStarted),
        (0.0, Event::Sent { bytes: 400 }),
        (10.0, Event::Sent { bytes: 1400 }),
        (R + 30.0, Event::Received { bytes: 1400 }),
        (R + 30.0, Event::HandshakeFinished),
        (R + 30.0, Event::Finished),
    ] {
        e.timeline.push(Moment::from_millis(at), event);
    }
    assert!(e.phases().iter().all(|p| p.carried < 1e-9), "{e:?}");
}

#[test]
fn a_request_that_the_line_takes_long_for() {
    let line = |rtt: f64, retransmits| TcpFacts {
        delivery_rate: 120_000,
        rtt: Some(Duration::from_secs_f64(rtt / 1e3)),
        retransmits,
        ..TcpFacts::default()
    };
    // The line needs 833 ms for 100 kB, and no window drains within a round trip; the server
    // thinks for 30 ms.
    let e = exchange(R + 20.0, 100_000, R + 863.0, line(400.0, 0));
    assert_eq!(waits(&e)[1], (853, 30, 833, 1));
    // Delays of fractions of a millisecond do not show a queue.
    let mut e = exchange(R, 20_000, R + 30.0, line(0.7, 0));
    e.rtt = Some(Duration::from_secs_f64(0.5 / 1e3));
    assert_eq!(waits(&e)[1].2, 0);
    // A rate without a queue is that of the window: the bytes that the window allows in each
    // round trip.
    let e = exchange(R, 20_000, R + 30.0, line(R, 0));
    assert_eq!(waits(&e)[1].2, 0);
}

/// The acknowledgement of a few bytes came with the answer, for which it may have waited.
#[test]
fn an_acknowledgement_that_came_with_data_shows_no_slow_line() {
    let carried = |ends: f64| {
        let mut e = exchange(R, 126, R + 50.0, TcpFacts::default());
        let left = R + R;
        e.timeline
            .push(Moment::from_millis(left), Event::Sent { bytes: 31 });
        acknowledge(&mut e, left, ends - R - left);
        e.carriage_of_answer(Moment::from_millis(R), Moment::from_millis(2.0 * R + 50.0))
    };
    let (together, alone) = (carried(2.0 * R + 50.0), carried(2.0 * R + 45.0));
    assert!(together < 5.0 && alone > 50.0, "{together} {alone}");
}

/// On a path without a measurable round trip, no upload waits for one.
#[test]
fn a_path_within_one_host_has_no_round_trips_to_count() {
    let mut e = exchange(0.1, 100_000, 0.1, limited_by_what_there_was(40.0));
    e.rtt = Some(Duration::ZERO);
    let at = Moment::from_millis(30.0);
    e.timeline.push(at, Event::Sent { bytes: 100_000 });
    e.timeline.push(at, Event::RequestSent);
    let phases = e.phases();
    assert!(phases.iter().all(|p| p.round_trips < 10), "{phases:?}");
}
