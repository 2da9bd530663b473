//! Measurements agree with the predictions, and the largest saving comes first.

use std::time::Duration;

use roundtrip_compare::{Comparison, EndReason, MeasuredWay, Remedy, WayVerdict, html, json};
use roundtrip_origin::{EarlyData, Knobs};
use roundtrip_probe::ConnectionUse;
use roundtrip_report::html::PageHead;

use crate::scene::Scene;

const RTT: Duration = Duration::from_millis(60);

fn scene() -> Scene {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::On;
    Scene::new(RTT, knobs)
}

fn line<'a>(c: &'a Comparison, word: &str) -> &'a MeasuredWay {
    let found = c.lines.iter().find(|line| line.way.word() == word);
    found.unwrap()
}

#[test]
fn savings_are_whole_round_trips_and_the_largest_comes_first() {
    let scene = scene();
    let mut config = scene.config(120);
    config.strategies = ["h2+tls1.2", "h2+tls1.3+0rtt", "h2+tls1.3+reuse"]
        .map(|word| word.parse().unwrap())
        .into();
    let c = scene.compare(config);
    assert!(c.blocks >= 8, "{} blocks", c.blocks);
    let order: Vec<String> = c.lines.iter().map(|line| line.way.word()).collect();
    assert_eq!(order, ["h2+tls1.3+reuse", "h2+tls1.3+0rtt", "h2+tls1.2"]);
    for (word, kind, saved) in [
        ("h2+tls1.3+reuse", WayVerdict::Saves, 2.0),
        ("h2+tls1.3+0rtt", WayVerdict::Saves, 1.0),
        ("h2+tls1.2", WayVerdict::Costs, -1.0),
    ] {
        let line = line(&c, word);
        assert_eq!(line.kind(), kind, "{line:?}");
        let trips = line.saving.unwrap().median / c.rtt_ms.unwrap();
        assert!((trips - saved).abs() < 0.4, "{word}: {trips} round trips");
        // One in twenty on an idle machine; tests share this machine.
        let deviation = line.deviation().unwrap();
        assert!(deviation.abs() < 0.25, "{word}: {deviation}");
        assert!((line.predicted.unwrap().round_trips - line.round_trips().unwrap()).abs() < 1e-9);
    }
    // A way that makes no difference shows almost none: far less than the smallest saving of any
    // remedy.
    let control = c.control.saving.unwrap();
    assert!(
        control.median.abs() < c.rtt_ms.unwrap() / 3.0,
        "{control:?}"
    );
    let best = c.best().unwrap();
    assert_eq!(best.way.remedy, Remedy::KeepConnection);
    assert_eq!(json::document(&c)["ways"][0]["saving"]["shown"], true);
    assert!(html::page(&c, &PageHead::default()).contains("Keep the connection: this would save"));
}

#[test]
fn sequences_on_one_connection() {
    let scene = scene();
    let mut config = scene.config(400);
    config.requests = 4;
    config.limits.time = Duration::from_secs(12);
    let c = scene.compare(config);
    assert!(c.blocks >= 1, "{} requests, {:?}", c.sent, c.ended);
    for (manner, trips) in [(ConnectionUse::Kept, 1.5), (ConnectionUse::AtOnce, 0.75)] {
        let line = c.lines.iter().find(|line| line.way.manner == manner);
        let line = line.unwrap();
        assert!(
            (line.round_trips().unwrap() - trips).abs() < 1e-9,
            "{line:?}"
        );
        assert!((line.predicted.unwrap().round_trips - trips).abs() < 1e-9);
    }
    assert!((c.baseline.round_trips().unwrap() - 3.0).abs() < 1e-9);
}

#[test]
fn a_flight_too_large_for_the_syn_is_told_from_one_that_fits() {
    let mut knobs = Knobs::default();
    knobs.listen.fast_open = 64;
    let scene = Scene::new(RTT, knobs);
    let mut config = scene.config(160);
    config.strategies = ["h2+tls1.3+tfo", "h2+tls1.3+tfo-pq"]
        .map(|word| word.parse().unwrap())
        .into();
    let c = scene.compare(config);
    let (large, small) = (line(&c, "h2+tls1.3+tfo"), line(&c, "h2+tls1.3+tfo-pq"));
    assert_eq!(
        (large.kind(), small.kind()),
        (WayVerdict::Idle, WayVerdict::Saves)
    );
    let why = large.disagreement.as_deref().unwrap();
    assert!(why.contains("the SYN had room for"), "{why}");
    assert_eq!(
        (large.round_trips(), small.round_trips()),
        (Some(3.0), Some(2.0))
    );
}

#[test]
fn another_client_beside_ours() {
    let scene = scene();
    let mut config = scene.config(60);
    config.strategies = vec!["h2+tls1.3+reuse".parse().unwrap()];
    // It makes no request, which is all that can be checked here.
    config.against = vec!["true URL".into(), "echo no such luck >&2; exit 7;".into()];
    let c = scene.compare(config);
    let client = c.lines.iter().find(|l| l.way.remedy == Remedy::Client);
    let client = client.unwrap();
    assert!(client.predicted.is_none() && client.median().is_some());
    let failed = &c.absent[0];
    assert!(failed.why.contains("no such luck"), "{}", failed.why);
    assert!([EndReason::Requests, EndReason::Clear].contains(&c.ended));
}
