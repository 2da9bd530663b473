//! Losses on a slow line, and senders with a clock.

use super::bodies::{MSS, body, in_clear_text};
use super::*;

/// Segments that a line of 3 Mbit/s separates. One of them is lost: 30 later ones can be read only
/// with its copy, after `hole` ms.
fn with_a_loss(hole: f64) -> Exchange {
    let mut events = vec![(0.0, Event::RequestStarted), (0.0, Event::RequestSent)];
    let mut at = R;
    events.extend([(at, received(MSS)), (at, Event::FirstByte)]);
    for _ in 0..40 {
        at += 4.0;
        events.push((at, received(MSS)));
    }
    at += hole;
    let late = Duration::from_secs_f64((hole - 4.0) / 1e3);
    events.push((at, Event::Overtaken { segments: 30, late }));
    events.push((at, received(31 * MSS)));
    for _ in 0..40 {
        at += 4.0;
        events.push((at, received(MSS)));
    }
    events.push((at, Event::Finished));
    let mut e = exchange(&events);
    in_clear_text(&mut e);
    e
}

/// In one case the line was busy all the time, so the loss cost nothing; in the other it was idle
/// for the rest of the time, as after a timeout.
#[test]
fn a_line_that_goes_on_behind_a_lost_segment_loses_no_time() {
    for (hole, lost) in [(31.0 * 4.0, 0.0), (31.0 * 4.0 + 200.0, 200.0)] {
        let e = with_a_loss(hole);
        let (body, transfer) = (body(&e), e.transfer().unwrap());
        assert!((body.waited.loss - lost).abs() < 15.0, "{hole}: {body:?}");
        assert!(transfer.recovery < 1.0, "{hole}: {transfer:?}");
        let (_, took) = transfer.steady;
        assert!((took - 111.0 * 4.0).abs() < 20.0, "{hole}: {took}");
    }
}

/// A server writes a small piece every 10 ms. The only sample of the path is so late that any one
/// of these pauses might be due to the path.
#[test]
fn pieces_at_equal_distances_are_the_sender_s() {
    let paused = |irregular: f64| {
        let mut parts = vec![(0.0, 0)];
        parts.extend((1..30).map(|n| (10.0 * f64::from(n) + irregular * f64::from(7 * n % 11), 0)));
        let mut e = super::bodies::answer(&parts);
        in_clear_text(&mut e);
        let at = |ms: f64| Moment::from_millis(ms);
        for (when, _) in &parts {
            e.timeline.push(at(R + when), received(1_000));
            super::bodies::flight_ended(&mut e, *when, 1, 1_000, false);
        }
        e.rtt = Some(Duration::from_millis(10));
        let tcp = e.tcp.as_mut().unwrap();
        tcp.handshake_rtt = Some(Duration::from_micros(10_700));
        e.transfer().unwrap().pauses.len()
    };
    assert_eq!(paused(0.05), 29);
    assert_eq!(paused(0.6), 0);
}
