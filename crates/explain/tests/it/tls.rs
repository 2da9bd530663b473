//! TLS over TCP.

use roundtrip_model::{Answer, Exchange, Memory, Task, TlsFacts};

use crate::story::{MSS, R, Story, assert_only, assert_silent, ids, tls};

fn greeted() -> Story {
    Story::new()
        .looked_up(Answer::Hosts, 0.1)
        .connected(0.0)
        .hello()
}

fn finish(story: Story, facts: TlsFacts) -> Exchange {
    story.shook_hands(facts).asked().told(0.4).end()
}

#[test]
fn a_hello_retry_request() {
    let retried = |hello_retry| {
        let facts = TlsFacts {
            hello_retry,
            ..tls("TLSv1.3", 3_100)
        };
        let story = if hello_retry {
            greeted().answered(0.2, 100).sent(600)
        } else {
            greeted()
        };
        finish(story.answered(0.5, 3_000), facts)
    };
    let found = assert_only(&retried(true), "hello-retry-request", R, 1);
    let advice = found.advice();
    assert!(advice.contains("ssl_ecdh_curve"), "{advice}");
    assert_silent(&retried(false));
}

#[test]
fn a_full_handshake_of_tls_1_2() {
    let full = greeted().answered(0.4, 3_000).sent(300).answered(0.2, 300);
    assert_only(
        &finish(full, tls("TLSv1.2", 3_300)),
        "tls12-full-handshake",
        R,
        1,
    );
    let resumed = TlsFacts {
        resumed: true,
        ..tls("TLSv1.2", 300)
    };
    assert_silent(&finish(greeted().answered(0.2, 300), resumed));
}

#[test]
fn certificates_over_the_first_window() {
    let window = 10 * MSS;
    let over = greeted().answered(0.3, window).pass(R).received(9_000);
    let found = assert_only(
        &finish(over, tls("TLSv1.3", window + 9_000)),
        "server-flight-over-window",
        R,
        1,
    );
    assert!(
        found.evidence.contains(&window.to_string()),
        "{}",
        found.evidence
    );
    // A larger window took them at once.
    let at_once = greeted().answered(0.3, window).received(9_000);
    assert_silent(&finish(at_once, tls("TLSv1.3", window + 9_000)));
    // A pause after a small flight has another reason.
    let paused = greeted().answered(0.3, 2_000).pass(R).received(2_000);
    assert_eq!(
        ids(&finish(paused, tls("TLSv1.3", 4_000))),
        Vec::<&str>::new()
    );
}

#[test]
fn two_detours_of_one_handshake_are_two_findings() {
    let window = 10 * MSS;
    let story = greeted()
        .answered(0.3, window)
        .pass(R)
        .received(9_000)
        .sent(300)
        .answered(0.2, 300);
    let e = finish(story, tls("TLSv1.2", window + 9_300));
    let mut found = ids(&e);
    found.sort_unstable();
    assert_eq!(found, ["server-flight-over-window", "tls12-full-handshake"]);
}

#[test]
fn a_server_that_is_slow_to_answer_the_hello() {
    let greeted = |late| finish(greeted().answered(late, 3_000), tls("TLSv1.3", 3_000));
    assert_only(&greeted(80.0), "slow-tls-server", 80.0, 0);
    assert_silent(&greeted(6.0));
}

/// Accepted and refused tickets show in the facts, each with its cost.
#[test]
fn tickets_without_effect() {
    let full = |version: &str, shown, primed| {
        let mut story = greeted().answered(0.4, 3_000);
        if version == "TLSv1.2" {
            story = story.sent(300).answered(0.2, 300);
        }
        story.e.asked.memory = Memory::Resume;
        story.e.primed = primed;
        let facts = TlsFacts {
            ticket_shown: shown,
            ..tls(version, 3_000)
        };
        finish(story.worked(Task::Verify, 8.0), facts)
    };
    assert_only(&full("TLSv1.2", true, true), "ticket-refused", R + 8.0, 1);
    assert_only(&full("TLSv1.2", false, true), "no-ticket", R + 8.0, 1);
    assert_only(&full("TLSv1.3", true, true), "ticket-refused", 8.0, 0);
    // No earlier connection could have left a ticket.
    assert_only(&full("TLSv1.2", false, false), "tls12-full-handshake", R, 1);
    assert_silent(&full("TLSv1.3", false, false));
}

#[test]
fn a_silence_without_a_cause_is_placed_by_the_bytes_before_it() {
    let story = crate::story::Story::over(0.0).looked_up(Answer::Hosts, 0.1);
    let story = story.connected(0.0).hello().pass(1.0).received(500);
    let story = story.pass(7.0).received(300).pass(60.0).received(2_500);
    let e = story
        .shook_hands(tls("TLSv1.3", 3_300))
        .asked()
        .told(1.0)
        .end();
    let account = roundtrip_explain::account(&e);
    assert!(account.unexplained > 60.0, "{account:?}");
    let place = account.unexplained_at[0];
    assert_eq!(
        (place.phase, place.after_bytes),
        (roundtrip_model::PhaseName::Tls, Some(800))
    );
}

/// On a line of 30 kbit/s each way, the hello needs 420 ms, and the server's flight 220.
#[test]
fn a_flight_over_a_slow_line_is_not_a_slow_server() {
    let flight = |late: f64| {
        let story = greeted().pass(R + late).acknowledged(R + late);
        let story = story.pass(220.0).received(1_316);
        ids(&finish(story, tls("TLSv1.3", 1_316)))
    };
    assert!(!flight(420.0).contains(&"slow-tls-server"));
    assert!(flight(0.0).contains(&"slow-tls-server"));
}
