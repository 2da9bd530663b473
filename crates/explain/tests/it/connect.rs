//! Addresses and TCP.

use roundtrip_model::{Answer, AttemptOutcome, Event, Exchange};

use crate::story::{Story, assert_only, assert_silent, ids, v6};

/// IPv6 is tried first; IPv4 is tried `later` ms after it and succeeds.
fn fallback(later: f64, outcome: AttemptOutcome) -> Story {
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .event(Event::AttemptStarted { peer: v6() });
    let began = story.now;
    story = story.pass(later);
    story.attempt(v6(), began, outcome);
    story.connected(0.0)
}

fn finish(story: Story) -> Exchange {
    story.tls13().asked().told(0.5).end()
}

#[test]
fn an_address_that_does_not_answer_costs_the_head_start() {
    let e = finish(fallback(250.0, AttemptOutcome::Abandoned));
    let found = assert_only(&e, "dead-address", 250.0, 0);
    assert!(found.evidence.contains("2001:db8::7"), "{}", found.evidence);
    let e = finish(fallback(
        100.0,
        AttemptOutcome::Failed("connection refused".into()),
    ));
    assert_only(&e, "address-refused", 100.0, 1);
}

#[test]
fn an_address_that_lost_the_race_cost_nothing() {
    let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(200.0);
    story.attempt(v6(), 260.0, AttemptOutcome::Abandoned);
    story.e.rtt = Some(std::time::Duration::from_millis(300));
    story.r = 300.0;
    assert_silent(&finish(story));
    // This host itself refused at once: unreachable.
    assert_silent(&finish(fallback(
        0.1,
        AttemptOutcome::Failed("unreachable".into()),
    )));
}

#[test]
fn a_first_packet_that_was_late_by_itself() {
    let late = |ms| finish(Story::new().looked_up(Answer::Hosts, 0.1).connected(ms));
    let found = assert_only(&late(300.0), "slow-first-packet", 300.0, 0);
    assert!(found.evidence.contains("400.0 ms"), "{}", found.evidence);
    assert_silent(&late(30.0));
}

#[test]
fn if_all_answers_are_late_the_first_is_not_an_exception() {
    let mut story = Story::new().looked_up(Answer::Hosts, 0.1).connected(45.0);
    story = story.asked().pass(100.0 + 20.0);
    story.r = 0.0;
    let found = ids(&story.told(0.0).end());
    assert!(!found.contains(&"slow-first-packet"), "{found:?}");
}

#[test]
fn a_lost_syn_costs_its_timeout() {
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(1_000.0);
    story.e.tcp.as_mut().unwrap().syn_retransmits = 1;
    assert_only(&finish(story), "syn-lost", 1_000.0, 0);
    let clean = Story::new().looked_up(Answer::Hosts, 0.1).connected(0.0);
    assert_silent(&finish(clean));
}

/// A queue delayed the SYN by more than a second. The SYN-ACK came sooner after the second one than
/// any packet can cross the path.
#[test]
fn a_syn_that_was_only_late_was_not_lost() {
    let sent_twice = |late: f64| {
        let story = Story::over(400.0).looked_up(Answer::Hosts, 0.1);
        let mut story = story.connected(late);
        story.e.tcp.as_mut().unwrap().syn_retransmits = 1;
        ids(&finish(story))
    };
    assert_eq!(sent_twice(1_000.0), ["syn-lost"]);
    assert!(!sent_twice(850.0).contains(&"syn-lost"));
}

#[test]
fn a_dead_address_and_a_lost_syn_share_the_wait() {
    let mut story = fallback(250.0, AttemptOutcome::Abandoned);
    let e = {
        story.e.tcp.as_mut().unwrap().syn_retransmits = 1;
        finish(story)
    };
    // The winner's SYN was not late: only the kernel's counter shows that it was lost.
    assert_eq!(ids(&e), ["dead-address"]);
    let mut story = Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .event(Event::AttemptStarted { peer: v6() })
        .pass(250.0);
    story.attempt(v6(), 0.1, AttemptOutcome::Abandoned);
    let mut story = story.connected(1_000.0);
    story.e.tcp.as_mut().unwrap().syn_retransmits = 1;
    let found = roundtrip_explain::findings(&finish(story));
    let told: Vec<(&str, u32)> = found.iter().map(|f| (f.id, f.ms.round() as u32)).collect();
    assert_eq!(told, [("syn-lost", 1_000), ("dead-address", 250)]);
}

#[test]
fn a_connection_that_was_open_paid_for_none_of_it() {
    let mut story = Story::new();
    story.e.reused = true;
    let mut tcp = crate::story::tcp();
    (tcp.syn_retransmits, tcp.retransmits) = (1, 3);
    story.e.tcp = Some(tcp);
    let mut tls = crate::story::tls("TLSv1.2", 30_000);
    tls.hello_retry = true;
    story.e.tls = Some(tls);
    assert_silent(&story.asked().told(0.5).end());
}

#[test]
fn an_address_that_was_asked_once_may_have_lost_one_packet() {
    let doubted = |patience: f64| {
        let story = fallback(patience, AttemptOutcome::Abandoned);
        let found = roundtrip_explain::findings(&finish(story)).remove(0);
        assert_eq!(found.id, "dead-address");
        found.evidence.contains("tried once")
    };
    assert!(doubted(250.0));
    // By then the kernel has asked again.
    assert!(!doubted(1_500.0));
}
