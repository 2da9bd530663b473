//! The file and what is shown of it: bounded, readable while it is written, honest about gaps.

mod phone;

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::{
    HistoryFile, MAX_SERIES, Reading, RecordedSeries, TIERS, document, page, read_history, summary,
};
use proptest::prelude::*;
use roundtrip_model::Waited;
use roundtrip_report::html::PageHead;
use serde_json::json;

/// 2026-11-25 00:00 UTC.
const MIDNIGHT: u64 = 1_795_564_800;

fn reading(at: u64, server: f64) -> Reading {
    Reading {
        at,
        url: "https://shop.example/".into(),
        strategy: "auto".into(),
        every: 60,
        total_ms: 90.0 + server,
        waited: Waited {
            network: 90.0,
            server,
            ..Waited::default()
        },
        rtt_ms: Some(30.0),
        round_trips: 3,
        ..Reading::default()
    }
}

fn stored(readings: &[Reading]) -> (tempfile::TempDir, HistoryFile) {
    let directory = tempfile::tempdir().unwrap();
    let file = HistoryFile::create(&directory.path().join("history.redb")).unwrap();
    file.add(readings).unwrap();
    (directory, file)
}

/// Six hours, slower since the fourth, with a gap of half an hour and a cause in the second.
fn six_hours() -> Vec<Reading> {
    let mut readings: Vec<Reading> = (0..360)
        .filter(|minute| !(200..230).contains(minute))
        .map(|minute| {
            let noise = f64::from(minute * 7 % 5);
            let server = if minute < 240 { 8.0 } else { 45.0 };
            reading(MIDNIGHT + 60 * minute as u64, server + noise)
        })
        .collect();
    for reading in &mut readings[60..100] {
        reading.findings = vec![("hello-retry".into(), 30.0)];
    }
    readings[20].failure = Some("refused".into());
    readings
}

#[test]
fn a_file_of_another_kind_is_called_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    for content in ["", "{\"schema\": \"roundtrip/probe/1\", \"results\": []}"] {
        fs::write(&path, content).unwrap();
        let error = read_history(&path).unwrap_err();
        assert!(
            matches!(&error, crate::HistoryError::NotHistory { .. }),
            "{error}"
        );
    }
}

#[test]
fn the_file_keeps_so_many_periods_and_no_more() {
    let each = 120;
    let readings = |days: u64| {
        let minutes = days * 1440 * 60 / each;
        (0..minutes)
            .map(move |n| reading(MIDNIGHT + n * each, 5.0))
            .collect::<Vec<_>>()
    };
    let all = readings(6);
    let (directory, file) = stored(&all[..all.len() / 2]);
    let size = || {
        fs::metadata(directory.path().join("history.redb"))
            .unwrap()
            .len()
    };
    let halfway = size();
    for day in all[all.len() / 2..].chunks(720) {
        file.add(day).unwrap();
    }
    let series = &file.series().unwrap()[0];
    for (tier, periods) in TIERS.iter().zip(&series.tiers) {
        let reach = periods.last().unwrap().start - periods[0].start;
        assert!(reach <= tier.keeps, "{} {reach}", tier.step);
        assert!(periods.windows(2).all(|pair| pair[0].start < pair[1].start));
    }
    assert_eq!(series.tiers[0].len(), 1441);
    let counted: u64 = series.tiers[2].iter().map(|period| period.ok).sum();
    assert_eq!(counted, all.len() as u64);
    assert!(size() <= 2 * halfway, "{} after {halfway}", size());
}

/// The clock is years ahead once, and then right again.
#[test]
fn a_clock_that_was_wrong_once_costs_nothing() {
    let right: Vec<_> = (0..4).map(|n| reading(MIDNIGHT + n * 60, 5.0)).collect();
    let (_directory, file) = stored(&right);
    let before = file.series().unwrap();
    file.add(&[reading(MIDNIGHT + (5 * 365 * 86_400), 5.0)])
        .unwrap();
    assert_eq!(file.series().unwrap()[0].tiers[0].len(), 5);
    file.add(&[reading(MIDNIGHT + 3 * 60 + 1, 5.0)]).unwrap();
    let after = file.series().unwrap();
    let starts = |found: &[RecordedSeries]| {
        let periods = found[0].tiers.iter().flatten();
        periods.map(|period| period.start).collect::<Vec<_>>()
    };
    assert_eq!(starts(&after), starts(&before));
}

/// The second reading removes old periods, even if it comes after a pause.
#[test]
fn old_periods_are_removed_with_the_second_reading_after_a_pause() {
    let (_directory, file) = stored(&[reading(MIDNIGHT, 5.0)]);
    let later = MIDNIGHT + 40 * 86_400;
    for (n, expected) in [(0, 2), (1, 2), (2, 3)] {
        file.add(&[reading(later + n * 60, 5.0)]).unwrap();
        assert_eq!(file.series().unwrap()[0].tiers[0].len(), expected, "{n}");
    }
}

