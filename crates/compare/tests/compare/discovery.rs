//! `compare` finds out what a server really supports, whatever it claims.

use std::time::Duration;

use roundtrip_compare::{Comparison, Remedy};
use roundtrip_origin::{EarlyData, Knobs, Quic, Tickets, TlsVersions};
use roundtrip_probe::Family;

use crate::scene::{Scene, absent, idle, measurable};

const RTT: Duration = Duration::from_millis(20);

/// A server that does everything.
fn able() -> Knobs {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::On;
    knobs.listen.fast_open = 64;
    knobs
}

fn found(knobs: Knobs) -> Comparison {
    let scene = Scene::new(RTT, knobs);
    scene.discover(&format!("https://{}/bytes/100", scene.origin.https))
}

#[track_caller]
fn assert_same(found: Vec<Remedy>, expected: &[Remedy]) {
    let all = |mut list: Vec<Remedy>| {
        list.sort_by_key(|remedy| remedy.title());
        list
    };
    assert_eq!(all(found), all(expected.to_vec()));
}

#[test]
fn a_server_that_does_everything() {
    let c = found(able());
    let all = [
        Remedy::Tls12,
        Remedy::Http1,
        Remedy::Resumption,
        Remedy::EarlyData,
        Remedy::FastOpenClassical,
        Remedy::FastOpenEarly,
        Remedy::Http3,
        Remedy::Http3Early,
        Remedy::Classical,
        Remedy::KeepConnection,
    ];
    assert_same(measurable(&c), &all);
    // With a post-quantum share, a ClientHello does not fit the SYN.
    assert_same(idle(&c), &[Remedy::FastOpen]);
    assert_same(absent(&c), &[]);
    assert_eq!(c.baseline.way.word(), "h2+tls1.3");
}

#[test]
fn no_newer_than_tls_1_2() {
    let mut knobs = able();
    knobs.tls.versions = TlsVersions::Tls12;
    knobs.listen.h3 = Quic::Off;
    let c = found(knobs);
    assert_eq!(c.baseline.way.word(), "h2+tls1.2");
    let works = [
        Remedy::Http1,
        Remedy::Resumption,
        Remedy::FastOpen,
        Remedy::KeepConnection,
    ];
    let fits: Vec<Remedy> = measurable(&c).into_iter().chain(idle(&c)).collect();
    assert_same(fits, &works);
    let lacks = [Remedy::Tls13, Remedy::Http3, Remedy::Http3Early];
    assert_same(absent(&c), &lacks);
    let tls13 = c.absent.iter().find(|a| a.way.remedy == Remedy::Tls13);
    let saves = tls13.unwrap().would_save.unwrap();
    assert!((saves.round_trips - 1.0).abs() < 1e-9, "{saves:?}");
}

#[test]
fn early_data_that_is_refused() {
    for (early_data, word) in [
        (EarlyData::Refused, "refuses"),
        (EarlyData::TooEarly, "425"),
    ] {
        let mut knobs = able();
        knobs.tls.early_data = early_data;
        let c = found(knobs);
        let line = c.lines.iter().find(|l| l.way.remedy == Remedy::EarlyData);
        let why = line.unwrap().idle.as_deref().unwrap();
        assert!(why.contains(word), "{why}");
        assert!(measurable(&c).contains(&Remedy::Resumption));
    }
    let mut knobs = able();
    knobs.tls.early_data = EarlyData::Off;
    let lacks = [Remedy::EarlyData, Remedy::FastOpenEarly, Remedy::Http3Early];
    assert_same(absent(&found(knobs)), &lacks);
}

#[test]
fn tickets_that_are_not_given_and_tickets_that_are_not_taken() {
    let mut knobs = able();
    (knobs.tls.tickets, knobs.tls.early_data) = (Tickets::Off, EarlyData::Off);
    let c = found(knobs);
    assert!(absent(&c).contains(&Remedy::Resumption));
    assert!(absent(&c).contains(&Remedy::EarlyData));
    let mut knobs = able();
    (knobs.tls.tickets, knobs.tls.early_data) = (Tickets::Refused, EarlyData::Off);
    assert!(idle(&found(knobs)).contains(&Remedy::Resumption));
}

#[test]
fn neither_fast_open_nor_http_3() {
    let mut knobs = able();
    knobs.listen.fast_open = 0;
    knobs.listen.h3 = Quic::Off;
    let lacks = [
        Remedy::FastOpen,
        Remedy::FastOpenClassical,
        Remedy::FastOpenEarly,
        Remedy::Http3,
        Remedy::Http3Early,
    ];
    assert_same(absent(&found(knobs)), &lacks);
}

#[test]
fn a_connection_for_each_answer() {
    let mut knobs = able();
    knobs.http.close_after = Some(1);
    knobs.tls.alpn = vec!["http/1.1".into()];
    let c = found(knobs);
    assert_eq!(c.baseline.way.word(), "h1+tls1.3");
    assert!(absent(&c).contains(&Remedy::KeepConnection));
    assert!(absent(&c).contains(&Remedy::Http2));
}

#[test]
fn clear_text() {
    let scene = Scene::new(RTT, able());
    let c = scene.discover(&format!("http://{}/bytes/100", scene.origin.http));
    assert_eq!(c.baseline.way.word(), "h1+clear");
    let works = [Remedy::FastOpen, Remedy::Http2, Remedy::KeepConnection];
    assert_same(measurable(&c), &works);
}

#[test]
fn the_other_family_of_addresses() {
    let scene = Scene::new(RTT, able());
    let url = format!("https://far.test:{}/bytes/100", scene.origin.https.port());
    let mut config = scene.wishes_for(&url, 36);
    config.options.overrides = vec![scene.both_families()];
    let c = scene.compare(config.clone());
    let families = [Remedy::IPv4, Remedy::IPv6];
    let other: Vec<Remedy> = measurable(&c)
        .into_iter()
        .filter(|remedy| families.contains(remedy))
        .collect();
    assert_eq!(other.len(), 1, "{other:?}");
    // A user who asks for one family is not shown the other.
    config.options.family = Family::V4;
    let c = scene.compare(config);
    assert!(!measurable(&c).iter().any(|r| families.contains(r)));
    assert!(c.address.unwrap().starts_with("198.18."));
}
