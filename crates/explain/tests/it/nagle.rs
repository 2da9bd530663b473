//! Small segments that wait for an acknowledgement.

use roundtrip_model::{Event, Exchange, HttpFacts};

use crate::story::{R, Story, assert_only, ids, secured};

#[test]
fn a_small_segment_that_was_held_back() {
    let paused = |gap: f64, delayed: bool| {
        let mut story = secured().asked().told(0.3);
        story.e.http.as_mut().unwrap().downloaded = 300;
        if delayed {
            story = story.event(Event::AckDelayed);
        }
        story.pass(gap).received(300).end()
    };
    let found = assert_only(&paused(R + 41.0, true), "nagle-delayed-ack", R + 41.0, 0);
    assert!(found.evidence.contains("41 ms"), "{}", found.evidence);
    // On a new connection the client acknowledges at once.
    let found = assert_only(&paused(R, false), "nagle-delayed-ack", R, 0);
    assert!(found.evidence.contains("at once"), "{}", found.evidence);
    // Tickets came first, and the answer's head was held back.
    let behind = secured().asked().answered(0.3, 500);
    let behind = behind.event(Event::AckDelayed).pass(R + 41.0).received(300);
    let mut behind = behind.event(Event::FirstByte);
    behind.e.http = Some(HttpFacts::default());
    assert_only(&behind.end(), "nagle-delayed-ack", R + 41.0, 0);
    // Two tickets that came at once show a server that holds no small segment back.
    let tickets = |segments| {
        let story = secured().asked().answered(0.3, 500);
        let story = story.event(Event::Paused {
            segments,
            bytes: 500,
            window: None,
        });
        let story = story.event(Event::AckDelayed).pass(R + 41.0).received(300);
        let mut story = story.event(Event::FirstByte);
        story.e.http = Some(HttpFacts::default());
        ids(&story.end())
    };
    assert_eq!(tickets(1), ["nagle-delayed-ack"]);
    assert!(!tickets(2).contains(&"nagle-delayed-ack"));
    // A server that pauses for any other time has another reason.
    for (gap, delayed) in [
        (41.0, false),
        (R + 41.0, false),
        (R, true),
        (R + 50.0, true),
        (R + 90.0, true),
    ] {
        assert!(
            !ids(&paused(gap, delayed)).contains(&"nagle-delayed-ack"),
            "{gap}"
        );
    }
}

/// HTTP/2 ends a body with a separate empty frame, and the acknowledgement left with the client's
/// own data.
#[test]
fn the_last_piece_of_a_body_may_have_been_held_back() {
    let ended = |gap: f64, client_sends: bool| -> Exchange {
        let story: Story = secured().asked().answered(0.3, 105);
        let mut story = story.pass(30.0).received(700).event(Event::FirstByte);
        story.e.http = Some(HttpFacts::default());
        story = story.event(Event::AckDelayed);
        if client_sends {
            story = story.pass(3.0).sent(31);
        }
        story.pass(gap).received(31).end()
    };
    let first = |gap: f64, client_sends| ids(&ended(gap, client_sends)).first().copied();
    assert_eq!(first(R, true), Some("nagle-delayed-ack"));
    assert_eq!(first(R + 41.0, false), Some("nagle-delayed-ack"));
    for (gap, client_sends) in [(R + 41.0, true), (R, false)] {
        assert!(
            !ids(&ended(gap, client_sends)).contains(&"nagle-delayed-ack"),
            "{gap}"
        );
    }
}