#[test]
fn another_reads_while_one_adds() {
    let (directory, file) = stored(&[reading(MIDNIGHT, 5.0)]);
    let seen = || read_history(&directory.path().join("history.redb")).unwrap();
    assert_eq!(seen()[0].tiers[0].len(), 1);
    file.add(&[reading(MIDNIGHT + 60, 5.0)]).unwrap();
    assert_eq!(seen()[0].tiers[0].len(), 2);
    assert!(read_history(&directory.path().join("absent")).is_err());
    let garbage = directory.path().join("garbage");
    fs::write(&garbage, "not a history".repeat(1000)).unwrap();
    assert!(read_history(&garbage).is_err());
    assert!(
        fs::read_to_string(&garbage)
            .unwrap()
            .starts_with("not a history")
    );
}

/// The file has no write permission (which root does not need), and no byte of it changes.
#[test]
fn reading_writes_nothing() {
    let (directory, file) = stored(&six_hours());
    drop(file);
    let path = directory.path().join("history.redb");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let before = fs::read(&path).unwrap();
    let read = read_history(&path).unwrap();
    assert_eq!(read[0].tiers[0].len(), 330);
    assert!(fs::read(&path).unwrap() == before);
}

/// A copy made while the file is open is what a crash leaves.
#[test]
fn the_file_of_a_crashed_writer_can_be_read() {
    let (directory, file) = stored(&six_hours());
    let left = directory.path().join("left.redb");
    fs::copy(directory.path().join("history.redb"), &left).unwrap();
    drop(file);
    let read = read_history(&left).unwrap();
    assert_eq!(read[0].tiers[0].len(), 330);
}

/// Bits that changed, sectors that were lost, and a file that was cut.
#[test]
fn a_damaged_file_is_read_or_refused() {
    let (directory, file) = stored(&six_hours());
    drop(file);
    let path = directory.path().join("history.redb");
    let whole = fs::read(&path).unwrap();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut refused = 0;
    for number in 0..160 {
        let mut bytes = whole.clone();
        if number % 10 == 0 {
            bytes.truncate(random(whole.len()));
        }
        let length = [1, 1, 4, 512][number % 4];
        // Every other time, the first bytes are changed, which say where the others are.
        let from = random([bytes.len() + 1, 640][number % 2]);
        for byte in bytes.iter_mut().skip(from).take(length) {
            *byte ^= 1 << random(8);
        }
        fs::write(&path, &bytes).unwrap();
        refused += u32::from(read_history(&path).is_err());
        assert!(fs::read(&path).unwrap() == bytes, "{number}");
        let added = HistoryFile::create(&path).and_then(|file| file.add(&[reading(MIDNIGHT, 1.0)]));
        refused += u32::from(added.is_err());
    }
    assert!(refused > 30, "{refused}");
}

/// One minute shows neither that something changed nor that nothing did.
#[test]
fn a_short_history_claims_nothing() {
    let (_directory, file) = stored(&[reading(MIDNIGHT, 5.0)]);
    let all = file.series().unwrap();
    assert!(summary(&all).contains("before 10 periods with answers; so far: 1."));
    let page = page("history", &all, &PageHead::default());
    assert_eq!(page.matches(">00:00<").count(), 1, "{page}");
}

/// Figures that no run can produce, and that would break sums and pictures.
#[test]
fn what_nobody_measured_is_a_gap() {
    for mut wrong in [
        json!({"ok": u64::MAX}),
        json!({"failures": {"refused": u64::MAX}}),
        json!({"totals": {"65535": 1}, "ok": 1}),
        json!({"findings": {"late-answer": [u64::MAX, 1.0]}, "ok": 1}),
        json!({"start": u64::MAX, "ok": 1}),
        json!({"start": 60, "ok": 1}),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.redb");
        let good = [reading(MIDNIGHT, 5.0), reading(MIDNIGHT + 120, 5.0)];
        let series = Reading {
            every: u64::MAX,
            ..good[1].clone()
        };
        let file = HistoryFile::create(&path).unwrap();
        file.add(&[good[0].clone(), series]).unwrap();
        let fields = wrong.as_object_mut().unwrap();
        fields.entry("start").or_insert(json!(MIDNIGHT + 60));
        file.put_period(MIDNIGHT + 60, wrong.to_string().as_bytes());
        let all = read_history(&path).unwrap();
        assert_eq!(all[0].tiers[0].len(), 2, "{wrong}");
        summary(&all);
        document(&all);
        page("history", &all, &PageHead::default());
    }
}

