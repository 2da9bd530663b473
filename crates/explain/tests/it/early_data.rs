//! Early data.

use roundtrip_model::{EarlyData, Event, Exchange, HttpFacts, TlsFacts};

use crate::story::{R, Story, assert_only, assert_silent, ids, secured, tls};

fn resumed(early_data: EarlyData) -> TlsFacts {
    TlsFacts {
        resumed: true,
        early_data,
        chain: None,
        ..tls("TLSv1.3", 400)
    }
}

fn begun() -> Story {
    Story::new()
        .looked_up(roundtrip_model::Answer::Hosts, 0.1)
        .connected(0.0)
        .event(Event::HandshakeStarted)
        .event(Event::RequestStarted)
        .sent(900)
        .event(Event::RequestSent)
}

fn refused() -> Exchange {
    begun()
        .answered(0.3, 400)
        .shook_hands(resumed(EarlyData::Refused))
        .event(Event::EarlyDataRefused)
        .sent(120)
        .told(0.3)
        .end()
}

fn accepted(status: u16) -> Exchange {
    let mut story = begun();
    story.e.http = Some(HttpFacts {
        version: "1.1".into(),
        status,
        ..HttpFacts::default()
    });
    story
        .told(0.3)
        .shook_hands(resumed(EarlyData::Accepted))
        .end()
}

#[test]
fn refused_early_data_costs_the_handshake_after_all() {
    let found = assert_only(&refused(), "early-data-refused", R, 1);
    assert!(
        found.evidence.contains("itself was accepted"),
        "{}",
        found.evidence
    );
    assert_silent(&accepted(200));
}

#[test]
fn an_answer_of_425_is_a_round_trip_for_nothing() {
    assert_only(&accepted(425), "too-early", R, 1);
    // Without early data, the same status is the server's own decision.
    let mut plain = secured();
    plain.e.http = Some(HttpFacts {
        status: 425,
        ..HttpFacts::default()
    });
    assert_eq!(ids(&plain.asked().told(0.3).end()), Vec::<&str>::new());
}

#[test]
fn a_hello_retry_and_the_refusal_it_brings_cost_one_round_trip_each() {
    let mut facts = resumed(EarlyData::Refused);
    facts.hello_retry = true;
    let e = begun()
        .answered(0.3, 100)
        .sent(600)
        .answered(0.3, 400)
        .shook_hands(facts)
        .event(Event::EarlyDataRefused)
        .sent(120)
        .told(0.3)
        .end();
    let mut found = ids(&e);
    found.sort_unstable();
    assert_eq!(found, ["early-data-refused", "hello-retry-request"]);
}
