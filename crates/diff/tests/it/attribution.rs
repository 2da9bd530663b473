//! Each part has the right cause, the parts sum to the whole, and the answer names them.

use proptest::prelude::*;
use roundtrip_diff::{ContributionKind, ProbeDiff};
use serde_json::json;

use crate::samples::{Phase, diff, new_image, old_image, part, result};

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

fn sum(diff: &ProbeDiff) -> f64 {
    diff.parts.iter().map(|part| part.ms).sum()
}

#[test]
fn the_two_images_of_the_article_are_told_apart() {
    let diff = diff([old_image(0.0)], [new_image(0.0)]);
    assert!(near(diff.difference.ms, -131.3), "{:?}", diff.difference);
    let hello = part(&diff, "client work before the ClientHello");
    assert!(near(hello.ms, -130.5) && hello.kind == ContributionKind::Client);
    assert_eq!(
        hello.why,
        "its task 'configure' took 130.5 ms in A, 0.40 ms in B"
    );
    let trip = part(&diff, "1 round trip less in the TLS handshake");
    assert!(near(trip.ms, -0.3) && trip.kind == ContributionKind::RoundTrips);
    assert_eq!(trip.why, "TLS 1.3 instead of TLS 1.2");
    assert!(near(diff.unexplained_ms(), 0.0), "{:#?}", diff.parts);
    let answer = &diff.answer;
    for said in [
        "B is 131.3 ms faster (8.9 ms instead of 140.2 ms, 94 % less)",
        "130.5 ms of it is client work before the ClientHello (131.0 ms in A, 0.50 ms in B",
        "0.30 ms is 1 round trip less in the TLS handshake (TLS 1.3 instead of TLS 1.2)",
        "It is not the network: a round trip is 0.30 ms in A and 0.30 ms in B",
        "'slow-client-library' in A alone (130.5 ms), 'tls12-full-handshake' in A alone (0.30 ms)",
        "With one result on each side",
    ] {
        assert!(answer.contains(said), "'{said}' is not in: {answer}");
    }
}

#[test]
fn a_late_answer_without_a_witness_is_not_the_server_s() {
    let phases = [("first_byte", 1, [50.0, 5.0, 0.0, 0.0, 0.0])];
    let a = result(50.0, &phases);
    let mut b = result(50.0, &phases);
    b["phases"][0]["ms"] = json!(95.0);
    b["phases"][0]["waited_for"]["unknown_ms"] = json!(40.0);
    b["total_ms"] = json!(95.0);
    let diff = diff([a], [b]);
    let kinds: Vec<_> = diff.parts.iter().map(|part| (part.kind, part.ms)).collect();
    assert_eq!(kinds, [(ContributionKind::Unknown, 40.0)]);
    assert!(
        diff.answer.contains("server or the path"),
        "{}",
        diff.answer
    );
}

#[test]
fn a_longer_path_is_not_taken_for_more_round_trips() {
    let phases = |rtt: f64| {
        [
            ("tcp", 1, [rtt, 0.0, 0.0, 0.0, 0.0]),
            ("tls", 1, [rtt, 0.0, 0.0, 0.0, 0.0]),
            ("first_byte", 1, [rtt, 20.0, 0.0, 0.0, 0.0]),
        ]
    };
    let diff = diff([result(50.0, &phases(50.0))], [result(90.0, &phases(90.0))]);
    assert_eq!(diff.parts.len(), 1, "{:#?}", diff.parts);
    let path = part(
        &diff,
        "a longer path (a round trip takes 90.0 ms instead of 50.0 ms)",
    );
    assert!(near(path.ms, 120.0) && path.kind == ContributionKind::Path);
    assert!(
        !diff.answer.contains("It is not the network"),
        "{}",
        diff.answer
    );
}

