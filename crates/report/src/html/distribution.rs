//! Repeats: the spread of the totals, as dots with marks at the median and the ninetieth
//! percentile, and in numbers.

use maud::{Markup, html};
use roundtrip_model::{Exchange, PhaseName, Summary};

use super::bar::percent;
use super::parts;
use crate::first::First;
use crate::numbers::{count, decimals, ms};
use crate::run::Run;
use crate::series::Series;
use crate::terminal::clean;

const HEIGHT: f64 = 170.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 148.0;
/// The least distance between two labels.
const LINE: f64 = 13.0;
/// The largest number of dots: more would hide one another, so only every k-th run is drawn.
const MAX_DOTS: usize = 1000;

/// The section with the distribution. `key` distinguishes its picture from others on the page.
pub(super) fn section(exchanges: &[Exchange], all: &[Run], key: usize) -> Markup {
    let good: Vec<&Run> = all.iter().filter(|r| r.ok()).collect();
    let totals: Vec<f64> = good.iter().map(|r| r.total_ms()).collect();
    let rate = 100.0 * good.len() as f64 / all.len().max(1) as f64;
    let url = all.first().map_or("", Run::url);
    let series = Series::new(all);
    html! {
        article {
            header {
                p.kicker { (count(all.len() as u64, "request", "requests")) @if exchanges.len() > all.len() { ", " (exchanges.len()) " with redirects" } }
                h1 { (clean(url)) }
                dl.tiles {
                    div { dt { "Succeeded" } dd class=(if good.len() == all.len() { "good" } else { "bad" }) { (format!("{rate:.1}")) small { " % (" (good.len()) " of " (all.len()) ")" } } }
                    @if let Some(s) = Summary::from_samples(&totals) {
                        div { dt { "Median" } dd { (ms(s.median)) small { " ms" } } }
                        @if let Some(rtt) = &series.rtt { div { dt { "Path" } dd { (ms(rtt.median)) small { " ms a round trip" } } } }
                        div { dt { "90th percentile" } dd { (ms(s.p90)) small { " ms" } } }
                        div { dt { "Fastest" } dd { (ms(s.min)) small { " ms" } } }
                        div { dt { "Slowest" } dd { (ms(s.max)) small { " ms" } } }
                    }
                }
            }
            @if let Some(s) = Summary::from_samples(&totals) {
                (dots(all, &s, key))
                (parts::split_bar(&series.waited, None, 0))
                p.quiet { "What the requests waited for: the median of each over the runs that succeeded." }
                (parts::series(&series))
                (numbers(&good, &s))
                @if let Some(first) = First::from_runs(all).filter(First::stands_out) { p.note { b { "Note" } " " (first.told()) } }
            }
            (failures(all))
        }
    }
}

/// Each run as a dot: its order from left to right, its total upwards.
fn dots(all: &[Run], s: &Summary, key: usize) -> Markup {
    let (title, words) = (format!("dots-{key}-t"), format!("dots-{key}-d"));
    let top = nice_top(s.max);
    let y = |value: f64| TOP + (1.0 - value / top) * (BOTTOM - TOP);
    let (median, p90) = (y(s.median), y(s.p90));
    let labels = label_heights(median, p90);
    let every = all.len().div_ceil(MAX_DOTS).max(1);
    let x = |n: usize| percent(n as f64 + 0.5, all.len() as f64);
    html! {
        figure {
            div.plot {
                svg.dots width="100%" height=(HEIGHT) role="img" aria-labelledby={ (title) " " (words) } {
                    title id=(title) { "Total of each run" }
                    desc id=(words) { "From " (ms(s.min)) " to " (ms(s.max)) " ms; median " (ms(s.median)) ", 90th percentile " (ms(s.p90)) " ms." }
                    (level(BOTTOM, "axis"))
                    (level(median, "median"))
                    (level(p90, "p90"))
                    @for (n, run) in all.iter().enumerate().step_by(every) {
                        @if run.ok() {
                            circle cx=(x(n)) cy=(format!("{:.1}", y(run.total_ms()))) r="3" { title { "run " (n + 1) ": " (ms(run.total_ms())) " ms" } }
                        } @else {
                            text.cross x=(x(n)) y=(HEIGHT - 3.0) { "×" title { "run " (n + 1) " failed" } }
                        }
                    }
                }
                svg.levels width="88" height=(HEIGHT) aria-hidden="true" {
                    text x="8" y=(BOTTOM + 4.0) { "0" }
                    text x="8" y=(format!("{:.1}", labels.0 + 4.0)) { "median " (ms(s.median)) }
                    text x="8" y=(format!("{:.1}", labels.1 + 4.0)) { "p90 " (ms(s.p90)) }
                }
            }
            figcaption { "Each run in the order it ran, by its total in ms; × marks a failure." @if every > 1 { " One run in " (every) " is drawn." } }
        }
    }
}

