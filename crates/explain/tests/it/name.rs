//! Names.

use std::time::Duration;

use roundtrip_model::{Answer, Event, Moment, NameFacts};

use crate::story::{Story, assert_only, assert_silent};

fn looked_up(answer: Answer, ms: f64) -> Story {
    Story::new().looked_up(answer, ms)
}

fn finish(story: Story) -> roundtrip_model::Exchange {
    story.connected(0.0).tls13().asked().told(0.5).end()
}

fn server() -> Answer {
    Answer::Server(([192, 0, 2, 53], 53).into())
}

#[test]
fn a_slow_lookup_is_named_and_a_quick_or_unasked_one_is_not() {
    let found = assert_only(
        &finish(looked_up(server(), 80.0)),
        "slow-name-lookup",
        80.0,
        0,
    );
    assert!(found.evidence.contains("192.0.2.53"), "{}", found.evidence);
    assert_silent(&finish(looked_up(server(), 4.0)));
    assert_silent(&finish(looked_up(Answer::Hosts, 80.0)));
}

/// The answer was there after 4 ms, but the client did not run.
#[test]
fn an_answer_that_was_read_late_is_not_the_name_server_s() {
    let mut story = looked_up(server(), 80.0);
    let starved = Event::Starved {
        took: Duration::from_millis(76),
        throttled: false,
    };
    story.e.timeline.push(Moment::from_millis(80.0), starved);
    assert_only(&finish(story), "client-starved", 76.0, 0);
}

#[test]
fn an_unanswered_question_is_told_from_a_slow_answer() {
    let mut lost = looked_up(server(), 5_020.0);
    let name = lost.e.name.as_mut().unwrap();
    (name.resent, name.waits.unheard) = (1, 1);
    assert_only(&finish(lost), "dns-query-unanswered", 5_020.0, 0);
    assert_only(
        &finish(looked_up(server(), 5_020.0)),
        "slow-name-lookup",
        5_020.0,
        0,
    );
    // A server that refuses at once makes the client ask the next one at once.
    let mut refused = looked_up(server(), 3.0);
    refused.e.name.as_mut().unwrap().resent = 1;
    assert_silent(&finish(refused));
}

/// A name server that cannot reach others reports its failure after seconds; then the next is
/// asked.
#[test]
fn a_failure_that_comes_late_is_an_answer() {
    let mut failed = looked_up(server(), 2_040.0);
    failed.e.name.as_mut().unwrap().resent = 1;
    let found = assert_only(&finish(failed), "slow-name-lookup", 2_040.0, 0);
    assert!(found.evidence.contains("failure"), "{}", found.evidence);
}

/// A lookup of 200 ms; `change` describes one part of it.
fn partly(change: impl FnOnce(&mut NameFacts)) -> roundtrip_model::Exchange {
    let mut story = looked_up(server(), 200.0);
    change(story.e.name.as_mut().unwrap());
    finish(story)
}

fn told(e: &roundtrip_model::Exchange) -> Vec<(&'static str, u32)> {
    let found = roundtrip_explain::findings(e);
    found.iter().map(|f| (f.id, f.ms.round() as u32)).collect()
}

#[test]
fn additional_waits_of_a_lookup_are_named() {
    let ms = Duration::from_millis;
    let e = partly(|name| {
        name.waits.in_vain = vec!["shop.example.lan".into()];
        name.waits.suffixes = ms(150);
    });
    assert_eq!(told(&e), [("search-list", 150), ("slow-name-lookup", 50)]);
    let e = partly(|name| name.waits.over_tcp = ms(120));
    assert_eq!(told(&e), [("dns-over-tcp", 120), ("slow-name-lookup", 80)]);
    let e = partly(|name| name.waits.https_record = ms(199));
    assert_eq!(told(&e), [("https-record-late", 199)]);
    let e = partly(|name| {
        name.answer = Answer::Doh("https://resolver.example/".into());
        name.waits.opening = ms(160);
    });
    assert_eq!(
        told(&e),
        [("doh-connection", 160), ("slow-name-lookup", 40)]
    );
}

/// A resolver that had to follow the aliases knows them when it is asked again; one that is far
/// away needs as long again.
#[test]
fn aliases_cost_what_a_repeated_lookup_saves() {
    let found = |aliases: usize, again: Option<u64>| {
        told(&partly(|name| {
            name.aliases = vec!["x".into(); aliases];
            name.waits.again = again.map(Duration::from_millis);
        }))
    };
    let parts = [("alias-chain", 170), ("slow-name-lookup", 30)];
    assert_eq!(found(3, Some(30)), parts);
    for (aliases, again) in [(3, Some(199)), (3, Some(260)), (3, None), (2, Some(30))] {
        assert_eq!(found(aliases, again), [("slow-name-lookup", 200)]);
    }
}

#[test]
fn a_query_for_one_record_type_that_got_no_answer() {
    let mut story = looked_up(server(), 5_010.0);
    let name = story.e.name.as_mut().unwrap();
    (name.resent, name.waits.unheard) = (1, 1);
    (name.waits.unanswered, name.waits.half) = (Some("AAAA"), Duration::from_millis(5_005));
    let found = assert_only(&finish(story), "dns-one-family-unanswered", 5_005.0, 0);
    assert!(
        found.evidence.contains("the AAAA query"),
        "{}",
        found.evidence
    );
}
