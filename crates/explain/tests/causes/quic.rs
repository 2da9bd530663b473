//! QUIC.

use roundtrip_model::{Answer, Attempt, AttemptOutcome, Event, Exchange, Moment};

use crate::story::{R, Story, assert_only, assert_silent, quic, tls, v4};

fn finish(story: Story, chain: u64) -> Exchange {
    let mut facts = tls("TLSv1.3", 0);
    facts.chain.as_mut().unwrap().bytes_on_wire = chain;
    story.shook_hands(facts).asked().told(0.4).end()
}

/// QUIC first, TCP `later` ms after it.
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
fn udp_that_nobody_answers() {
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
    // With a small chain nothing stalls for that reason.
    assert_silent(&finish(stalled(), 1_500));
    assert_silent(&finish(quic(R).answered(0.4, 7_000), 6_000));
}

#[test]
fn packets_sent_again_after_a_probe_timeout() {
    let lost = |r: f64| finish(quic(r).pass(999.0).sent(1_200).answered(0.4, 3_000), 2_000);
    assert_only(&lost(R), "quic-handshake-loss", 999.0, 0);
    // Where a round trip is longer than the time-out, a repeated packet was not lost.
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