/// The heights of the labels of the median and of the ninetieth percentile: those of their lines,
/// unless they would cover each other or the label of the axis, or leave the picture.
fn label_heights(median: f64, p90: f64) -> (f64, f64) {
    let median = median.min(BOTTOM - LINE);
    let p90 = p90.min(median - LINE).max(TOP);
    (median.max(p90 + LINE), p90)
}

fn level(y: f64, class: &str) -> Markup {
    let line = format!("{y:.1}");
    html! { line class=(class) x1="0" x2="100%" y1=(line) y2=(line) {} }
}

/// The smallest round number of steps that contains the largest value.
fn nice_top(max: f64) -> f64 {
    let step = crate::text::round_step(max / 10.0);
    if step > 0.0 {
        (max * 1.02 / step).ceil() * step
    } else {
        1.0
    }
}

fn numbers(good: &[&Run], total: &Summary) -> Markup {
    let places = decimals(total.max);
    let mut rows: Vec<(String, Summary)> = vec![("total".into(), *total)];
    let first: Vec<f64> = good.iter().filter_map(|r| r.first_byte_ms()).collect();
    rows.extend(Summary::from_samples(&first).map(|s| ("to first byte".to_owned(), s)));
    for name in PhaseName::ALL {
        let samples: Vec<f64> = good.iter().filter_map(|r| r.phase_ms(name)).collect();
        rows.extend(Summary::from_samples(&samples).map(|s| (name.title().to_owned(), s)));
    }
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "ms" }
                @for head in ["min", "median", "mean", "p90", "p99", "max", "std. dev."] { th scope="col" { (head) } }
            } }
            tbody { @for (name, s) in rows { tr {
                th scope="row" { (name) }
                @for value in [s.min, s.median, s.mean, s.p90, s.p99, s.max, s.stddev] { td { (format!("{value:.places$}")) } }
            } } }
        } }
    }
}

fn failures(all: &[Run]) -> Markup {
    let mut messages: Vec<(String, usize)> = Vec::new();
    for failure in all.iter().filter_map(Run::failure) {
        let text = format!("{}: {}", failure.phase.title(), failure.message);
        match messages.iter_mut().find(|(m, _)| *m == text) {
            Some((_, n)) => *n += 1,
            None => messages.push((text, 1)),
        }
    }
    html! {
        @if !messages.is_empty() {
            div.failure { @for (message, n) in messages.iter().take(12) { p { b { (n) " ×" } " " (clean(message)) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cover_neither_each_other_nor_the_axis() {
        let heights = (TOP as u32..=BOTTOM as u32).map(f64::from);
        for (median, p90) in heights
            .clone()
            .flat_map(|m| heights.clone().map(move |p| (m, p)))
        {
            if p90 > median {
                continue;
            }
            let (middle, upper) = label_heights(median, p90);
            let is_apart = upper >= TOP && middle >= upper + LINE && BOTTOM >= middle + LINE;
            assert!(is_apart, "{median} {p90}: {middle} {upper}");
        }
        assert_eq!(label_heights(100.0, 50.0), (100.0, 50.0));
    }
}
