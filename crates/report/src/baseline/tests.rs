//! Which changes count as a rise, and what the file guarantees.

use proptest::prelude::*;
use roundtrip_model::{Exchange, Failure, FailureKind, HttpFacts, PhaseName, TlsFacts};

use super::*;

fn exchange(run: u32, downloaded: u64, resumed: bool) -> Exchange {
    Exchange {
        url: "https://shop.example/".into(),
        run,
        tls: Some(TlsFacts {
            resumed,
            bytes_received: 1500,
            ..TlsFacts::default()
        }),
        http: Some(HttpFacts {
            method: "GET".into(),
            status: 200,
            downloaded,
            ..HttpFacts::default()
        }),
        ..Exchange::default()
    }
}

fn counts(exchanges: &[Exchange]) -> RequestCounts {
    let all = super::counts(crate::runs(exchanges));
    all.reduce(|a, b| a.least(&b)).unwrap()
}

fn known(exchange: &Exchange) -> Baseline {
    let mut baseline = Baseline::default();
    baseline.put(counts(std::slice::from_ref(exchange)));
    baseline
}

fn names(changes: &[CountChange]) -> Vec<&str> {
    changes.iter().map(|change| change.name).collect()
}

#[test]
fn a_rise_is_told_and_chance_in_bytes_is_not() {
    let baseline = known(&exchange(0, 10_000, true));
    let rises = |now: Exchange| baseline.rises(&counts(&[now]));
    assert!(rises(exchange(0, 10_064, true)).is_empty());
    assert_eq!(names(&rises(exchange(0, 10_200, true))), ["bytes_received"]);
    assert_eq!(
        names(&rises(exchange(0, 10_000, false))),
        ["full_handshakes"]
    );
    let twice = [
        exchange(0, 5_000, true),
        Exchange {
            hop: 1,
            ..exchange(0, 5_000, true)
        },
    ];
    let rises = baseline.rises(&counts(&twice));
    assert_eq!(
        names(&rises),
        ["connections", "handshakes", "bytes_received"]
    );
    assert_eq!(rises[0].to_string(), "connections rose from 1 to 2");
}

#[test]
fn the_smallest_of_the_runs_counts_and_failures_do_not() {
    let mut failed = exchange(2, 0, true);
    failed.failure = Some(Failure {
        kind: FailureKind::Reset,
        phase: PhaseName::Body,
        message: "reset".into(),
        advice: String::new(),
    });
    let runs = [
        exchange(0, 90_000, false),
        exchange(1, 10_000, true),
        failed,
    ];
    let baseline = known(&exchange(0, 10_000, true));
    assert_eq!(baseline.changes(&counts(&runs)), []);
}

#[test]
fn fewer_is_a_change_and_no_rise() {
    let baseline = known(&exchange(0, 10_000, false));
    let now = counts(&[exchange(0, 10_000, true)]);
    assert_eq!(baseline.rises(&now), []);
    let told = baseline.changes(&now)[0].to_string();
    assert_eq!(told, "full_handshakes fell from 1 to 0");
}

#[test]
fn counts_removed_from_the_file_are_not_compared() {
    let text = known(&exchange(0, 10_000, true)).to_text();
    let shorter: Vec<&str> = text.lines().filter(|l| !l.contains("full_hand")).collect();
    let baseline = Baseline::parse(&shorter.join("\n")).unwrap();
    assert_eq!(baseline.rises(&counts(&[exchange(0, 10_000, false)])), []);
}

#[test]
fn the_file_is_stable_and_has_a_line_for_each_count() {
    let baseline = known(&exchange(0, 10_000, true));
    let text = baseline.to_text();
    insta::assert_snapshot!(text, @r#"
    {
      "schema": "roundtrip/baseline/1",
      "requests": [
        {
          "url": "https://shop.example/",
          "method": "GET",
          "strategy": "auto",
          "round_trips": 0,
          "body_round_trips": 0,
          "connections": 1,
          "handshakes": 1,
          "full_handshakes": 0,
          "bytes_sent": 0,
          "bytes_received": 11500
        }
      ]
    }
    "#);
    assert_eq!(Baseline::parse(&text).unwrap().to_text(), text);
}

#[test]
fn a_wrong_file_is_refused_by_name() {
    let parsed = |text: &str| Baseline::parse(text).unwrap_err().to_string();
    assert!(parsed("{").starts_with("it is not JSON"));
    assert_eq!(parsed("{}"), "its schema is not roundtrip/baseline/1");
    let head = r#"{"schema": "roundtrip/baseline/1""#;
    assert_eq!(parsed(&format!("{head}}}")), "it has no list 'requests'");
    assert_eq!(
        parsed(&format!(
            r#"{head}, "requests": [{{"url": "http://x/"}}]}}"#
        )),
        "request 1 has no 'method'"
    );
    let entry = r#"{"url": "u", "method": "GET", "strategy": "auto", "round_trips": -1}"#;
    assert_eq!(
        parsed(&format!(r#"{head}, "requests": [{entry}]}}"#)),
        "round_trips of request 1 is not a number of 0 or more"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = Baseline::parse(&text);
    }
}

#[test]
fn of_a_body_s_round_trips_the_most_are_kept_and_fewer_are_nothing_new() {
    let with = |body| {
        let mut counts = counts(&[exchange(0, 10, true)]);
        counts.values[1] = Some(body);
        counts
    };
    let mut baseline = Baseline::default();
    baseline.put(with(0).to_keep(&with(2)).to_keep(&with(1)));
    assert_eq!(baseline.changes(&with(0)), []);
    assert_eq!(baseline.rises(&with(2)), []);
    assert_eq!(names(&baseline.rises(&with(3))), ["body_round_trips"]);
    assert_eq!(baseline.rises(&with(3).least(&with(2))), []);
}
