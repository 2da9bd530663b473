//! A strict reader of the exposition format, and what it must find.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::*;
use crate::record::{Early, Entry, Known, Ledgers, Limit, Outcome, Protocol, Reason};

/// Samples by name with labels.
type Samples = BTreeMap<String, f64>;

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

/// Name, labels, value; every rule of the format that can be broken.
fn read_sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let Some((name, labels)) = series.split_once('{') else {
        assert!(is_name(series), "{line}");
        return (series.into(), Vec::new(), value.parse().unwrap());
    };
    assert!(is_name(name), "{line}");
    let labels = labels.strip_suffix('}').unwrap().split(',');
    let labels: Vec<(String, String)> = labels
        .map(|label| {
            let (label, word) = label.split_once('=').unwrap();
            assert!(is_name(label) && !label.contains(':'), "{line}");
            let word = word.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            assert!(!word.contains(['"', '\\', '\n']), "{line}");
            (label.into(), word.into())
        })
        .collect();
    let names: BTreeSet<&String> = labels.iter().map(|(label, _)| label).collect();
    assert_eq!(names.len(), labels.len(), "{line}");
    (name.into(), labels, value.parse().unwrap())
}

fn read(text: &str) -> Samples {
    let mut samples = Samples::new();
    let mut families = BTreeSet::new();
    let mut lines = text.lines().peekable();
    assert!(text.ends_with('\n'));
    while let Some(help) = lines.next() {
        let help = help
            .strip_prefix("# HELP ")
            .expect("a family begins with HELP");
        let (family, about) = help.split_once(' ').unwrap();
        assert!(is_name(family) && about.ends_with(['.', '?']), "{help}");
        assert!(families.insert(family.to_owned()), "{family} twice");
        let kind = lines.next().unwrap();
        let kind = kind.strip_prefix(&format!("# TYPE {family} ")).unwrap();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let (name, _, value) = read_sample(line);
            match kind {
                "counter" => assert!(name == family && name.ends_with("_total"), "{line}"),
                "gauge" => assert_eq!(name, family),
                "histogram" => assert!(
                    ["_bucket", "_sum", "_count"].contains(&name.strip_prefix(family).unwrap())
                ),
                other => panic!("{other}"),
            }
            assert!(value >= 0.0);
            let series = line.rsplit_once(' ').unwrap().0.to_owned();
            assert_eq!(samples.insert(series, value), None, "{line} twice");
        }
        if kind == "histogram" {
            check_histogram(text, family, &samples);
        }
    }
    samples
}

/// Bounds and counts rise, and the last count is the total.
fn check_histogram(text: &str, family: &str, samples: &Samples) {
    let mut before = (f64::NEG_INFINITY, 0.0);
    let bucket = format!("{family}_bucket");
    for line in text.lines().filter(|line| line.starts_with(&bucket)) {
        let (name, labels, count) = read_sample(line);
        let le: f64 = labels[0].1.parse().unwrap();
        assert!(le > before.0 && count >= before.1, "{name} {labels:?}");
        before = (le, count);
    }
    assert!(before.0.is_infinite());
    assert_eq!(Some(&before.1), samples.get(&format!("{family}_count")));
}

fn text_of(book: &Ledgers) -> String {
    let log = LogCounts {
        written: 5,
        dropped: 2,
        lost: 1,
        stale: 0,
    };
    let process = Process {
        started: 1_700_000_000,
        ready: true,
        log: Some(log),
    };
    text(&book.snapshot(), &process)
}

fn exchange(ledger: &crate::record::Ledger, took: Duration) {
    let began = Instant::now();
    let mut entry = Entry::new(began, Protocol::H3, true);
    entry.known = Some(Known::Near);
    entry.early = Some(Early::Passed);
    entry.turn_away(503, Reason::StoreDown);
    ledger.record(&entry, began + took);
}

#[test]
fn what_was_counted_is_told() {
    let book = Ledgers::new(2);
    assert!(!read(&text_of(&book)).is_empty());
    exchange(&book.ledger(0), Duration::from_micros(3));
    exchange(&book.ledger(1), Duration::from_millis(3));
    book.ledger(1).count(Limit::HeadTime);
    let told = read(&text_of(&book));
    for (series, value) in [
        (
            "requests_total{protocol=\"h3\",status=\"5xx\",outcome=\"whole\"}",
            2.0,
        ),
        (
            "turned_away_total{by=\"denied\",reason=\"store_down\"}",
            2.0,
        ),
        ("limits_met_total{limit=\"head_time\"}", 1.0),
        ("round_trips_saved_total{remedy=\"early_data\"}", 2.0),
        ("round_trips_saved_total{remedy=\"near_cache\"}", 2.0),
        ("errors_total", 2.0),
        ("whole_seconds_sum", 0.003_003),
        ("whole_seconds_count", 2.0),
        ("whole_seconds_bucket{le=\"0.000002047\"}", 0.0),
        ("whole_seconds_bucket{le=\"0.000004095\"}", 1.0),
        ("whole_seconds_bucket{le=\"0.004194303\"}", 2.0),
        ("access_log_lines_total{fate=\"dropped\"}", 2.0),
        ("ready", 1.0),
    ] {
        assert_eq!(
            told.get(&format!("roundtrip_gate_{series}")),
            Some(&value),
            "{series}"
        );
    }
}

#[test]
fn counters_never_go_back() {
    let book = Ledgers::new(1);
    let mut before = Samples::new();
    for round in 0..20 {
        exchange(&book.ledger(0), Duration::from_nanos(1 << (2 * round)));
        let mut gone = Entry::new(Instant::now(), Protocol::H1, false);
        gone.outcome = Outcome::ClientGone;
        book.ledger(0).record(&gone, Instant::now());
        let now = read(&text_of(&book));
        for (series, value) in &before {
            assert!(now[series] >= *value, "{series}");
        }
        before = now;
    }
}

#[test]
fn every_figure_is_described() {
    let page = include_str!("../../../../../docs/gate-figures.md");
    let described = |word: &str| assert!(page.contains(&format!("`{word}`")), "{word}");
    for family in &FAMILIES {
        described(family.name);
        for (label, word) in (family.rows)(&Ledgers::new(1).snapshot())
            .iter()
            .flat_map(|row| &row.labels)
        {
            described(label);
            // There are too many of these to describe, and their names are clear.
            if !["reason", "limit"].contains(label) {
                described(word);
            }
        }
    }
    for gauge in Gauge::ALL {
        described(gauge.as_str());
    }
    for timer in Timer::ALL {
        described(timer.as_str());
    }
    for outcome in Outcome::ALL {
        described(outcome.as_str());
    }
}
