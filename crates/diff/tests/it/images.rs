//! Two images asked over an emulated path: their difference is attributed, on a long path as on a
//! short one. A busy machine lengthens every time, so nothing here is an upper bound in
//! milliseconds: times are compared with what the same reports measured, or with the delays that
//! the scene guarantees.

mod scene;

use std::time::Duration;

use roundtrip_diff::{Contribution, ContributionKind, Probe, ProbeDiff, Report, read};
use scene::{Image, NEW, OLD, Scene};

/// Reports have three decimals, and a run is the sum of a few dozen of them.
const ROUNDING_MS: f64 = 0.05;

fn measured(rtt: Duration, images: [Image; 2], runs: u32) -> (ProbeDiff, [Probe; 2]) {
    let probes = Scene::set(rtt).ask(images, runs).map(|bytes| {
        let report = read(&bytes, None).unwrap();
        let Report::Probe(probe) = report else {
            panic!("a report of doctor")
        };
        probe
    });
    (ProbeDiff::new(&probes[0], &probes[1]).unwrap(), probes)
}

fn part<'a>(diff: &'a ProbeDiff, what: &str) -> &'a Contribution {
    let found = diff.parts.iter().find(|part| part.what.starts_with(what));
    found.unwrap_or_else(|| panic!("no part '{what}': {:#?}", diff.parts))
}

/// How far apart the totals of the middle half of the runs are: the median and the mean over that
/// half both lie between them.
fn spread(probe: &Probe) -> f64 {
    let mut totals: Vec<f64> = probe.runs.iter().map(|run| run.total_ms).collect();
    totals.sort_by(f64::total_cmp);
    let aside = totals.len() / 4;
    totals[totals.len() - aside - 1] - totals[aside]
}

/// What every comparison of the two images shows, whatever the length of the path.
fn attributed(rtt: Duration) -> ProbeDiff {
    let (diff, [a, b]) = measured(rtt, [OLD, NEW], 7);
    let told: f64 = diff.parts.iter().map(|part| part.ms).sum();
    assert!((told - diff.difference.ms).abs() < 1e-6, "{diff:#?}");
    // The phases of a run leave nothing out; only the median of the runs differs from their mean.
    let left = diff.unexplained_ms().abs();
    let most = spread(&a) + spread(&b) + 2.0 * ROUNDING_MS;
    assert!(left <= most, "{left}, not at most {most}: {diff:#?}");
    // The library's time is a separate part of the client's time.
    let hello = part(&diff, "client work before the ClientHello");
    let (old, new) = hello.sides.unwrap();
    let delay = OLD.hello_delay.as_secs_f64() * 1e3;
    assert_eq!(hello.kind, ContributionKind::Client);
    assert!(old >= delay - ROUNDING_MS, "{old} of {delay}: {diff:#?}");
    assert!((hello.ms - (new - old)).abs() < 1e-6, "{hello:#?}");
    let counts = (diff.figures.0.round_trips, diff.figures.1.round_trips);
    assert_eq!(counts, (4.0, 3.0), "{diff:#?}");
    // The round trip that B saves is as long as those that the reports measured, and none of them
    // is shorter than the path.
    let trip = part(&diff, "1 round trip less in the TLS handshake");
    let rtts = (
        diff.figures.0.rtt_ms.unwrap(),
        diff.figures.1.rtt_ms.unwrap(),
    );
    let least = rtt.as_secs_f64() * 1e3 - ROUNDING_MS;
    assert_eq!(trip.kind, ContributionKind::RoundTrips);
    assert_eq!(trip.why, "TLS 1.3 instead of TLS 1.2");
    assert!((trip.ms + f64::midpoint(rtts.0, rtts.1)).abs() < 1e-6);
    assert!(rtts.0 >= least && rtts.1 >= least, "{rtts:?}");
    let version = diff.facts.iter().find(|f| f.label == "TLS version");
    assert!(version.is_some(), "{:#?}", diff.facts);
    diff
}

#[test]
fn on_a_short_path_it_is_the_client_and_not_the_network() {
    let diff = attributed(Duration::from_micros(300));
    let largest = &diff.parts[0];
    assert!(
        largest.what == "client work before the ClientHello",
        "{:#?}",
        diff.parts
    );
    let network = diff.sum(ContributionKind::is_network);
    assert!(network.abs() < largest.ms.abs() / 2.0, "{diff:#?}");
}

#[test]
fn on_a_long_path_it_is_both() {
    let diff = attributed(Duration::from_millis(50));
    let hello = part(&diff, "client work before the ClientHello");
    let trip = part(&diff, "1 round trip less in the TLS handshake");
    for cause in [hello, trip] {
        assert!(cause.ms < 0.0, "{cause:#?}");
    }
}

#[test]
fn one_image_compared_with_itself_differs_in_no_round_trip() {
    let (diff, _) = measured(Duration::from_millis(20), [NEW, NEW], 5);
    let kinds: Vec<ContributionKind> = diff.parts.iter().map(|part| part.kind).collect();
    assert!(!kinds.contains(&ContributionKind::RoundTrips), "{diff:#?}");
    assert!(diff.facts.iter().all(|fact| fact.label != "TLS version"));
}
