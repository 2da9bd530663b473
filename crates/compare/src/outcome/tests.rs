//! Hand-made comparisons: the kind of each line, the reasons for disagreements, and that reports
//! stay plain text.

use std::time::Duration;

use roundtrip_model::{Exchange, Finding, QuicFacts, Random, TlsFacts, Waited};
use roundtrip_probe::Family;
use roundtrip_report::html::PageHead;
use roundtrip_report::terminal::Style;

use super::*;
use crate::way::Remedy;
use crate::{disagreement, html, json, text};

/// Wide enough that no line is wrapped.
fn wide() -> Style {
    Style {
        width: 200,
        ..Style::default()
    }
}

const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[31m\u{202e}";

/// A line whose samples wait `trips` times for a round trip of 100 ms, and `rest` ms for the
/// server.
fn line(word: &str, trips: f64, rest: f64, last: &Exchange) -> MeasuredWay {
    let strategy = word.parse().unwrap();
    let way = Way::new(Remedy::Asked, strategy, Family::Any);
    let predicted = Prediction {
        ms: f64::from(strategy.round_trips()) * 100.0 + 2.0,
        round_trips: f64::from(strategy.round_trips()),
    };
    let mut line = MeasuredWay::new(way, None, Some(predicted));
    for block in 0..8 {
        let jitter = f64::from(block % 3) / 10.0;
        let sample = Sample {
            ms: trips * 100.0 + rest + jitter,
            round_trips: Some(trips),
            waited: Some(Waited {
                network: trips * 100.0,
                server: rest + jitter,
                ..Waited::default()
            }),
            last: Some(Box::new(last.clone())),
        };
        line.samples.push((block, sample));
    }
    line
}

fn paired(mut line: MeasuredWay, baseline: &MeasuredWay) -> MeasuredWay {
    line.pair(&baseline.samples, &mut Random::seeded(1));
    line.disagreement = disagreement::of(&line, baseline, 100.0);
    line
}

fn comparison(lines: Vec<MeasuredWay>, mut baseline: MeasuredWay) -> Comparison {
    baseline.way.remedy = Remedy::Baseline;
    let control = paired(line("h1+tls1.3", 3.0, 2.0, &Exchange::default()), &baseline);
    let mut comparison = Comparison {
        url: format!("https://a/{HOSTILE}"),
        method: "GET".into(),
        requests: 1,
        seed: 1,
        limits: RequestLimits {
            requests: 100,
            rate: 10.0,
            time: Duration::from_mins(1),
        },
        server: Some(HOSTILE.into()),
        status: 200,
        rtt_ms: Some(100.0),
        address: Some("198.18.0.2:443".into()),
        findings: vec![Finding {
            id: "server-think-time",
            ms: 2.0,
            round_trips: 0,
            evidence: HOSTILE.into(),
            remedy: HOSTILE.into(),
            settings: Vec::new(),
        }],
        control,
        lines,
        absent: vec![Absent {
            way: Way::new(Remedy::Http3, "h3".parse().unwrap(), Family::Any),
            why: HOSTILE.into(),
            would_save: Some(Prediction {
                ms: 100.0,
                round_trips: 1.0,
            }),
            advice: Advice::default(),
        }],
        blocks: 8,
        sent: 50,
        discovery: 10,
        took_s: 10.0,
        ended: EndReason::Clear,
        notes: vec![HOSTILE.into()],
        baseline,
    };
    comparison.sort();
    comparison
}

fn sample() -> Comparison {
    let plain = Exchange::default();
    let baseline = line("h1+tls1.3", 3.0, 2.0, &plain);
    let mut idle = line("h1+tls1.3+tfo", 3.0, 2.0, &plain);
    idle.idle = Some(HOSTILE.into());
    let lines = vec![
        paired(line("h1+tls1.2", 4.0, 2.0, &plain), &baseline),
        paired(idle, &baseline),
        paired(line("h1+tls1.3+reuse", 1.0, 2.0, &plain), &baseline),
    ];
    comparison(lines, baseline)
}

#[test]
fn the_largest_saving_comes_first_and_each_line_is_of_one_kind() {
    let c = sample();
    let kinds: Vec<WayVerdict> = c.lines.iter().map(MeasuredWay::kind).collect();
    assert_eq!(
        kinds,
        [WayVerdict::Saves, WayVerdict::Idle, WayVerdict::Costs]
    );
    assert_eq!(c.best().unwrap().way.word(), "h1+tls1.3+reuse");
    let text = text::render(&c, Style::default());
    assert!(
        text.contains("h1+tls1.3+reuse: −200.0 ms a request (2 round trips)"),
        "{text}"
    );
}

/// Like the comparison above, but with only `blocks` blocks of each way.
fn shortened(blocks: usize) -> Comparison {
    let mut c = sample();
    for line in [&mut c.baseline, &mut c.control]
        .into_iter()
        .chain(&mut c.lines)
    {
        line.samples.truncate(blocks);
    }
    let baseline = c.baseline.samples.clone();
    for line in std::iter::once(&mut c.control).chain(&mut c.lines) {
        line.pair(&baseline, &mut Random::seeded(1));
    }
    c.blocks = blocks as u32;
    c
}

#[test]
fn few_pairs_are_only_reported_as_too_few() {
    let c = shortened(5);
    let kinds: Vec<WayVerdict> = c.lines.iter().map(MeasuredWay::kind).collect();
    assert_eq!(
        kinds,
        [WayVerdict::Unsure, WayVerdict::Idle, WayVerdict::Unsure]
    );
    let (text, page) = (
        text::render(&c, wide()),
        html::page(&c, &PageHead::default()),
    );
    for report in [&text, &page] {
        for denied in ["No saving is shown", "No difference shown", "no difference"] {
            assert!(!report.contains(denied), "{denied}: {report}");
        }
        let told = "too few to tell (5 pairs; at least 6 are needed)";
        // The summary, the control and the two ways.
        assert_eq!(report.matches(told).count(), 4, "{report}");
    }
    let document = json::document(&c);
    assert_eq!(document["pairs_needed"], 6);
    let verdict = |way: &serde_json::Value| (way["verdict"].clone(), way["pairs"].clone());
    assert_eq!(
        verdict(&document["ways"][0]),
        ("too-few-pairs".into(), 5.into())
    );
    assert_eq!(verdict(&document["ways"][1]).0, "idle");
    assert_eq!(document["baseline"]["verdict"], serde_json::Value::Null);
    let one = text::render(&shortened(1), wide());
    assert!(one.contains("too few to tell (1 pair; at least"), "{one}");
}

#[test]
fn the_page_has_what_the_text_has_of_every_kind() {
    let mut c = sample();
    let plain = Exchange::default();
    let mut same = paired(line("h2+tls1.3", 3.0, 2.0, &plain), &c.baseline);
    same.disagreement = Some("a reason of its own".into());
    same.failures.push("refused once".into());
    c.lines.push(same);
    let (text, page) = (
        text::render(&c, wide()),
        html::page(&c, &PageHead::default()),
    );
    let shown = [
        WayVerdict::Saves,
        WayVerdict::Idle,
        WayVerdict::Nothing,
        WayVerdict::Costs,
    ]
    .map(WayVerdict::title);
    let reasons = ["a reason of its own", "1 time: refused once"];
    for told in shown.into_iter().chain(reasons) {
        assert!(text.contains(told), "{told}: {text}");
        assert!(page.contains(told), "{told}: {page}");
    }
    let verdicts = json::document(&c);
    assert_eq!(verdicts["ways"][0]["verdict"], "saves");
}

#[test]
fn what_others_chose_stays_text() {
    let c = sample();
    let text = text::render(&c, Style::default());
    let page = html::page(&c, &PageHead::default());
    for report in [&text, &page] {
        assert!(!report.contains('\u{1b}') && !report.contains('\u{202e}'));
    }
    assert!(!page.contains("<script>"));
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    let ascii = Style {
        unicode: false,
        ..Style::default()
    };
    assert!(text::render(&c, ascii).is_ascii());
    assert_eq!(json::document(&c)["server"], HOSTILE);
}

#[test]
fn disagreements_have_the_reason_that_was_seen() {
    let plain = Exchange::default();
    let today = line("h1+tls1.3", 3.0, 2.0, &plain);
    let why = |line: &MeasuredWay| disagreement::of(line, &today, 100.0);
    assert_eq!(why(&today), None);
    let slow = line("h1+tls1.3", 3.0, 52.0, &plain);
    assert!(why(&slow).unwrap().contains("the server took 50.0 ms more"));
    let more = line("h1+tls1.3", 4.0, 2.0, &plain);
    assert!(why(&more).unwrap().contains("4 round trips were counted"));
    let mut retry = plain.clone();
    retry.tls = Some(TlsFacts {
        hello_retry: true,
        ..TlsFacts::default()
    });
    let retried = line("h1+tls1.3", 4.0, 2.0, &retry);
    assert!(why(&retried).unwrap().contains("HelloRetryRequest"));
    let mut lossy = plain.clone();
    lossy.quic = Some(QuicFacts {
        lost_packets: 1,
        ..QuicFacts::default()
    });
    let lost = line("h3", 3.0, 90.0, &lossy);
    assert!(why(&lost).unwrap().contains("in 8 of 8 runs a QUIC packet"));
}

#[test]
fn a_prediction_from_other_times_is_told_from_a_wrong_one() {
    let plain = Exchange::default();
    let slower = line("h1+tls1.3", 3.0, 22.0, &plain);
    let other = line("h1+tls1.2", 4.0, 32.0, &plain);
    let why = disagreement::of(&other, &slower, 100.0).unwrap();
    assert!(why.contains("20.1 ms faster"), "{why}");
    let today = line("h1+tls1.3", 3.0, 2.0, &plain);
    let why = disagreement::of(&other, &today, 100.0).unwrap();
    assert!(why.contains("the server took 30.0 ms more"), "{why}");
}

#[test]
fn a_kept_connection_brings_large_bodies_sooner() {
    let slow = |word: &str, trips: f64, transfer: f64| {
        let mut line = line(word, trips, 2.0, &Exchange::default());
        for (_, sample) in &mut line.samples {
            sample.ms += transfer;
            sample.waited.as_mut().unwrap().network += transfer;
        }
        line
    };
    let today = slow("h1+tls1.3", 3.0, 300.0);
    let mut kept = slow("h1+tls1.3+reuse", 1.0, 20.0);
    kept.predicted.as_mut().unwrap().ms += 300.0;
    let why = disagreement::of(&kept, &today, 100.0).unwrap();
    assert!(why.contains("280.0 ms sooner"), "{why}");
}

#[test]
fn early_data_that_waits_for_the_handshake_is_told_from_a_slow_server() {
    let today = line("h1+tls1.3", 3.0, 2.0, &Exchange::default());
    let used = |word: &str| Exchange {
        used: word.parse().unwrap(),
        ..Exchange::default()
    };
    let word = "h1+tls1.3+0rtt";
    let waits = |rest, exchange| {
        let line = line(word, 2.0, rest, &exchange);
        disagreement::waits_for_handshake(&line, &today, 100.0).is_some()
    };
    assert!(waits(102.0, used(word)));
    assert!(!waits(2.0, used(word)));
    assert!(!waits(252.0, used(word)));
    assert!(!waits(102.0, used("h1+tls1.3+resume")));
}