#[test]
fn series_are_told_apart_and_bounded() {
    let named = |n: u32| Reading {
        url: format!("http://host{n}/"),
        ..reading(MIDNIGHT, 5.0)
    };
    let (_directory, file) = stored(&(0..MAX_SERIES).map(named).collect::<Vec<_>>());
    assert_eq!(file.series().unwrap().len(), MAX_SERIES as usize);
    file.add(&[named(3)]).unwrap();
    let error = file.add(&[named(MAX_SERIES)]).unwrap_err().to_string();
    assert!(error.contains("begin another file"), "{error}");
    assert_eq!(file.series().unwrap()[3].tiers[0][0].ok, 2);
}

#[test]
fn it_says_since_when_and_whose() {
    let (_directory, file) = stored(&six_hours());
    let all = file.series().unwrap();
    insta::assert_snapshot!(summary(&all), @r"
    https://shop.example/  auto
      330 readings, 1 failed, every 60 s, from 2026-11-25 00:00 to 2026-11-25 05:59 UTC, median 104.9 ms, p99 142.6 ms
      Since 2026-11-25 04:00 UTC the requests wait 37.0 ms longer for the server: 47.0 ms each instead of 10.01.
      hello-retry: 40 of 329, 30.0 ms each, since 2026-11-25 01:00
    ");
    let json = document(&all);
    let series = &json["series"][0];
    assert_eq!(series["change"]["since"], MIDNIGHT + 240 * 60);
    assert_eq!(series["change"]["waited_for"], "server");
    assert_eq!(series["all"]["failures"]["refused"], 1);
    assert_eq!(series["findings"][0]["readings"], 40);
    assert_eq!(series["tiers"][0]["periods"].as_array().unwrap().len(), 330);
    let steady: Vec<Reading> = (0..100).map(|n| reading(MIDNIGHT + n * 60, 5.0)).collect();
    let (_directory, file) = stored(&steady);
    assert!(summary(&file.series().unwrap()).contains("No lasting change"));
}

#[test]
fn an_outage_that_lasts_is_told_first() {
    let minutes = |oks: u64, failed: u64| -> Vec<Reading> {
        (0..oks + failed)
            .map(|n| Reading {
                failure: (n >= oks).then(|| "refused".to_owned()),
                ..reading(MIDNIGHT + n * 60, 5.0)
            })
            .collect()
    };
    let told = |readings: &[Reading]| {
        let (_directory, file) = stored(readings);
        let all = file.series().unwrap();
        (summary(&all), page("x", &all, &PageHead::default()))
    };
    let outage = "Since 2026-11-25 00:10 UTC every request has failed, 3 in a row: refused.";
    let (text, page) = told(&minutes(10, 3));
    assert!(text.contains(outage) && page.contains(outage), "{text}");
    assert!(told(&minutes(0, 4)).0.contains("00:00 UTC every request"));
    let mut over = minutes(10, 3);
    over.push(reading(MIDNIGHT + 13 * 60, 5.0));
    for readings in [minutes(10, 2), over] {
        assert!(!told(&readings).0.contains("every request has failed"));
    }
}

#[test]
fn the_page_shows_gaps_as_gaps_and_quotes_nothing_raw() {
    let hostile = |reading: Reading| Reading {
        url: "https://x/<script>alert(1)</script>".into(),
        findings: vec![("<img src=x>".into(), 3.0)],
        ..reading
    };
    let (_directory, file) = stored(&six_hours());
    file.add(&six_hours().into_iter().map(hostile).collect::<Vec<_>>())
        .unwrap();
    let text = page("history", &file.series().unwrap(), &PageHead::default());
    assert!(text.contains("nothing was measured"));
    assert_eq!(
        text.matches("class=\"gap\"").count(),
        2,
        "one gap in each of the two"
    );
    assert!(text.contains("class=\"since\"") && text.contains("hello-retry"));
    assert!(!text.contains("<script>") && !text.contains("<img"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!text.contains(outside), "{outside}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the times and figures are, nothing panics, and no reading is lost from the coarsest
    /// tier.
    #[test]
    fn any_readings_are_kept_and_shown(
        readings in proptest::collection::vec((0..u64::MAX / 4_000, any::<f64>(), any::<f64>()), 1..20)
    ) {
        let readings: Vec<Reading> = readings.into_iter().map(|(at, total_ms, server)| Reading {
            total_ms,
            waited: Waited { server, ..Waited::default() },
            ..reading(at, 1.0)
        }).collect();
        let (_directory, file) = stored(&readings);
        let all = file.series().unwrap();
        prop_assert!(all[0].tiers.iter().all(|periods| !periods.is_empty()));
        let _ = (summary(&all), document(&all).to_string(), page("x", &all, &PageHead::default()));
    }
}
