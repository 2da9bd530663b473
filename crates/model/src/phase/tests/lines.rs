//! Losses on a slow line.

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

/// The line was busy all the time, so the loss cost nothing; or it was idle for the rest of the
/// time, as after a timeout.
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
