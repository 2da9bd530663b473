//! QUIC.

use std::time::Duration;

use roundtrip_model::{Answer, Attempt, AttemptOutcome, Event, Exchange, Moment, QuicFacts};

use crate::story::{R, Story, assert_only, assert_silent, ids, quic, tls, v4, v6};

fn finish(story: Story, chain: u64) -> Exchange {
    let mut facts = tls("TLSv1.3", 0);
    facts.chain.as_mut().unwrap().bytes_on_wire = chain;
    story.shook_hands(facts).asked().told(0.4).end()
}

/// QUIC is tried first, TCP `later` ms after it.
fn raced(later: f64, outcome: AttemptOutcome) -> Exchange {
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .pass(later)
        .connected(0.0)
        .tls13();
    story.e.attempts.insert(
        0,
        Attempt {
            peer: v4(),
            over_quic: true,
            began: Moment::from_millis(0.1),
            ended: Moment::from_millis(story.now),
            outcome,
        },
    );
    story.asked().told(0.3).end()
}

#[test]
fn udp_without_an_answer() {
    assert_only(
        &raced(300.0, AttemptOutcome::Abandoned),
        "udp-blocked",
        300.0,
        0,
    );
    assert_only(
        &raced(120.0, AttemptOutcome::Failed("no".into())),
        "quic-failed",
        120.0,
        0,
    );
    assert_silent(&finish(quic(R).answered(0.5, 3_000), 2_000));
}

#[test]
fn a_retry() {
    let mut story = quic(R)
        .answered(0.1, 120)
        .sent(1_200)
        .sent(1_200)
        .answered(0.3, 3_000);
    story.e.quic.as_mut().unwrap().retry = true;
    story.e.extra_trips = 1;
    assert_only(&finish(story, 2_000), "quic-retry", R, 1);
}

#[test]
fn version_negotiation() {
    let mut story = quic(R)
        .answered(0.1, 60)
        .sent(1_200)
        .sent(1_200)
        .answered(0.3, 3_000);
    story.e.quic.as_mut().unwrap().version_negotiation = true;
    story.e.extra_trips = 1;
    assert_only(&finish(story, 2_000), "quic-version-negotiation", R, 1);
}

#[test]
fn a_chain_over_the_amplification_limit() {
    let stalled = || quic(R).answered(0.4, 7_200).sent(80).answered(0.1, 2_000);
    assert_only(&finish(stalled(), 8_000), "quic-amplification-stall", R, 1);
    // With a small chain, nothing stalls for that reason.
    assert_silent(&finish(stalled(), 1_500));
    assert_silent(&finish(quic(R).answered(0.4, 7_000), 6_000));
}

#[test]
fn packets_sent_again_after_a_probe_timeout() {
    let lost = |r: f64| finish(quic(r).pass(999.0).sent(1_200).answered(0.4, 3_000), 2_000);
    assert_only(&lost(R), "quic-handshake-loss", 999.0, 0);
    // Where a round trip is longer than the timeout, a repeated packet was not lost.
    assert_silent(&lost(1_100.0));
}

#[test]
fn a_hello_retry_costs_quic_the_same() {
    let mut story = quic(R).answered(0.2, 120).sent(1_200).answered(0.2, 3_000);
    story.e.extra_trips = 1;
    let mut facts = tls("TLSv1.3", 0);
    (facts.hello_retry, facts.chain) = (true, None);
    let e = story.shook_hands(facts).asked().told(0.4).end();
    assert!(
        e.timeline
            .first(|e| *e == Event::HandshakeFinished)
            .is_some()
    );
    assert_only(&e, "hello-retry-request", R, 1);
}

/// The first of two datagrams is lost: the server acknowledges the other, and a timer shows the
/// loss. RFC 9002 §6.1.2.
fn half_a_hello(r: f64, chain: u64) -> Story {
    let mut story = quic(r)
        .answered(0.1, 52)
        .pass(r / 8.0)
        .sent(1_200)
        .answered(0.4, if chain > 6_000 { 7_200 } else { 3_000 });
    story.e.quic.as_mut().unwrap().lost_in_handshake = 1;
    if chain > 6_000 {
        story = story.sent(80).answered(0.1, 2_000);
    }
    story
}

/// A server acknowledges the first datagram and drops the second: a wasted round trip, then the
/// client's timer.
#[test]
fn a_round_trip_that_only_showed_half_a_hello_is_part_of_the_loss() {
    let mut story = quic(R).answered(0.1, 47).pass(200.0).sent(1_200);
    story = story.answered(0.4, 3_000);
    story.e.quic.as_mut().unwrap().lost_in_handshake = 1;
    let e = finish(story, 2_000);
    assert_only(&e, "quic-handshake-loss", 200.0 + R, 1);
}

#[test]
fn half_a_hello_that_is_lost() {
    for r in [0.5, 20.0, R] {
        let e = finish(half_a_hello(r, 2_000), 2_000);
        assert_only(&e, "quic-handshake-loss", 1.125 * r, 1);
    }
    let mut found = ids(&finish(half_a_hello(R, 8_000), 8_000));
    found.sort_unstable();
    assert_eq!(found, ["quic-amplification-stall", "quic-handshake-loss"]);
    // Later losses cost the handshake nothing.
    let mut later = quic(R).answered(0.4, 3_000);
    later.e.quic.as_mut().unwrap().lost_packets = 1;
    assert_silent(&finish(later, 2_000));
}

