//! Draws one picture: a band for each party, ticks at the median and the 99th percentile, gaps, and
//! below them rows of marks for failures and for the most costly causes.
//!
//! Positions are percentages from left to right and pixels from top to bottom, and text keeps its
//! size, so that one picture serves a phone and a wide screen.

use maud::{Markup, html};
use roundtrip_report::html::{percent, swatch};
use roundtrip_report::{Party, clean, ms, round_up};

use crate::time::{mark, minute, span};
use crate::view::{RecordedCause, View};
use crate::{LastingChange, Period};

const TOP: f64 = 18.0;
const BOTTOM: f64 = 198.0;
/// Heights, in pixels: the labels of the time scale, and a row of marks below it.
const SCALE: f64 = 16.0;
const ROW: f64 = 26.0;
/// The largest number of rows of marks: more would be higher than the picture itself.
const MAX_ROWS: usize = 5;
const MARKS: usize = 4;

pub(super) fn figure(
    view: &View,
    change: Option<LastingChange>,
    causes: &[RecordedCause],
    key: &str,
) -> Markup {
    let shown: Vec<&RecordedCause> = causes
        .iter()
        .filter(|c| is_in(view, c))
        .take(MAX_ROWS)
        .collect();
    let has_failures = view.columns.iter().flatten().any(|p| p.failed() > 0);
    let rows = shown.len() + usize::from(has_failures);
    let height = BOTTOM + SCALE + 6.0 + ROW * rows as f64;
    let (title, words) = (format!("history-{key}-t"), format!("history-{key}-d"));
    let top = nice(view.top());
    html! {
        figure {
            h2 { (minute(view.from)) " – " (minute(view.to())) " UTC " span.quiet { (span(view.step)) " a column" } }
            svg.history width="100%" height=(height) role="img" aria-labelledby={ (title) " " (words) } {
                title id=(title) { "Whom the requests waited for" }
                desc id=(words) { "Columns of " (span(view.step)) ", up to " (ms(top)) " ms; " (view.gaps().len()) " gaps." }
                @for (first, count) in view.gaps() {
                    rect.gap x=(x(view, first)) width=(width(view, count)) y=(TOP) height=(BOTTOM - TOP) { title { "nothing was measured" } }
                }
                (levels(top))
                @for (place, period) in columns(view) { (band(view, place, period, top)) }
                @for (place, period) in columns(view) { (quantiles(view, place, period, top)) }
                (since(view, change))
                (marks(view))
                @let first = BOTTOM + SCALE + 6.0;
                @if has_failures { (row(view, first, "failures", "fail", |p| (p.failed(), p.ok + p.failed()))) }
                @for (number, cause) in shown.iter().enumerate() {
                    @let top = first + ROW * (number + usize::from(has_failures)) as f64;
                    (row(view, top, &cause.id, "mark", |p| (p.findings.get(&cause.id).map_or(0, |f| f.0), p.ok)))
                }
            }
            ul.legend {
                @for party in Party::BY_WEIGHT { li { (swatch(party)) (party.name()) } }
                li { "▬ median, ▪ 99th percentile" }
            }
        }
    }
}

fn is_in(view: &View, cause: &RecordedCause) -> bool {
    view.columns
        .iter()
        .flatten()
        .any(|p| p.findings.contains_key(&cause.id))
}

fn columns(view: &View) -> impl Iterator<Item = (usize, &Period)> {
    let columns = view.columns.iter().enumerate();
    columns.filter_map(|(place, period)| Some((place, period.as_ref()?)))
}

fn x(view: &View, place: usize) -> String {
    percent(place as f64, view.columns.len() as f64)
}

fn width(view: &View, count: usize) -> String {
    percent(count as f64, view.columns.len() as f64)
}

fn y(value: f64, top: f64) -> f64 {
    BOTTOM - (value / top).clamp(0.0, 1.0) * (BOTTOM - TOP)
}

