//! Shows a history as an HTML page: for each URL its lasting change, bands for the parties over
//! time, and marks for findings and failures.

mod picture;

use maud::{Markup, html};
use roundtrip_report::html::{PageHead, frame};
use roundtrip_report::{clean, count, ms};

use crate::time::{minute, span};
use crate::view::{RecordedCause, found, longest, views, whole};
use crate::{Period, RecordedSeries, lasting_change, text};

const STYLE: &str = include_str!("page/page.css");
/// The largest number of causes in the table.
const MAX_CAUSES: usize = 12;

pub fn page(title: &str, all: &[RecordedSeries], head: &PageHead) -> String {
    let body = html! {
        @if all.is_empty() { article { h1 { "Nothing has been measured yet" } } }
        @for (key, series) in all.iter().enumerate() { (article(series, key)) }
        article {
            h2.first { "How it was made" }
            dl.facts { (head.entries("")) }
        }
    };
    frame(title, STYLE, &body, &head.made_by)
}

/// The article about one series. `key` distinguishes the ids of its pictures from others on the
/// page.
fn article(series: &RecordedSeries, key: usize) -> Markup {
    let periods = longest(series);
    let all = whole(periods);
    let change = lasting_change(periods);
    let causes = found(periods);
    html! {
        article {
            header {
                p.kicker { (clean(&series.strategy)) ", every " (span(series.every)) }
                h1 { (clean(&series.url)) }
                (tiles(&all))
            }
            @if let Some(outage) = text::outage(series) { div.failure { p { (outage) } } }
            p class=(if change.is_some() { "finding" } else { "note" }) { (text::sentence(change, periods)) }
            @for (number, view) in views(series).iter().enumerate() {
                (picture::figure(view, change, &causes, &format!("{key}-{number}")))
            }
            (table(&causes, &all))
            (failures(&all))
        }
    }
}

fn tiles(all: &Period) -> Markup {
    let readings = all.ok + all.failed();
    let rate = 100.0 * all.ok as f64 / readings.max(1) as f64;
    html! {
        dl.tiles {
            div { dt { "Succeeded" } dd class=(if all.failed() == 0 { "good" } else { "bad" }) { (format!("{rate:.2}")) small { " % of " (count(readings, "reading", "readings")) } } }
            @for (name, value) in [("Median", all.quantile(0.5)), ("90th percentile", all.quantile(0.9)), ("99th percentile", all.quantile(0.99)), ("Path", all.rtt_ms)] {
                @if let Some(value) = value { div { dt { (name) } dd { (ms(value)) small { " ms" } } } }
            }
            @if let Some(trips) = all.round_trips() { div { dt { "Round trips" } dd { (format!("{trips:.2}")) } } }
        }
    }
}

fn table(causes: &[RecordedCause], all: &Period) -> Markup {
    html! {
        @if !causes.is_empty() {
            h2 { "What was found" }
            div.scroll { table {
                thead { tr { @for head in ["cause", "readings", "ms each", "first", "last"] { th scope="col" { (head) } } } }
                tbody { @for found in causes.iter().take(MAX_CAUSES) { tr {
                    th scope="row" { (clean(&found.id)) }
                    td { (found.count) " of " (all.ok) }
                    td { (ms(found.ms / found.count.max(1) as f64)) }
                    td { (minute(found.first)) }
                    td { (minute(found.last)) }
                } } }
            } }
        }
    }
}

fn failures(all: &Period) -> Markup {
    html! {
        @if all.failed() > 0 {
            div.failure { @for (kind, count) in &all.failures { p { b { (count) " ×" } " " (clean(kind)) } } }
        }
    }
}
