//! The table of several ways: while it fills, when it is full, and with errors.

use proptest::prelude::*;
use roundtrip_model::{Exchange, Waited};
use roundtrip_report::json;
use roundtrip_report::terminal::Style;
use roundtrip_report::text::{ways, ways_head, ways_lesson, ways_notes, ways_row, ways_ruler};
use roundtrip_report::ways::{Activity, MeasuredRun, WayRuns, Ways};

use crate::samples;
use crate::terminal::{plain, without_sgr};

/// A run of this many round trips of 90 ms, and 2 ms of local work.
fn answer(word: &str, round_trips: u32) -> MeasuredRun {
    let network = f64::from(round_trips) * 90.2;
    MeasuredRun {
        ms: network + 2.0,
        round_trips,
        waited: Waited {
            network,
            client: 2.0,
            ..Waited::default()
        },
        used: word.parse().unwrap(),
    }
}

fn waiting() -> Ways {
    let titled = [
        ("TLS 1.2, new connection", "h1+tls1.2"),
        ("TCP fast open", "h1+tls1.3+tfo-pq"),
        ("HTTP/3 with 0-RTT", "h3+0rtt"),
        ("kept connection", "h1+tls1.3+reuse"),
    ];
    Ways {
        rtt_ms: 90.0,
        runs: 3,
        seed: 1,
        ways: titled
            .map(|(title, word)| WayRuns::new(title, word.parse().unwrap()))
            .into(),
    }
}

fn finished() -> Ways {
    let mut table = waiting();
    for way in &mut table.ways {
        let word = way.strategy.to_string();
        way.answers = vec![answer(&word, way.strategy.round_trips()); 3];
    }
    table
}

/// The first way is slow because of a retransmission, one falls back, one fails once, one always.
fn troubled() -> Ways {
    let mut table = finished();
    table.ways[0].answers[1].ms += 1000.0;
    table.ways[1].answers = vec![answer("h1+tls1.3-pq", 3); 3];
    table.ways[2].answers.clear();
    table.ways[2].failures = vec!["no answer within 10 s".into(); 3];
    table.ways[3].answers.pop();
    table.ways[3].failures = vec!["the server closed the connection".into()];
    table
}

fn whole(table: &Ways, style: &Style) -> String {
    [ways, ways_notes, ways_lesson]
        .map(|part| part(table, style))
        .concat()
}

#[test]
fn the_legend_names_every_party_of_the_bars() {
    let mut table = finished();
    assert!(!ways_notes(&table, &plain(100)).contains("unknown"));
    for answer in &mut table.ways[1].answers {
        answer.waited.unknown = 20.0;
    }
    let whole = whole(&table, &plain(100));
    assert!(
        whole.contains("██?") && whole.contains("? unknown"),
        "{whole}"
    );
}

#[test]
fn it_fills() {
    let mut table = waiting();
    let mut text = ways(&table, &plain(100));
    table.ways[0].stage = Activity::Asking { ms: 135.0 };
    text.push_str(&ways(&table, &plain(100)));
    table.ways[0] = finished().ways[0].clone();
    table.ways[1].stage = Activity::Preparing;
    text.push_str(&ways(&table, &plain(100)));
    insta::assert_snapshot!(text);
}

#[test]
fn finished_in_widths() {
    let text = [40, 60, 80, 120].map(|width| whole(&finished(), &plain(width)));
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn trouble_is_told() {
    insta::assert_snapshot!(whole(&troubled(), &plain(100)));
    let document = json::ways(&troubled());
    assert_eq!(document["ways"][1]["agrees"], false);
    assert_eq!(document["ways"][2]["agrees"], serde_json::Value::Null);
    assert_eq!(document["ways"][2]["failures"].as_array().unwrap().len(), 3);
}

#[test]
fn the_document_of_a_way() {
    let document = json::ways(&finished());
    insta::assert_snapshot!(format!("{:#}", document["ways"][3]));
    assert_eq!(document["schema"], "roundtrip/demo/1");
}

#[test]
fn output_row_by_row_is_the_same_table() {
    let (table, style) = (finished(), plain(100));
    let mut text = ways_head(&table, &style);
    for place in 0..table.ways.len() {
        text.push_str(&ways_row(&table, place, &style));
    }
    text.push_str(&ways_ruler(&table, &style));
    assert_eq!(text, ways(&table, &style));
}

#[test]
fn the_lesson_follows_from_the_measurements() {
    assert_eq!(waiting().lesson(), None);
    let mut slower = finished();
    for answer in slower
        .ways
        .iter_mut()
        .skip(1)
        .flat_map(|way| &mut way.answers)
    {
        answer.ms += 1000.0;
    }
    assert_eq!(slower.lesson(), None);
    let mut unbelievable = finished();
    for answer in unbelievable
        .ways
        .iter_mut()
        .flat_map(|way| &mut way.answers)
    {
        answer.round_trips = 4;
    }
    assert_eq!(unbelievable.lesson(), None);
    let lesson = finished().lesson().unwrap();
    assert!(lesson.contains("1 round trip instead of 4"), "{lesson}");
}

#[test]
fn colour_and_ascii_change_nothing_else() {
    for table in [waiting(), finished(), troubled()] {
        let bare = whole(&table, &plain(100));
        let coloured = Style {
            colour: true,
            ..plain(100)
        };
        let coloured = whole(&table, &coloured);
        assert_eq!(without_sgr(&coloured), bare);
        let ascii = Style {
            unicode: false,
            ..plain(100)
        };
        let ascii = whole(&table, &ascii);
        assert!(ascii.is_ascii(), "{ascii}");
        let lengths = |text: &str| text.lines().map(|l| l.chars().count()).collect::<Vec<_>>();
        assert_eq!(lengths(&ascii), lengths(&bare));
    }
}

#[test]
fn a_failed_exchange_is_not_an_answer() {
    assert!(MeasuredRun::from_exchange(&samples::refused()).is_err());
    let exchange: Exchange = samples::explained();
    let answer = MeasuredRun::from_exchange(&exchange).unwrap();
    assert_eq!(answer.round_trips, exchange.round_trips());
    assert!((answer.waited.sum() - answer.ms).abs() < 1e-6);
}

proptest! {
    /// No line is wider than the terminal, and the table keeps its height while it fills.
    #[test]
    fn any_table_fits(
        width in 40_usize..=200,
        rtt_ms in 0.01_f64..5000.0,
        times in prop::collection::vec(prop::option::of(0.0_f64..100_000.0), 4),
        asking in prop::option::of(0.0_f64..1e7),
    ) {
        let mut table = Ways { rtt_ms, ..waiting() };
        let height = ways(&table, &plain(width)).lines().count();
        for (way, ms) in table.ways.iter_mut().zip(times) {
            let word = way.strategy.to_string();
            way.answers = ms.map(|ms| MeasuredRun { ms, ..answer(&word, 9) }).into_iter().collect();
            way.stage = asking.map_or(Activity::Preparing, |ms| Activity::Asking { ms });
        }
        let text = ways(&table, &plain(width));
        prop_assert_eq!(text.lines().count(), height);
        for line in text.lines() {
            prop_assert!(line.chars().count() <= width, "{}: {}", width, line);
        }
    }
}
