//! The text for a terminal: within its width, in its character set, and without control sequences
//! of a peer.

use proptest::prelude::*;
use roundtrip_model::{Exchange, PhaseName, Unexplained, Waited};
use roundtrip_report::html::PageHead;
use roundtrip_report::terminal::{Style, width as columns};
use roundtrip_report::text::{exchange, line, run, summary};
use roundtrip_report::{Run, runs};

use crate::samples;

pub(crate) fn plain(width: usize) -> Style {
    Style {
        width,
        colour: false,
        unicode: true,
    }
}

fn every_report(exchanges: &[Exchange], style: &Style) -> String {
    let mut text = String::new();
    for each in runs(exchanges) {
        text.push_str(&run(&each, style));
        text.push_str(&line(&each, Some(200.0), style));
        text.push_str(&line(&each, None, style));
    }
    text.push_str(&summary(exchanges, style));
    text
}

fn everything() -> Vec<Exchange> {
    let mut all = samples::redirected();
    all.extend([
        samples::explained(),
        samples::quic(),
        samples::refused(),
        samples::hostile(),
    ]);
    all.extend(samples::repeats(25));
    all.push(Exchange::default());
    all
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in 40..=200 {
        let text = every_report(&everything(), &plain(width));
        for line in text.lines() {
            assert!(
                columns(line) <= width,
                "{width} columns, {}: {line}",
                columns(line)
            );
        }
    }
}

#[test]
fn ascii_terminals_get_ascii_and_columns_stay() {
    let unicode = every_report(&everything(), &plain(100));
    let ascii = every_report(
        &everything(),
        &Style {
            unicode: false,
            ..plain(100)
        },
    );
    assert!(ascii.is_ascii());
    let lengths = |text: &str| text.lines().map(columns).collect::<Vec<_>>();
    assert_eq!(lengths(&unicode), lengths(&ascii));
    // Fills can be distinguished by shape alone.
    for fill in ['#', '=', 'x'] {
        assert!(ascii.contains(&fill.to_string().repeat(3)), "{fill}");
    }
    assert!(ascii.contains("name lookup    :"));
}

#[test]
fn colour_changes_only_the_colour() {
    let bare = every_report(&everything(), &plain(120));
    let coloured = every_report(
        &everything(),
        &Style {
            colour: true,
            ..plain(120)
        },
    );
    assert!(coloured.contains("\x1b[34m"));
    assert_eq!(without_sgr(&coloured), bare);
}

#[test]
fn a_peer_cannot_control_the_terminal() {
    let text = every_report(&[samples::hostile()], &plain(100));
    assert!(
        !text
            .chars()
            .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}')
    );
    assert!(text.contains("\\u{1b}[31m"));
}

#[test]
fn the_waterfall_shows_the_measurement() {
    insta::assert_snapshot!(
        "explained_at_120",
        exchange(&samples::explained(), &plain(120))
    );
    insta::assert_snapshot!(
        "explained_at_40",
        exchange(&samples::explained(), &plain(40))
    );
    let redirected = samples::redirected();
    let ascii = Style {
        unicode: false,
        ..plain(100)
    };
    insta::assert_snapshot!(
        "redirected_in_ascii",
        run(&Run { hops: &redirected }, &ascii)
    );
    insta::assert_snapshot!("refused", exchange(&samples::refused(), &plain(80)));
    insta::assert_snapshot!("quic", exchange(&samples::quic(), &plain(80)));
}

#[test]
fn nothing_arrives_from_a_peer_that_never_answered() {
    let mut silent = samples::quic();
    let quic = silent.quic.as_mut().unwrap();
    (quic.datagrams_received, quic.lost_packets) = (0, 0);
    let text = exchange(&silent, &plain(80));
    assert!(text.contains("0 received, no answer"), "{text}");
    assert!(!text.contains("none lost"), "{text}");
}

#[test]
fn much_unexplained_time_is_reported() {
    let told = |unexplained: f64| {
        let mut e = samples::explained();
        e.unexplained = unexplained;
        let html = roundtrip_report::html::page(std::slice::from_ref(&e), &PageHead::default());
        [exchange(&e, &plain(100)), html].map(|text| text.to_lowercase().contains("unexplained"))
    };
    assert_eq!(told(120.0), [true, true]);
    assert_eq!(told(2.0), [false, false]);
}

