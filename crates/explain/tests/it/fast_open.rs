//! TCP fast open.

use roundtrip_model::{Answer, Exchange};

use crate::story::{R, Story, assert_only, assert_silent, ids, tls};

/// A TLS 1.3 exchange whose first flight of `sent` bytes left in the SYN; `acked` of them are
/// acknowledged after `wait` ms.
fn opened(sent: u64, acked: u64, wait: f64, syn_retransmits: u32) -> Exchange {
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .deferred()
        .event(roundtrip_model::Event::HandshakeStarted)
        .syn_acked(sent, acked, wait);
    story.e.tcp.as_mut().unwrap().syn_retransmits = syn_retransmits;
    let more = if acked == sent { 0.3 } else { R };
    story
        .pass(more)
        .received(3_000)
        .shook_hands(tls("TLSv1.3", 3_000))
        .asked()
        .told(0.3)
        .end()
}

#[test]
fn fast_open_that_works_is_not_a_finding() {
    assert_silent(&opened(520, 520, R, 0));
}

#[test]
fn without_a_cookie() {
    let without = |asked| {
        let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
        story.e.tcp.as_mut().unwrap().fast_open.asked = asked;
        story.tls13().asked().told(0.3).end()
    };
    let first = assert_only(&without(true), "fast-open-no-cookie", R, 1);
    assert!(first.evidence.contains("was cached"), "{}", first.evidence);
    assert_silent(&without(false));
    // A server that gives no cookie and a box that strips the option look alike, so both are named.
    let later: [fn(&mut Exchange); 2] = [|e| e.primed = true, |e| e.run = 1];
    for change in later {
        let mut again = without(true);
        change(&mut again);
        let told = assert_only(&again, "fast-open-no-cookie", R, 1).evidence;
        for culprit in ["the server issues none", "a middlebox strips"] {
            assert!(told.contains(culprit), "{told}");
        }
    }
}

#[test]
fn data_that_was_never_acknowledged() {
    assert_only(&opened(520, 0, R, 0), "fast-open-data-ignored", R, 1);
    // The kernel sends the data again, which is not a loss: a delay after that belongs to the
    // server.
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .deferred()
        .event(roundtrip_model::Event::RequestStarted)
        .syn_acked(120, 0, R);
    story.e.tcp.as_mut().unwrap().retransmits = 1;
    story.e.http = Some(roundtrip_model::HttpFacts::default());
    let e = story.told(300.0).end();
    assert_eq!(ids(&e), ["server-think-time", "fast-open-data-ignored"]);
}

#[test]
fn a_syn_with_data_that_a_box_dropped() {
    assert_only(
        &opened(520, 0, 1_000.0 + R, 1),
        "fast-open-syn-dropped",
        1_000.0,
        0,
    );
}

#[test]
fn a_flight_that_has_no_room_in_the_syn() {
    let found = assert_only(
        &opened(1_750, 1_420, R, 0),
        "fast-open-flight-too-large",
        R,
        1,
    );
    assert!(
        found.evidence.contains("1420") && found.evidence.contains("1750"),
        "{}",
        found.evidence
    );
}

#[test]
fn a_first_flight_in_two_writes() {
    let opened = |second: Option<u64>| {
        let mut story = Story::new()
            .looked_up(Answer::Hosts, 0.1)
            .deferred()
            .event(roundtrip_model::Event::HandshakeStarted)
            .sent(520);
        if let Some(bytes) = second {
            story = story.pass(0.2).sent(bytes);
        }
        let facts = &mut story.e.tcp.as_mut().unwrap().fast_open;
        (facts.data_sent, facts.data_acked) = (520, 520);
        story
            .pass(R)
            .event(roundtrip_model::Event::SynAcked {
                data_sent: 520,
                data_acked: 520,
            })
            .received(3_000)
            .shook_hands(tls("TLSv1.3", 3_000))
            .asked()
            .told(0.3)
            .end()
    };
    assert_only(&opened(Some(300)), "fast-open-second-write", R, 1);
    assert_silent(&opened(None));
}
