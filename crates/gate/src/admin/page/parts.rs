//! The rest of the page: savings, shares, and lists of the current state and of errors.

use maud::{Markup, html};
use roundtrip_report::html::percent as width;

use super::figures::{grouped, percent, share};
use crate::admin::state::AdminView;
use crate::record::{Gauge, LabelValue, Limit, Pool, Reason, ReasonKind, Remedy, Store, Streams};

/// Longer lists are cut; the JSON document has all rows.
const MAX_ROWS: usize = 8;

/// One bar, with a piece for each remedy.
pub(super) fn stack(parts: &[(Remedy, u64)], all: u64) -> Markup {
    let mut from = 0;
    let placed: Vec<(Remedy, u64, u64)> = parts
        .iter()
        .map(|(remedy, count)| {
            from += count;
            (*remedy, from - count, *count)
        })
        .collect();
    html! {
        svg.bar width="100%" height="14" aria-hidden="true" {
            @for (remedy, start, count) in &placed {
                rect.(remedy.as_str()) x=(width(*start as f64, all as f64)) width=(width(*count as f64, all as f64)) height="14" {}
            }
        }
        ul.legend.remedies {
            @for (remedy, _, count) in &placed {
                li class=(remedy.as_str()) { (title(*remedy)) " " b { (grouped(*count)) } }
            }
        }
    }
}

fn title(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::UpstreamReuse => "backend connections reused",
        Remedy::Resumption => "resumed TLS 1.2",
        Remedy::EarlyData => "early data",
        Remedy::FastOpen => "fast open",
        Remedy::NearCache => "session cache hits",
    }
}

/// Shows totals and how many of them were good, in the last minute and since the start.
pub(super) fn shares(view: &AdminView<'_>) -> Markup {
    let (minute, whole) = (view.history.minute(), &view.snapshot);
    html! {
        div.grid.four {
            (meter("TLS handshakes resumed", "avoided", minute.handshakes, whole.handshakes()))
            (meter("TLS handshakes with early data", "early_data", minute.early, whole.early_handshakes()))
            (meter("Backend connections reused", "upstream_reuse", minute.carried, whole.carried()))
            (meter("Session cache hits", "near_cache", minute.sessions, whole.sessions()))
        }
    }
}

fn meter(title: &str, class: &str, minute: (u64, u64), whole: (u64, u64)) -> Markup {
    let lately = share(minute);
    html! {
        article.meter {
            h2.first { (title) }
            p.share { (lately.map_or_else(|| "–".into(), percent)) span.quiet { " last minute" } }
            svg.bar width="100%" height="8" aria-hidden="true" {
                rect.(class) width=(width(lately.unwrap_or(0.0), 1.0)) height="8" {}
            }
            p.quiet {
                @if whole.0 > 0 { (grouped(whole.1)) " of " (grouped(whole.0)) " so far" }
                @else { "none so far" }
            }
        }
    }
}

pub(super) fn lists(view: &AdminView<'_>) -> Markup {
    let s = &view.snapshot;
    let now = [
        ("Client connections", s.gauge(Gauge::Connections)),
        ("Requests in flight", s.gauge(Gauge::Exchanges)),
        ("Backend connections", s.gauge(Gauge::Links)),
        ("… idle", s.gauge(Gauge::IdleLinks)),
        ("Sessions cached", s.gauge(Gauge::Sessions)),
        ("Worker threads", s.gauge(Gauge::Accepting)),
    ];
    let wanted = |reason: &&Reason| reason.kind() != ReasonKind::Answer;
    let rejected = Reason::ALL
        .iter()
        .filter(wanted)
        .map(|r| (words(r.as_str()), s.get(*r)));
    let limits = Limit::ALL.iter().map(|l| (words(l.as_str()), s.get(*l)));
    let events = [
        ("Waited for a backend connection", s.get(Pool::Waited)),
        ("Retried", s.get(Pool::Retried)),
        ("Servers ejected", s.get(Pool::Ejected)),
        ("Session store errors", s.get(Store::Outage)),
        ("Session cache flushed", s.get(Store::Flushed)),
        ("Streams ended by revocation", s.get(Streams::Revoked)),
        (
            "Log lines dropped",
            view.process.log.map_or(0, |log| log.dropped + log.lost),
        ),
    ];
    let owned = |rows: &[(&str, u64)]| rows.iter().map(|(t, n)| ((*t).to_owned(), *n)).collect();
    html! {
        div.grid.four {
            (list("Now", owned(&now), false))
            (list("Rejected or failed, by reason", rejected.collect(), true))
            (list("Limits reached", limits.collect(), true))
            (list("Events", owned(&events), true))
        }
    }
}

/// If `counted`, rows with zero are left out, and the most frequent come first.
fn list(title: &str, mut rows: Vec<(String, u64)>, counted: bool) -> Markup {
    if counted {
        rows.retain(|(_, count)| *count > 0);
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    }
    let more = rows.len().saturating_sub(MAX_ROWS);
    html! {
        article.list {
            h2.first { (title) }
            @if rows.is_empty() { p.quiet { "none" } }
            dl {
                @for (what, count) in rows.iter().take(MAX_ROWS) {
                    div { dt { (what) } dd { (grouped(*count)) } }
                }
            }
            @if more > 0 { p.quiet { "and " (more) " more" } }
        }
    }
}

/// Turns a metric's label into words.
fn words(label: &str) -> String {
    label.replace('_', " ")
}