#[test]
fn every_party_has_its_part() {
    let a: &[Phase<'_>] = &[
        ("setup", 0, [0.0, 0.0, 2.0, 0.0, 0.0]),
        ("name", 0, [0.0, 0.0, 0.0, 30.0, 0.0]),
        ("tcp", 1, [10.0, 0.0, 0.0, 0.0, 1000.0]),
        ("first_byte", 1, [10.0, 80.0, 0.0, 0.0, 0.0]),
        ("body", 0, [40.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let b: &[Phase<'_>] = &[
        ("setup", 0, [0.0, 0.0, 3.0, 0.0, 0.0]),
        ("name", 0, [0.0, 0.0, 0.0, 5.0, 0.0]),
        ("tcp", 1, [10.0, 0.0, 0.0, 0.0, 0.0]),
        ("first_byte", 1, [10.0, 130.0, 0.0, 0.0, 0.0]),
        ("body", 0, [33.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let diff = diff([result(10.0, a)], [result(10.0, b)]);
    let kinds: Vec<(ContributionKind, f64)> =
        diff.parts.iter().map(|part| (part.kind, part.ms)).collect();
    let expected = [
        (ContributionKind::Loss, -1000.0),
        (ContributionKind::Server, 50.0),
        (ContributionKind::Resolver, -25.0),
        (ContributionKind::Transit, -7.0),
        (ContributionKind::Client, 1.0),
    ];
    assert_eq!(kinds, expected);
    assert!(
        diff.answer
            .contains("Against that, B lost 50.0 ms by server time before the first byte"),
        "{}",
        diff.answer
    );
}

#[test]
fn quic_and_tcp_are_held_against_each_other_as_connecting() {
    let tcp: &[Phase<'_>] = &[
        ("tcp", 1, [50.0, 0.0, 0.0, 0.0, 0.0]),
        ("tls", 1, [50.0, 0.0, 1.0, 0.0, 0.0]),
        ("first_byte", 1, [50.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let quic: &[Phase<'_>] = &[
        ("quic", 1, [50.0, 0.0, 1.0, 0.0, 0.0]),
        ("first_byte", 1, [50.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    // Whichever address answered.
    let peer = |n: u32| {
        let mut result = result(50.0, quic);
        result["quic"] = json!({ "peer": format!("192.0.2.{n}:443") });
        result
    };
    let diff = diff([result(50.0, tcp)], [peer(1), peer(2)]);
    assert_eq!(diff.parts.len(), 1, "{:#?}", diff.parts);
    let trip = part(&diff, "1 round trip less in connecting");
    assert_eq!(
        (trip.ms, trip.why.as_str()),
        (-50.0, "QUIC instead of TCP and TLS")
    );
}

#[test]
fn a_kept_connection_and_a_redirect_are_reasons() {
    let first_byte = ("first_byte", 1, [50.0, 0.0, 0.0, 0.0, 0.0]);
    let cold = [("tcp", 1, [50.0, 0.0, 0.0, 0.0, 0.0]), first_byte];
    let mut kept = result(50.0, &[first_byte]);
    kept["reused"] = json!(true);
    let saved = diff([result(50.0, &cold)], [kept]);
    let trip = part(&saved, "1 round trip less in the TCP connect");
    assert_eq!(trip.why, "B kept its connection from before");

    let mut second = result(50.0, &cold);
    second["hop"] = json!(1);
    let document = json!({"schema": "roundtrip/probe/1", "results": [result(50.0, &cold), second]});
    let b = crate::samples::probe(document.to_string().as_bytes());
    let a = crate::samples::probe(&crate::samples::document([result(50.0, &cold)]));
    let redirected = ProbeDiff::new(&a, &b).unwrap();
    assert!(near(redirected.difference.ms, 100.0), "{redirected:?}");
    let trip = part(&redirected, "1 round trip more in the TCP connect");
    assert_eq!(trip.why, "redirects: 1 instead of 0");
}

#[test]
fn many_results_tell_a_difference_from_chance() {
    let noise = [0.0, 0.4, -0.3, 0.2, -0.1, 0.3, -0.4, 0.1];
    let apart = diff(noise.map(old_image), noise.map(new_image));
    assert_eq!(apart.difference.is_shown(), Some(true));
    assert!(near(sum(&apart), apart.difference.ms));
    assert!(apart.answer.contains("(medians: "), "{}", apart.answer);

    let mut other = noise;
    other.reverse();
    let alike = diff(noise.map(new_image), other.map(|n| new_image(n + 0.01)));
    assert_eq!(alike.difference.is_shown(), Some(false));
    assert!(
        alike.answer.starts_with("No difference shown"),
        "{}",
        alike.answer
    );
}

#[test]
fn an_outlier_explains_nothing() {
    let calm = || (0..8).map(|_| new_image(0.0));
    let outlier = (0..8).map(|n| new_image(if n == 3 { 5000.0 } else { 0.0 }));
    let diff = diff(calm(), outlier);
    assert!(
        near(diff.difference.ms, 0.0) && diff.parts.is_empty(),
        "{:#?}",
        diff.parts
    );
}

#[test]
fn without_a_round_trip_the_network_is_one_part() {
    let one = |ms: f64| {
        let mut result = result(50.0, &[("first_byte", 1, [ms, 0.0, 0.0, 0.0, 0.0])]);
        result["rtt_ms"] = json!(null);
        result
    };
    let diff = diff([one(50.0)], [one(70.0)]);
    assert_eq!(diff.parts.len(), 1, "{:#?}", diff.parts);
    assert_eq!(
        (diff.parts[0].kind, diff.parts[0].ms),
        (ContributionKind::Transit, 20.0)
    );
}

const NAMES: [&str; 10] = [
    "setup",
    "name",
    "tcp",
    "proxy",
    "tls",
    "quic",
    "request",
    "first_byte",
    "body",
    "unheard-of",
];

/// A result whose total is not the sum of its phases.
fn any_result() -> impl Strategy<Value = serde_json::Value> {
    let phase = (
        0..NAMES.len(),
        0_u32..5,
        prop::array::uniform5(0.0..500.0_f64),
    );
    let phases = prop::collection::vec(phase, 0..12);
    (phases, prop::option::of(0.0..200.0_f64), 0.0..50.0_f64).prop_map(|(phases, rtt, more)| {
        let phases: Vec<Phase<'_>> = phases.iter().map(|(n, k, w)| (NAMES[*n], *k, *w)).collect();
        let mut result = result(0.0, &phases);
        result["rtt_ms"] = json!(rtt);
        result["total_ms"] = json!(result["total_ms"].as_f64().unwrap() + more);
        result
    })
}

proptest! {
    #[test]
    fn the_parts_sum_to_the_whole(
        a in prop::collection::vec(any_result(), 1..7), b in prop::collection::vec(any_result(), 1..7)
    ) {
        let diff = diff(a, b);
        prop_assert!((sum(&diff) - diff.difference.ms).abs() < 1e-6, "{:#?}", diff);
        // Every part is a finite number.
        prop_assert!(diff.parts.iter().all(|part| part.ms.is_finite()));
    }

    #[test]
    fn of_single_reports_nothing_but_what_the_phases_leave_is_unexplained(a in any_result(), b in any_result()) {
        let left = |r: &serde_json::Value| {
            let phases = r["phases"].as_array().unwrap();
            r["total_ms"].as_f64().unwrap() - phases.iter().map(|p| p["ms"].as_f64().unwrap()).sum::<f64>()
        };
        let expected = left(&b) - left(&a);
        let diff = diff([a], [b]);
        prop_assert!((diff.unexplained_ms() - expected).abs() < 1e-6, "{:#?}", diff);
    }

    #[test]
    fn the_other_way_round_has_the_other_signs(a in any_result(), b in any_result()) {
        let there = diff([a.clone()], [b.clone()]);
        let back = diff([b], [a]);
        prop_assert!(near(there.difference.ms, -back.difference.ms));
        for kind in [ContributionKind::RoundTrips, ContributionKind::Path, ContributionKind::Transit, ContributionKind::Server, ContributionKind::Client, ContributionKind::Resolver, ContributionKind::Loss] {
            prop_assert!(near(there.sum(|k| k == kind), -back.sum(|k| k == kind)), "{kind:?}");
        }
    }
}
