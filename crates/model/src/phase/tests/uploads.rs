//! What the client waited for while its request left.

use super::*;

const MSS: u64 = 1448;

/// Returns the wait of the first phase of a request of twenty segments, whose parts leave at these
/// times.
fn left(parts: &[(f64, u64)], more: &[(f64, Event)]) -> (u32, f64, f64) {
    let mut events = vec![(0.0, Event::RequestStarted)];
    events.extend(parts.iter().map(|(at, segments)| {
        let bytes = segments * MSS;
        (*at, Event::Sent { bytes })
    }));
    events.extend(more.iter().cloned());
    let last = parts.last().map_or(0.0, |(at, _)| *at);
    events.push((last, Event::RequestSent));
    events.push((last + R, Event::Received { bytes: 200 }));
    events.push((last + R, Event::FirstByte));
    events.push((last + R, Event::Finished));
    let mut e = exchange(&events);
    e.http = Some(HttpFacts {
        status: 200,
        request_bytes: 100,
        uploaded: 20 * MSS - 100,
        ..HttpFacts::default()
    });
    let phases = e.phases();
    let named = |p: &&Phase| p.name == PhaseName::Request;
    let request = phases.iter().find(named).unwrap();
    let waited = request.waited;
    (request.round_trips, waited.network, waited.client)
}

/// A client that writes the head, and thinks before it writes the body, could have sent it.
#[test]
fn a_pause_before_the_window_is_full_is_the_client_s() {
    let late = 3.0 * R;
    assert_eq!(
        left(&[(0.0, 1), (late, 9), (late + R, 10)], &[]),
        (1, R, late)
    );
    assert_eq!(left(&[(0.0, 10), (R, 10)], &[]), (1, R, 0.0));
    // The bytes that it received may be what it waited for.
    let allowed = (R / 2.0, Event::Received { bytes: 30 });
    assert_eq!(
        left(&[(0.0, 1), (R, 9), (2.0 * R, 10)], &[allowed]),
        (2, 2.0 * R, 0.0)
    );
}
