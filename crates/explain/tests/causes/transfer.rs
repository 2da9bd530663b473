//! Bytes under way.

use roundtrip_model::{Event, Exchange, HttpFacts};

use crate::story::{MSS, R, assert_only, assert_silent, secured};

/// A body that comes in flights of these many segments, each a round trip after the one before.
fn body(flights: &[u64], gap: f64) -> Exchange {
    let mut story = secured();
    story.e.http = Some(HttpFacts {
        status: 200,
        downloaded: flights.iter().sum::<u64>() * MSS,
        ..HttpFacts::default()
    });
    let mut story = story.asked().told(0.3);
    for (n, segments) in flights.iter().enumerate() {
        story = story
            .pass(if n == 0 { 0.1 } else { gap })
            .received(segments * MSS);
    }
    story.end()
}

#[test]
fn a_body_that_waits_for_the_window_to_grow() {
    assert_only(&body(&[10, 20, 39], R), "slow-start", 2.0 * R, 2);
    assert_silent(&body(&[6], R));
    // A fast line and a wide window: many segments, no pause.
    assert_silent(&body(&[10, 20, 39], 0.2));
}

#[test]
fn a_body_that_keeps_waiting_waits_for_something_else_too() {
    // Doubling needs two round trips more for sixty segments; who takes six is held back by another hand.
    let found = roundtrip_explain::findings(&body(&[10; 7], R));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id, found[0].round_trips), ("slow-start", 3));
}

#[test]
fn a_request_that_was_lost_is_no_thinking() {
    let told = |retransmits| {
        let mut story = secured();
        story.e.tcp.as_mut().unwrap().retransmits = retransmits;
        story.asked().told(305.0).end()
    };
    assert_only(&told(1), "segment-lost", 305.0, 0);
    assert_only(&told(0), "server-think-time", 305.0, 0);
}

#[test]
fn a_small_segment_that_was_held_back() {
    let paused = |gap: f64, bytes: u64| {
        let mut story = secured().asked().told(0.3);
        story.e.http.as_mut().unwrap().downloaded = bytes;
        story.pass(gap).received(bytes).end()
    };
    let found = assert_only(&paused(R + 41.0, 300), "nagle-delayed-ack", R + 41.0, 0);
    assert!(found.evidence.contains("41 ms"), "{}", found.evidence);
    // Tickets came first, and the answer's head was held back.
    let behind = secured()
        .asked()
        .answered(0.3, 500)
        .pass(R + 41.0)
        .received(300);
    let mut behind = behind.event(Event::FirstByte);
    behind.e.http = Some(HttpFacts::default());
    assert_only(&behind.end(), "nagle-delayed-ack", R + 41.0, 0);
    // A server that pauses for as long, or for a round trip, has another reason.
    assert_silent(&paused(41.0, 300));
    assert_silent(&paused(R, 300));
    assert_silent(&paused(R + 90.0, 300));
}