/// The mean wait for each party, stacked; the network is at the bottom.
fn band(view: &View, place: usize, period: &Period, top: f64) -> Markup {
    let waited = period.waited();
    let mut below = 0.0;
    let parts: Vec<(Party, f64, f64)> = Party::BY_WEIGHT
        .into_iter()
        .map(|party| (party, party.share(&waited)))
        .filter(|(_, ms)| *ms > 0.0)
        .map(|(party, ms)| {
            let from = below;
            below += ms;
            (party, from, ms)
        })
        .collect();
    html! {
        @for (party, from, share) in parts {
            @let (upper, lower) = (y(from + share, top), y(from, top));
            rect x=(x(view, place)) width=(width(view, 1)) y=(format!("{upper:.1}")) height=(format!("{:.1}", lower - upper)) fill={ "url(#" (party.name()) ")" } {
                title { (minute(period.start)) ": " (party.name()) " " (ms(share)) " ms" }
            }
        }
    }
}

fn quantiles(view: &View, place: usize, period: &Period, top: f64) -> Markup {
    let tick = |share| {
        period
            .quantile(share)
            .map(|value| (value, y(value, top) - 1.0))
    };
    html! {
        @if let Some((value, at)) = tick(0.99) {
            rect.p99 x=(percent(place as f64 + 0.3, view.columns.len() as f64)) width=(percent(0.4, view.columns.len() as f64)) y=(format!("{at:.1}")) height="2" { title { (minute(period.start)) ": 99th percentile " (ms(value)) " ms" } }
        }
        @if let Some((value, at)) = tick(0.5) {
            rect.median x=(x(view, place)) width=(width(view, 1)) y=(format!("{at:.1}")) height="2" { title { (minute(period.start)) ": median " (ms(value)) " ms" } }
        }
    }
}

fn levels(top: f64) -> Markup {
    html! {
        @for part in [0.0, 0.5, 1.0] {
            @let at = format!("{:.1}", y(top * part, top));
            line.axis x1="0" x2="100%" y1=(at) y2=(at) {}
            @if part > 0.0 { text x="2" y=(format!("{:.1}", y(top * part, top) - 4.0)) { (ms(top * part)) " ms" } }
        }
    }
}

/// A dashed line at the moment of the lasting change.
fn since(view: &View, change: Option<LastingChange>) -> Markup {
    let within = change.filter(|change| (view.from..view.to()).contains(&change.at));
    html! {
        @if let Some(change) = within {
            @let at = percent((change.at - view.from) as f64, (view.to() - view.from) as f64);
            line.since x1=(at) x2=(at) y1=(TOP - 8.0) y2=(BOTTOM) { title { "since " (minute(change.at)) ": " (change.party.name()) } }
        }
    }
}

fn marks(view: &View) -> Markup {
    let whole = view.to() - view.from;
    let text = |n: usize| mark(view.from + whole * n as u64 / MARKS as u64, whole);
    html! {
        @for n in 0..=MARKS {
            @let class = match n { 0 => "start", MARKS => "end", _ => "middle" };
            // In a short history, several places have the same minute.
            @if n == 0 || text(n) != text(n - 1) {
                text class=(class) x=(percent(n as f64, MARKS as f64)) y=(BOTTOM + 13.0) { (text(n)) }
            }
        }
    }
}

/// One mark for each column with such readings; the larger their share, the stronger the mark.
fn row(
    view: &View,
    top: f64,
    name: &str,
    class: &str,
    share: impl Fn(&Period) -> (u64, u64),
) -> Markup {
    html! {
        text x="0" y=(top + 10.0) { (clean(name)) }
        rect.row x="0" width="100%" y=(top + 14.0) height="8" {}
        @for (place, period) in columns(view) {
            @let (count, of) = share(period);
            @if count > 0 {
                rect class=(class) x=(x(view, place)) width=(width(view, 1)) y=(top + 14.0) height="8" fill-opacity=(format!("{:.2}", 0.35 + 0.65 * count as f64 / of.max(1) as f64)) {
                    title { (minute(period.start)) ": " (count) " of " (of) }
                }
            }
        }
    }
}

/// Rounds up to 1, 2, 3, 4, 5, 6, 8 or 10 times a power of ten.
fn nice(value: f64) -> f64 {
    round_up(value, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])
}
