//! The dashboard: one page that contains its style and script. The script fetches `/live` each
//! second and replaces the content; all HTML is made here, and without a script the page reloads
//! itself.

mod chart;
mod figures;
mod health;
mod parts;

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use roundtrip_report::html::STYLE;

use super::history::IntervalCounts;
use super::state::AdminView;
use crate::record::{Gauge, LabelValue, Remedy};
use chart::{ChartLine, chart};
use figures::{grouped, rate, span};
use roundtrip_report::ms;

const SCRIPT: &str = include_str!("page/live.js");
const OWN_STYLE: &str = include_str!("page/gate.css");

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}' 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(OWN_STYLE),
        hash(SCRIPT)
    )
});

/// The page may only use its own style and script, by their hashes, and send requests to its own
/// server.
pub(super) fn policy() -> &'static str {
    &POLICY
}

pub(super) fn whole(view: &AdminView<'_>) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                noscript { meta http-equiv="refresh" content="5"; }
                title { "gate · roundtrip" }
                style { (PreEscaped(STYLE)) }
                style { (PreEscaped(OWN_STYLE)) }
            }
            body {
                main { (live(view)) }
                footer {
                    p.lost role="status" { "Gate does not answer. These are its last figures." }
                    "Made by " (view.made_by) ". The same for programs: " a href="metrics" { "Prometheus" } ", "
                    a href="metrics.json" { "JSON" } "."
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// The part of the page that changes; it begins by saying whether gate works, and lists any
/// problems.
pub(super) fn live(view: &AdminView<'_>) -> Markup {
    html! {
        (top(view))
        (now(view))
        (charts(view))
        (health::section(view))
        (parts::lists(view))
        (saved(view))
        (parts::shares(view))
    }
}

fn top(view: &AdminView<'_>) -> Markup {
    html! {
        header.top {
            div {
                p.kicker { "roundtrip · up for " (span(view.uptime_s)) }
                h1 { "gate" }
            }
            @match &view.ready {
                Ok(()) if view.but.is_empty() => p.pill.good { "ready" },
                Ok(()) => p.pill.warn role="alert" { "ready, but " (view.but.join("; ")) },
                Err(why) => p.pill.bad role="alert" { "not ready: " (why) },
            }
        }
    }
}

fn now(view: &AdminView<'_>) -> Markup {
    let lately = view.history.lately();
    let tile = |title: &str, value: String, unit: &str| {
        html! { div { dt { (title) } dd { (value) @if !unit.is_empty() { small { " " (unit) } } } } }
    };
    let span_of = |of: Option<f64>| of.map_or_else(|| "–".into(), ms);
    html! {
        dl.tiles.now {
            (tile("Requests", rate(lately.rate(lately.requests)), "/s"))
            div {
                dt { "Errors" }
                dd class=[(lately.errors > 0).then_some("bad")] { (rate(lately.rate(lately.errors))) small { " /s" } }
            }
            (tile("Response time, p50", span_of(lately.whole.map(|w| w.median)), "ms"))
            (tile("Response time, p99", span_of(lately.whole.map(|w| w.p99)), "ms"))
            (tile("In flight", grouped(view.snapshot.gauge(Gauge::Exchanges)), ""))
            (tile("Client connections", grouped(view.snapshot.gauge(Gauge::Connections)), ""))
        }
    }
}

/// The round trips and handshakes that gate has saved.
fn saved(view: &AdminView<'_>) -> Markup {
    let all = view.snapshot.saved();
    let lately = view.history.lately();
    let parts: Vec<(Remedy, u64)> = Remedy::ALL
        .iter()
        .map(|remedy| (*remedy, view.snapshot.get(*remedy)))
        .collect();
    html! {
        article.saved {
            div.heads {
                p { strong { (grouped(all)) } span { "round trips saved" } span.quiet { (rate(lately.rate(lately.saved))) " /s now" } }
                p { strong { (grouped(view.snapshot.avoided())) } span { "handshakes avoided" } span.quiet { (rate(lately.rate(lately.avoided))) " /s now" } }
            }
            (parts::stack(&parts, all))
        }
    }
}

fn charts(view: &AdminView<'_>) -> Markup {
    let series = |of: &dyn Fn(&IntervalCounts) -> Option<f64>| {
        view.history.points().map(of).collect::<Vec<_>>()
    };
    let requests = ChartLine::area("requests", series(&|p| Some(p.rate(p.requests))));
    let errors = ChartLine::thin("errors", series(&|p| Some(p.rate(p.errors)))).rare();
    let whole = ChartLine::area("median", series(&|p| p.whole.map(|w| w.median)));
    let tail_of_whole = ChartLine::thin("p99", series(&|p| p.whole.map(|w| w.p99)));
    let backend = ChartLine::thin("backend", series(&|p| p.backend.map(|b| b.median)));
    let tail_of_backend = ChartLine::thin("backend_p99", series(&|p| p.backend.map(|b| b.p99)));
    let added = ChartLine::thin("added", series(&|p| p.added.map(|a| a.median)));
    let tail_of_gate = ChartLine::thin("added_p99", series(&|p| p.added.map(|a| a.p99)));
    html! {
        div.grid {
            (chart("Requests", "/s", &[requests.named("answered"), errors.named("errors")]))
            (chart("Response time", "ms", &[whole.named("p50"), tail_of_whole.named("p99")]))
            (chart("Backend and gate", "ms", &[
                backend.named("backend p50"), tail_of_backend.named("p99"),
                added.named("gate p50"), tail_of_gate.named("p99"),
            ]))
        }
    }
}