#[test]
fn a_chain_over_the_limit_shows_on_a_short_path_too() {
    let e = finish(
        quic(0.5)
            .answered(0.1, 7_200)
            .sent(80)
            .answered(0.1, 2_000)
            .sent(40)
            .answered(0.1, 60),
        8_000,
    );
    assert_only(&e, "quic-amplification-stall", 0.5, 1);
}

#[test]
fn an_address_that_is_given_up_for_the_next() {
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .event(Event::AttemptStarted { peer: v6() })
        .event(Event::HandshakeStarted)
        .sent(2_400)
        .pass(R)
        .received(52)
        .pass(250.0 - R)
        .event(Event::AttemptStarted { peer: v4() })
        .event(Event::HandshakeStarted)
        .sent(2_400)
        .answered(0.4, 3_000);
    story.e.quic = Some(QuicFacts::default());
    let outcomes = [AttemptOutcome::Abandoned, AttemptOutcome::Won];
    for (place, outcome) in outcomes.into_iter().enumerate() {
        let began = [0.1, 250.1][place];
        story.e.attempts.push(Attempt {
            peer: [v6(), v4()][place],
            over_quic: true,
            began: Moment::from_millis(began),
            ended: Moment::from_millis([250.1, story.now][place]),
            outcome,
        });
    }
    assert_only(&finish(story, 2_000), "dead-address", 250.0, 0);
}

/// The answer comes `late` ms after a round trip, with this evidence.
fn answered_late(late: f64, evidence: Event) -> Exchange {
    let mut facts = tls("TLSv1.3", 0);
    facts.chain.as_mut().unwrap().bytes_on_wire = 2_000;
    quic(R)
        .answered(0.5, 3_000)
        .shook_hands(facts)
        .asked()
        .pass(R + late)
        .event(evidence)
        .received(1_000)
        .event(Event::FirstByte)
        .end()
}

#[test]
fn losses_of_either_side() {
    let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let overtaken = Event::Overtaken {
        segments: 3,
        late: ms(130.0),
    };
    assert_only(
        &answered_late(130.0, overtaken),
        "quic-response-loss",
        130.0,
        0,
    );
    let resent = Event::Resent {
        segments: 1,
        unacked: ms(R + 130.0),
    };
    assert_only(&answered_late(130.0, resent), "quic-request-loss", 130.0, 0);
    // A reordered datagram costs the time by which it was late, which is too little to be named.
    let reordered = Event::Overtaken {
        segments: 1,
        late: ms(2.0),
    };
    assert_silent(&answered_late(2.0, reordered));
}

/// The peer said that it had delayed its acknowledgement by 20 ms, which is not the path's time.
#[test]
fn an_acknowledgement_that_was_delayed_on_purpose_does_not_lower_the_server_s_part() {
    let story = quic(R)
        .answered(0.4, 3_000)
        .shook_hands(tls("TLSv1.3", 2_500));
    let mut story = story.asked().pass(R + 20.0).acknowledged(R).pass(130.0);
    story.r = 0.0;
    let mut story = story.received(800).event(Event::FirstByte);
    story.e.http = Some(roundtrip_model::HttpFacts::default());
    assert_only(&story.end(), "server-think-time", 150.0, 0);
}

/// Equal pauses before datagrams of `size` bytes.
fn dripped(r: f64, size: u64) -> Exchange {
    let story = quic(r).answered(0.4, 3_000);
    let mut story = story.shook_hands(tls("TLSv1.3", 2_500)).asked().told(0.3);
    for _ in 0..4 {
        story = story.pass(171.0).received(size);
    }
    story.end()
}

/// Each path of QUIC carries 1200 bytes, so that a sender with more fills them.
#[test]
fn equal_pauses_before_datagrams_that_are_not_full_are_the_server_s() {
    for r in [0.6, 20.0, R] {
        assert_only(&dripped(r, 1_037), "body-stalls", 4.0 * 171.0, 0);
    }
    assert_silent(&dripped(0.6, 1_200));
}

/// A single flight may have been lost by chance.
#[test]
fn udp_that_was_tried_once_may_not_be_blocked() {
    let mut e = raced(300.0, AttemptOutcome::Abandoned);
    e.attempts[0].ended = Moment::from_millis(550.0);
    let found = assert_only(&e, "udp-blocked", 300.0, 0);
    assert!(found.evidence.contains("ask again"), "{}", found.evidence);
    e.attempts[0].ended = Moment::from_millis(3_500.0);
    let found = assert_only(&e, "udp-blocked", 300.0, 0);
    assert!(!found.evidence.contains("ask again"), "{}", found.evidence);
}

/// The server acknowledges the request after `max_ack_delay`, and the client cannot subtract it.
#[test]
fn an_acknowledgement_over_quic_may_have_been_delayed() {
    let r = 36.0;
    let thinks = |acknowledged: f64| {
        let mut facts = tls("TLSv1.3", 0);
        facts.chain.as_mut().unwrap().bytes_on_wire = 2_000;
        let story = quic(r).answered(0.5, 3_000).shook_hands(facts);
        let story = story.asked().pass(r + acknowledged);
        let mut story = story
            .acknowledged(r + acknowledged)
            .pass(150.0 - acknowledged);
        story.r = 0.0;
        let found = roundtrip_explain::findings(&story.told(0.0).end()).into_iter();
        found
            .map(|f| (f.id, f.ms.round() as i32))
            .collect::<Vec<_>>()
    };
    assert_eq!(thinks(0.0), [("server-think-time", 150)]);
    assert_eq!(thinks(25.3), [("server-think-time", 150)]);
}
