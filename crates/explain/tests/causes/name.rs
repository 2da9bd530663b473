//! Names.

use roundtrip_model::Answer;

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

#[test]
fn an_unanswered_question_is_told_from_a_slow_answer() {
    let mut lost = looked_up(server(), 5_020.0);
    lost.e.name.as_mut().unwrap().resent = 1;
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
