//! The page as a whole: its order, and how much of a long series is shown.

use maud::{Markup, html};
use roundtrip_model::Exchange;

use super::frame::{PageHead, frame};
use super::{distribution, parts, waterfall};
use crate::numbers::{ms, trips};
use crate::run::{Run, is_worth_drawing, runs};
use crate::terminal::clean;

/// Waterfalls beyond this many make a page slow to open; a note says how many are left out.
const MAX_WATERFALLS: usize = 24;

/// All exchanges on one page.
pub fn page(exchanges: &[Exchange], head: &PageHead) -> String {
    let all: Vec<Run> = runs(exchanges).collect();
    let title = match all.first() {
        Some(run) => run.url().to_owned(),
        None => "nothing measured".into(),
    };
    let body = html! {
        (body(exchanges, &all))
        article {
            h2.first { "How it was measured" }
            dl.facts { (head.entries("")) }
        }
    };
    frame(&title, "", &body, &head.made_by)
}

/// The measurements of each URL, one after the other.
fn body(exchanges: &[Exchange], all: &[Run]) -> Markup {
    let mut rest = exchanges;
    let mut first = 0;
    let mut parts = Vec::new();
    for series in all.chunk_by(|a, b| a.url() == b.url()) {
        let (mine, others) = rest.split_at(series.iter().map(|run| run.hops.len()).sum());
        parts.push(of_one_url(mine, series, first));
        rest = others;
        first += series.len();
    }
    html! {
        @if parts.is_empty() { h1 { "Nothing was measured" } }
        @for part in parts { (part) }
    }
}

/// `first` is the index of the first of these runs on the page.
fn of_one_url(exchanges: &[Exchange], series: &[Run], first: usize) -> Markup {
    match series {
        [only] => html! { article { (run_body(only, first, false)) } },
        many => html! {
            (distribution::section(exchanges, many, first))
            (each(many, first))
        },
    }
}

/// One exchange in full. `key` distinguishes its pictures from those of the others on a page.
pub fn exchange(exchange: &Exchange, key: usize) -> Markup {
    let hops = std::slice::from_ref(exchange);
    run_body(&Run { hops }, key, false)
}

/// The runs of a series. Each is folded, so that only one line shows.
fn each(all: &[Run], first: usize) -> Markup {
    let shown = chosen(all);
    let slowest = all.iter().map(Run::total_ms).fold(0.0, f64::max);
    html! {
        article {
            h2.first { "Each run" }
            @for (place, run) in &shown {
                details.run {
                    summary {
                        span.number { (place + 1) }
                        span.result { (status(run).0) }
                        span.took { (format!("{:.1} ms", run.total_ms())) }
                        span.turns { (run.round_trips()) " RT" }
                        (parts::small_bar(&run.waited(), slowest))
                    }
                    (run_body(run, first + *place, true))
                }
            }
            @if shown.len() < all.len() {
                p.quiet { (shown.len()) " of " (all.len()) " runs are shown: the fastest, the median and the slowest, the failures, then the first. The JSON report has them all." }
            }
        }
    }
}

/// The runs whose waterfalls are shown, in the order in which they ran.
fn chosen<'a>(all: &[Run<'a>]) -> Vec<(usize, Run<'a>)> {
    let numbered = || all.iter().copied().enumerate();
    let mut by_time: Vec<(usize, Run)> = numbered().filter(|(_, r)| r.ok()).collect();
    by_time.sort_by(|a, b| a.1.total_ms().total_cmp(&b.1.total_ms()));
    let telling = [
        by_time.first(),
        by_time.get(by_time.len() / 2),
        by_time.last(),
    ];
    let failed = numbered().filter(|(_, r)| !r.ok());
    let mut picked: Vec<(usize, Run)> = Vec::new();
    for (place, run) in telling
        .into_iter()
        .flatten()
        .copied()
        .chain(failed)
        .chain(numbered())
    {
        if picked.len() >= MAX_WATERFALLS {
            break;
        }
        if !picked.iter().any(|(p, _)| *p == place) {
            picked.push((place, run));
        }
    }
    picked.sort_by_key(|(place, _)| *place);
    picked
}

/// The body of one run. `key` distinguishes this run's pictures from those of the others on the
/// page.
fn run_body(run: &Run, key: usize, folded: bool) -> Markup {
    let Some(last) = run.last() else {
        return html! {};
    };
    let alone = run.hops.len() == 1;
    html! {
        (headline(run, last, folded))
        @if run.hops.iter().any(is_worth_drawing) {
            (parts::split_bar(&run.waited(), last.rtt.filter(|_| alone), run.round_trips()))
        }
        @for (place, hop) in run.hops.iter().enumerate() {
            (hop_section(run, key, place, hop))
        }
    }
}

/// The result of a run, and the class of its text.
fn status(run: &Run) -> (String, &'static str) {
    match (run.last().and_then(|e| e.http.as_ref()), run.ok()) {
        (_, false) => ("failed".into(), "bad"),
        (Some(http), true) if http.status == 0 => ("not read".into(), "quiet"),
        (Some(http), true) if http.status >= 400 => (http.status.to_string(), "warn"),
        (Some(http), true) => (http.status.to_string(), "good"),
        (None, true) => ("ok".into(), "good"),
    }
}

fn headline(run: &Run, last: &Exchange, folded: bool) -> Markup {
    let status = status(run);
    let expected = last.used.round_trips();
    let method = last.http.as_ref().map(|h| clean(&h.method));
    let method = method.filter(|method| !method.is_empty());
    html! {
        header {
            p.kicker {
                @if let Some(method) = method { (method) " · " }
                (last.used)
            }
            @if !folded { h1 { (clean(run.url())) } }
            dl.tiles {
                div { dt { "Status" } dd class=(status.1) { (status.0) } }
                div { dt { "Total" } dd { (ms(run.total_ms())) small { " ms" } } }
                div { dt { "Round trips" } dd { (run.round_trips()) @if run.ok() && run.hops.len() == 1 { small { " of " (expected) " expected" } } } }
                @if let Some(rtt) = last.rtt {
                    div { dt { "Path" } dd { (crate::numbers::span_ms(rtt)) small { " ms a round trip" } } }
                }
                @if let Some(first) = run.first_byte_ms() {
                    div { dt { "First byte" } dd { (ms(first)) small { " ms" } } }
                }
            }
        }
    }
}

fn hop_section(run: &Run, key: usize, place: usize, hop: &Exchange) -> Markup {
    let status = hop.http.as_ref().map(|h| h.status.to_string());
    html! {
        section {
            @if run.hops.len() > 1 {
                h2 {
                    span.step { (place + 1) } " "
                    @if let Some(status) = status { (status) " " }
                    (clean(&hop.url))
                    span.quiet { " " (ms(crate::run::total_ms(hop))) " ms · " (trips(hop.round_trips())) }
                }
            }
            @if let Some(failure) = &hop.failure {
                (parts::failure(failure))
            }
            @if is_worth_drawing(hop) { (waterfall::figure(run, key, place, hop)) }
            (parts::notes(&hop.notes))
            (parts::findings(&hop.findings))
            (parts::carried(hop))
            (parts::unexplained(hop))
            (waterfall::table(hop))
            (parts::facts(hop))
        }
    }
}
