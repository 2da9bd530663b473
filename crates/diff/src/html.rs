//! The comparison as one self-contained page, in the frame of every page.

use maud::{Markup, html};
use roundtrip_model::Waited;
use roundtrip_report::html::{PageHead, bar, frame, percent, swatch};
use roundtrip_report::{Party, clean, ms};

use crate::numbers::{Decimals, by_size, number, price, spread, title, trips};
use crate::{
    CheckChange, Contribution, Diff, DoctorDiff, ProbeDiff, Provenance, ReportedCheck, SideFigures,
    Trend, Weight,
};

const STYLE: &str = "
.answer { font-size: 1.1rem; line-height: 1.55; margin: 0 0 1.25rem; overflow-wrap: anywhere; }
td.text, th.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
.pair { display: grid; grid-template-columns: 1.5rem 1fr 6rem; gap: .3rem .6rem; align-items: center; font-variant-numeric: tabular-nums; }
.pair b.took { text-align: right; } .less { fill: var(--good); } .more { fill: var(--bad); }
td svg { min-width: 6rem; }
";

/// The whole page; `files` are the names of A and B.
pub fn page(diff: &Diff, files: (&str, &str), head: &PageHead) -> String {
    let answer = match diff {
        Diff::Probe(diff) => probe(diff, files),
        Diff::Doctor(diff) => doctor(diff, files),
    };
    let body = html! {
        (answer)
        article {
            h2.first { "How it was compared" }
            dl.facts { (made("A", diff.made().0)) (made("B", diff.made().1)) (head.entries("")) }
        }
    };
    frame("A and B", STYLE, &body, &head.made_by)
}

/// When, where and by which version a side was measured.
fn made(side: &str, by: &Provenance) -> Markup {
    html! {
        @if let Some(told) = by.told() { div { dt { "Measured " (side) } dd { (clean(&told)) } } }
    }
}

fn probe(diff: &ProbeDiff, files: (&str, &str)) -> Markup {
    html! {
        article {
            p.kicker { "A " (clean(files.0)) " · B " (clean(files.1)) }
            h1 { (clean(&diff.urls.1)) }
            p.answer { (clean(&diff.answer)) }
            dl.tiles {
                (tile("A", &diff.figures.0, diff.failed.0))
                (tile("B", &diff.figures.1, diff.failed.1))
                div { dt { "B − A" } dd { (Decimals::from_diff(diff).signed(diff.difference.ms)) small { " ms" } } }
            }
            (bars(diff))
            h2 { "Where the difference comes from" }
            (parts(diff))
            h2 { "Phase by phase" }
            (phases(diff))
            (findings(diff))
            (facts(diff))
        }
    }
}

fn tile(side: &str, figures: &SideFigures, failed: usize) -> Markup {
    html! {
        div {
            dt { (side) ": " (spread(&figures.total)) @if failed > 0 { ", " (failed) " failed" } }
            dd { (ms(figures.total.median)) small { " ms, " (trips(figures.round_trips)) @if let Some(rtt) = figures.rtt_ms { " of " (ms(rtt)) " ms" } } }
        }
    }
}

/// Chooses a side.
type Side = fn((Waited, Waited)) -> Waited;

/// The phases of both sides on one scale.
fn bars(diff: &ProbeDiff) -> Markup {
    let side = |of: Side| -> Vec<Waited> { diff.stages.iter().map(|s| of(s.waited())).collect() };
    let (a, b) = (side(|(a, _)| a), side(|(_, b)| b));
    let whole = |side: &[Waited]| side.iter().map(Waited::sum).sum::<f64>();
    let scale = whole(&a).max(whole(&b));
    let row = |name: &str, side: &[Waited], total: f64| {
        let mut start = 0.0;
        let mut pieces = Vec::new();
        for waited in side {
            pieces.push(bar(start, waited, scale, 0, 16));
            start += waited.sum();
        }
        html! {
            b { (name) }
            svg.bar width="100%" height="16" role="img" aria-label=(format!("{name}: {} ms", ms(total))) {
                @for piece in pieces { (piece) }
            }
            b.took { (ms(total)) " ms" }
        }
    };
    html! {
        div.pair {
            (row("A", &a, diff.figures.0.total.median))
            (row("B", &b, diff.figures.1.total.median))
        }
        ul.legend { @for party in Party::BY_WEIGHT { li { (swatch(party)) (party.name()) } } }
    }
}