#[test]
fn the_place_of_unexplained_time_is_reported_with_advice() {
    let place = |phase, waited, after_bytes| Unexplained {
        phase,
        waited,
        after_bytes,
    };
    let server = Waited {
        server: 90.0,
        client: 2.0,
        ..Waited::default()
    };
    let client = Waited {
        client: 8.0,
        ..Waited::default()
    };
    let mut e = samples::explained();
    e.unexplained = 100.0;
    e.unexplained_at = vec![
        place(PhaseName::Body, server, Some(4_000)),
        place(PhaseName::Setup, client, None),
    ];
    let told = "100.0 ms: 92.0 ms in the body, after 4000 bytes, waiting for the server";
    let advice = "compare with a static file of the same size";
    let html = roundtrip_report::html::page(std::slice::from_ref(&e), &PageHead::default());
    for form in [exchange(&e, &plain(200)), html] {
        assert!(form.contains(told) && form.contains(advice), "{form}");
    }
    let json = roundtrip_report::json::document(std::slice::from_ref(&e));
    let first = &json["results"][0]["unexplained"][0];
    assert_eq!(
        (
            &first["phase"],
            &first["after_bytes"],
            &first["waited_for"]["server_ms"]
        ),
        (&"body".into(), &4_000.into(), &90.0.into())
    );
    assert!(first["try"].as_str().unwrap().contains(advice), "{first}");
    let series: Vec<Exchange> = (0..3).map(|run| Exchange { run, ..e.clone() }).collect();
    let most = "100.0 ms (median) in 3 of 3, most of it in the body, waiting for the server";
    let text = summary(&series, &plain(120));
    assert!(text.contains(most), "{text}");
}

#[test]
fn a_late_answer_without_a_witness_is_charged_to_nobody() {
    let mut e = samples::explained();
    let server = |e: &Exchange| -> f64 { e.phases().iter().map(|p| p.waited.server).sum() };
    let (before, first_byte) = (server(&e), PhaseName::FirstByte);
    let late = e.phases();
    let late = late.iter().find(|p| p.name == first_byte).unwrap();
    let ms = late.waited.server;
    assert!(ms > 1.0);
    e.undecided = vec![(first_byte, ms)];
    assert!((before - server(&e) - ms).abs() < 1e-9);
    let json = roundtrip_report::json::document(std::slice::from_ref(&e));
    let waited = &json["results"][0]["waited_for"];
    assert!(
        (waited["unknown_ms"].as_f64().unwrap() - ms).abs() < 0.01,
        "{waited}"
    );
    let of_all = json["summary"]["waited_for"]["unknown_ms"]["median"].as_f64();
    assert!((of_all.unwrap() - ms).abs() < 0.01, "{json}");
    let html = roundtrip_report::html::page(std::slice::from_ref(&e), &PageHead::default());
    let told = format!("unknown {ms:.1} ms");
    for form in [exchange(&e, &plain(100)), html] {
        assert!(form.contains("unknown"), "{told}: {form}");
    }
    assert!(exchange(&e, &plain(100)).contains('?'));
}

#[test]
fn nothing_is_drawn_without_a_wait() {
    let mut local = samples::refused();
    local.timeline = roundtrip_model::Timeline::default();
    samples::push(&mut local, &[(0.2, roundtrip_model::Event::Finished)]);
    for (e, drawn) in [(samples::refused(), true), (local, false)] {
        let html = roundtrip_report::html::page(std::slice::from_ref(&e), &PageHead::default());
        assert_eq!(exchange(&e, &plain(100)).contains("one mark"), drawn);
        assert_eq!(html.contains("class=\"waterfall\""), drawn);
    }
}

#[test]
fn bytes_under_way_are_reported_if_they_took_long() {
    let told = |carried: f64| {
        let mut e = samples::explained();
        e.carried = carried;
        let html = roundtrip_report::html::page(std::slice::from_ref(&e), &PageHead::default());
        [exchange(&e, &plain(100)), html].map(|text| text.to_lowercase().contains("under way"))
    };
    assert_eq!(told(120.0), [true, true]);
    assert_eq!(told(2.0), [false, false]);
}

#[test]
fn repeats_are_summed_up() {
    let series = samples::repeats(20);
    let text: String = runs(&series)
        .map(|r| line(&r, Some(220.0), &plain(90)))
        .collect();
    assert_eq!(text.lines().count(), 20);
    insta::assert_snapshot!("repeats", text + &summary(&series, &plain(90)));
    assert!(summary(&[], &plain(80)).starts_with("0 requests"));
}

pub(crate) fn without_sgr(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').unwrap().1);
    }
    out
}

proptest! {
    /// Any measurement, and any width of the terminal.
    #[test]
    fn any_timeline_can_be_shown(exchange in crate::any_exchange(), width in 0usize..400, colour: bool, unicode: bool) {
        let style = Style { width, colour, unicode };
        let text = every_report(&[exchange], &style);
        for line in without_sgr(&text).lines() {
            prop_assert!(columns(line) <= width.clamp(40, 200), "{}", line);
        }
    }
}
