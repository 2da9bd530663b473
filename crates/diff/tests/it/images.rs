//! Two images asked over an emulated path: their difference is attributed, on a long path as on a
//! short one.

mod scene;

use std::time::Duration;

use roundtrip_diff::{ContributionKind, ProbeDiff, Report, read};
use scene::{Image, NEW, OLD, Scene};

/// All but this share of the difference must be attributed.
const LEFT: f64 = 0.05;

fn measured(rtt: Duration, images: [Image; 2], runs: u32) -> ProbeDiff {
    let [a, b] = Scene::set(rtt).ask(images, runs).map(|bytes| {
        let report = read(&bytes, None).unwrap();
        let Report::Probe(probe) = report else {
            panic!("a report of doctor")
        };
        probe
    });
    ProbeDiff::new(&a, &b).unwrap()
}

fn part(diff: &ProbeDiff, what: &str) -> f64 {
    let found = diff.parts.iter().find(|part| part.what.starts_with(what));
    let part = found.unwrap_or_else(|| panic!("no part '{what}': {:#?}", diff.parts));
    part.ms
}

/// What every comparison of the two images shows, whatever the length of the path.
fn attributed(rtt: Duration) -> ProbeDiff {
    let diff = measured(rtt, [OLD, NEW], 7);
    let whole = diff.difference.ms;
    let told: f64 = diff.parts.iter().map(|part| part.ms).sum();
    assert!((told - whole).abs() < 1e-6, "{diff:#?}");
    let left = diff.unexplained_ms().abs();
    assert!(left <= LEFT * whole.abs(), "{left} of {whole}: {diff:#?}");
    // The library's own time is a separate part of the client's.
    let hello = part(&diff, "client work before the ClientHello");
    let delay = OLD.hello_delay.as_secs_f64() * 1e3;
    assert!(hello < -0.9 * delay, "{hello}: {diff:#?}");
    let counts = (diff.figures.0.round_trips, diff.figures.1.round_trips);
    assert_eq!(counts, (4.0, 3.0), "{diff:#?}");
    let trip = diff
        .parts
        .iter()
        .find(|p| p.kind == ContributionKind::RoundTrips)
        .unwrap();
    assert_eq!(trip.why, "TLS 1.3 instead of TLS 1.2");
    assert_eq!(diff.difference.is_shown(), Some(true), "{diff:#?}");
    let version = diff.facts.iter().find(|f| f.label == "TLS version");
    assert!(version.is_some(), "{:#?}", diff.facts);
    diff
}

#[test]
fn on_a_short_path_it_is_the_client_and_not_the_network() {
    let diff = attributed(Duration::from_micros(300));
    let hello = part(&diff, "client work before the ClientHello");
    assert!(hello / diff.difference.ms > 0.8, "{diff:#?}");
    let told = diff.answer.contains("client work before the ClientHello");
    assert!(
        told && diff.answer.contains("It is not the network"),
        "{}",
        diff.answer
    );
}

#[test]
fn on_a_long_path_it_is_both() {
    let rtt = Duration::from_millis(50);
    let diff = attributed(rtt);
    let trip = part(&diff, "1 round trip less in the TLS handshake");
    // One round trip of the measured path, which is the configured one or a little more.
    let ratio = -trip / 50.0;
    assert!((0.95..1.3).contains(&ratio), "{ratio}: {diff:#?}");
    assert!(
        !diff.answer.contains("It is not the network"),
        "{}",
        diff.answer
    );
}

#[test]
fn one_image_compared_with_itself_differs_in_no_round_trip() {
    let diff = measured(Duration::from_millis(20), [NEW, NEW], 5);
    let kinds: Vec<ContributionKind> = diff.parts.iter().map(|part| part.kind).collect();
    assert!(!kinds.contains(&ContributionKind::RoundTrips), "{diff:#?}");
    assert!(diff.facts.iter().all(|fact| fact.label != "TLS version"));
}