fn parts(diff: &ProbeDiff) -> Markup {
    let largest = diff
        .parts
        .iter()
        .map(|part| part.ms.abs())
        .fold(0.0, f64::max);
    let (shown, small) = by_size(diff, false);
    let rest: f64 = small.iter().map(|part| part.ms).sum();
    let row = |part: &Contribution| {
        let class = if part.ms < 0.0 { "less" } else { "more" };
        html! {
            tr {
                th.text scope="row" { (clean(&part.what)) @if !part.why.is_empty() { span.quiet { ": " (clean(&part.why)) } } }
                td { (Decimals::from_diff(diff).signed(part.ms)) }
                td { svg width="100%" height="10" aria-hidden="true" { rect class=(class) height="10" width=(percent(part.ms.abs(), largest)) {} } }
            }
        }
    };
    html! {
        div.scroll { table {
            thead { tr { th.text scope="col" { "part" } th scope="col" { "ms" } th scope="col" {} } }
            tbody {
                @for part in &shown { (row(part)) }
                @if !small.is_empty() { tr { th.text scope="row" { (small.len()) " smaller parts" } td { (Decimals::from_diff(diff).signed(rest)) } td {} } }
                tr { th scope="row" { b { "in all" } } td { b { (Decimals::from_diff(diff).signed(diff.difference.ms)) } } td {} }
            }
        } }
    }
}

fn phases(diff: &ProbeDiff) -> Markup {
    let shown = |side: Option<f64>| Decimals::from_diff(diff).maybe(side);
    html! {
        div.scroll { table {
            thead { tr { th scope="col" { "phase" } th scope="col" { "A, ms" } th scope="col" { "B, ms" } th scope="col" { "B − A" } th scope="col" { "A, RT" } th scope="col" { "B, RT" } } }
            tbody {
                @for stage in &diff.stages {
                    @let (a, b) = stage.ms();
                    @let (ka, kb) = stage.round_trips();
                    tr {
                        th scope="row" { (title(&stage.name)) }
                        td { (shown(a)) } td { (shown(b)) } td { (Decimals::from_diff(diff).signed(b.unwrap_or(0.0) - a.unwrap_or(0.0))) }
                        td { (number(ka)) } td { (number(kb)) }
                    }
                }
            }
        } }
    }
}

fn findings(diff: &ProbeDiff) -> Markup {
    html! {
        @for finding in &diff.findings {
            @let known = finding.b.as_ref().or(finding.a.as_ref());
            div.finding {
                p { b { (clean(&finding.id)) } ", cost in ms: A " (price(finding.a.as_ref())) ", B " (price(finding.b.as_ref())) }
                @if let Some(known) = known {
                    p { (clean(&known.evidence)) }
                    @if !known.remedy.is_empty() { p.remedy { b { "Remedy" } " " (clean(&known.remedy)) } }
                }
            }
        }
    }
}

fn facts(diff: &ProbeDiff) -> Markup {
    let list = |weight: Weight| {
        let mine = diff.facts.iter().filter(move |fact| fact.weight == weight);
        let value = |side: &Option<String>| side.as_deref().map_or("none".into(), clean);
        html! {
            dl.facts {
                @for fact in mine { div { dt { (fact.label) } dd { (value(&fact.a)) " → " (value(&fact.b)) } } }
            }
        }
    };
    let any = |weight| diff.facts.iter().any(|fact| fact.weight == weight);
    html! {
        @if any(Weight::Telling) { h2 { "Facts that differ" } (list(Weight::Telling)) }
        @if any(Weight::Fine) { details { summary { "Facts that seldom matter" } (list(Weight::Fine)) } }
    }
}

/// Two reports of `doctor`.
fn doctor(diff: &DoctorDiff, files: (&str, &str)) -> Markup {
    html! {
        article {
            p.kicker { "A " (clean(files.0)) " · B " (clean(files.1)) }
            h1 { "What changed for latency" }
            p.answer { (clean(&diff.answer)) }
            @if !diff.changes.is_empty() {
                div.scroll { table {
                    thead { tr { th scope="col" { "turn" } th.text scope="col" { "finding" } th.text scope="col" { "A" } th.text scope="col" { "B" } } }
                    tbody { @for change in &diff.changes { (changed(change)) } }
                } }
            }
        }
    }
}

fn changed(change: &CheckChange) -> Markup {
    let class = match change.turn {
        Trend::Worse => "bad",
        Trend::Better => "good",
        Trend::Other => "quiet",
    };
    let value = |side: &Option<ReportedCheck>| {
        side.as_ref().map_or("none".into(), |c| {
            format!("{} ({})", clean(&c.value), clean(&c.status))
        })
    };
    html! {
        tr {
            th class=(class) scope="row" { (change.turn.as_str()) }
            td.text { @if let Some(check) = change.check() { (clean(&check.title)) } }
            td.text { (value(&change.a)) }
            td.text { (value(&change.b)) }
        }
    }
}
