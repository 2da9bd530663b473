//! Limits against differences.

use roundtrip_diff::{BrokenLimit, Limit, ProbeDiff};

use crate::samples::{diff, new_image, old_image};

fn broken(diff: &ProbeDiff, limit: &str) -> Option<String> {
    let limit: Limit = limit.parse().unwrap();
    limit.broken_by(diff).map(|BrokenLimit(by)| by)
}

#[test]
fn only_a_worse_result_breaks_limits() {
    let (better, worse) = (
        diff([old_image(0.0)], [new_image(0.0)]),
        diff([new_image(0.0)], [old_image(0.0)]),
    );
    for limit in [
        "worse > 10%",
        "worse > 131ms",
        "worse >= 0.1s",
        "client > 100ms",
        "round_trips > 0",
        "round_trips >= 33%",
        "handshake > 100",
        "network > 0.2ms",
        "ttfb > 1000%",
    ] {
        assert!(broken(&worse, limit).is_some(), "{limit}");
        assert_eq!(broken(&better, limit), None, "{limit}");
    }
    for limit in [
        "worse > 1s",
        "server > 0",
        "quic > 0",
        "rtt > 0%",
        "unexplained > 0.001ms",
        "loss > 1%",
    ] {
        assert_eq!(broken(&worse, limit), None, "{limit}");
    }
    assert_eq!(broken(&worse, "round_trips > 0").unwrap(), "+1");
    assert_eq!(broken(&better, "worse < -10%").unwrap(), "-93.7 %");
}

#[test]
fn chance_is_not_worse() {
    let noise = [0.0, 30.0, 5.0, 60.0, 20.0, 40.0];
    let later = diff(noise.map(new_image), noise.map(|n| new_image(n + 9.0)));
    assert!(later.difference.share.unwrap() > 0.1);
    assert_eq!(later.difference.is_shown(), Some(false));
    assert_eq!(broken(&later, "worse > 10%"), None);
    assert!(broken(&later, "client > 10%").is_some());
}
