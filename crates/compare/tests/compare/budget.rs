//! `compare` sends no more requests than were allowed, and none that the user did not want.

use std::time::Duration;

use roundtrip_compare::{CompareError, EndReason};
use roundtrip_origin::{EarlyData, Knobs};

use crate::scene::{Scene, absent};

const RTT: Duration = Duration::from_millis(5);

#[test]
fn no_total_is_exceeded() {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::TooEarly;
    knobs.listen.fast_open = 64;
    let scene = Scene::new(RTT, knobs);
    // `compare` checks what the origin saw against what was allowed.
    for most in [2, 3, 7, 19, 31, 64] {
        let c = scene.compare(scene.config(most));
        assert_eq!(c.ended, EndReason::Requests);
        assert_eq!(c.discovery.max(most.min(4)), c.discovery, "{most}");
    }
    let mut sequence = scene.config(90);
    sequence.requests = 5;
    scene.compare(sequence);
}

#[test]
fn ways_that_the_budget_has_no_room_for_are_named() {
    let scene = Scene::new(RTT, Knobs::default());
    let c = scene.compare(scene.config(6));
    assert!(c.absent.iter().any(|a| a.why.contains("budget")));
    assert!(absent(&c).len() > 3);
}

#[test]
fn time_ends_it_too() {
    let scene = Scene::new(RTT, Knobs::default());
    let mut config = scene.config(5000);
    config.limits.time = Duration::ZERO;
    let c = scene.compare(config);
    assert_eq!(c.ended, EndReason::Time);
    assert_eq!(c.blocks, 0);
}

#[test]
fn requests_with_side_effects_are_not_repeated() {
    let scene = Scene::new(RTT, Knobs::default());
    let mut config = scene.config(40);
    config.options.method = Some("POST".into());
    let refused = scene.try_compare(config.clone());
    assert!(matches!(refused, Err(CompareError::Unsafe(..))));
    assert_eq!(scene.origin.stats().requests, 0);
    config.force = true;
    let c = scene.compare(config.clone());
    assert_eq!(c.method, "POST");
    let words = c.lines.iter().map(|line| line.way.word());
    let absent = c.absent.iter().map(|a| a.way.word());
    assert!(words.chain(absent).all(|word| !word.contains("0rtt")));
    assert!(c.notes.iter().any(|note| note.contains("early data")));
    config.strategies = vec!["h2+tls1.3+0rtt".parse().unwrap()];
    let c = scene.compare(config);
    assert!(c.absent.iter().any(|a| a.why.contains("RFC 8470")));
    assert_eq!(scene.origin.stats().early_requests, 0);
}

#[test]
fn nothing_is_compared_with_a_server_that_does_not_answer() {
    let scene = Scene::new(RTT, Knobs::default());
    let mut config = scene.wishes_for("https://198.18.0.2:9/", 40);
    config.options.max_time = Duration::from_secs(5);
    let refused = scene.try_compare(config);
    assert!(matches!(refused, Err(CompareError::Unanswered(_))));
}
