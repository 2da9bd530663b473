//! The waterfall of one hop as SVG on the scale of its run, and as a table.
//!
//! Positions are percentages and text has a fixed size, so that one picture suits a phone and a
//! wide screen.

use maud::{Markup, html};
use roundtrip_model::{Exchange, Phase};

use super::bar::bar;
use super::grid::Grid;
use crate::numbers::{decimals, least, ms, trips};
use crate::party::Party;
use crate::run::{Run, total_ms};
use crate::terminal::clean;

const TOP: usize = 8;
const ROW: usize = 42;
const BAR: usize = 14;

pub(super) fn figure(run: &Run, key: usize, place: usize, hop: &Exchange) -> Markup {
    let phases = hop.phases();
    if phases.is_empty() {
        return html! {};
    }
    let (scale, offset) = (run.total_ms(), run.offset_ms(place));
    let grid = Grid::new(scale, hop.rtt.map(|r| r.as_secs_f64() * 1e3));
    let height = TOP + phases.len() * ROW + 22;
    let id = format!("w{key}-{place}");
    let (title, about) = (format!("{id}t"), format!("{id}d"));
    html! {
        figure {
            svg.waterfall width="100%" height=(height) role="img" aria-labelledby={ (title) " " (about) } {
                title id=(title) { "Waterfall of " (clean(&hop.url)) }
                desc id=(about) { (description(hop, &phases)) }
                @for (n, phase) in phases.iter().enumerate() {
                    (row(phase, TOP + n * ROW, offset, grid))
                }
                (grid.labels(height - 4))
            }
        }
    }
}

fn row(phase: &Phase, top: usize, offset: f64, grid: Grid) -> Markup {
    let (scale, places) = (grid.scale(), decimals(grid.scale()));
    let start = offset + phase.start.as_millis();
    let number = format!("{:.places$} ms", phase.ms());
    html! {
        text.label x="0" y=(top + 14) { (phase.name.title()) }
        text.value x="190" y=(top + 14) { (number) }
        @if phase.round_trips > 0 {
            text.trips x="204" y=(top + 14) { (phase.round_trips) " RT" }
        }
        text.reasons x="250" y=(top + 14) { (reasons(phase, places)) }
        rect.track x="0" width="100%" y=(top + 21) height=(BAR) rx="3" {}
        (grid.lines(top + 21, BAR))
        (bar(start, &phase.waited, scale, top + 21, BAR))
    }
}

fn reasons(phase: &Phase, places: usize) -> String {
    let words: Vec<String> = Party::BY_WEIGHT
        .iter()
        .map(|p| (p, p.share(&phase.waited)))
        .filter(|(_, share)| *share >= least(places))
        .map(|(p, share)| format!("{} {share:.places$}", p.name()))
        .collect();
    words.join(" · ")
}

/// The picture as text, for readers who cannot see it.
fn description(hop: &Exchange, phases: &[Phase]) -> String {
    let parts: Vec<String> = phases
        .iter()
        .map(|p| {
            let trips = match p.round_trips {
                0 => String::new(),
                n => format!(", {}", trips(n)),
            };
            format!("{} {} ms{trips}", p.name.title(), ms(p.ms()))
        })
        .collect();
    format!("{} ms in total: {}.", ms(total_ms(hop)), parts.join("; "))
}

/// The waterfall as a table.
pub(super) fn table(hop: &Exchange) -> Markup {
    let phases = hop.phases();
    if phases.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "As a table" }
            div.scroll { table {
                thead { tr {
                    th scope="col" { "Phase" }
                    th scope="col" { "Start" }
                    th scope="col" { "ms" }
                    th scope="col" { "Round trips" }
                    @for party in Party::BY_WEIGHT { th scope="col" { (party.name()) } }
                } }
                tbody { @for phase in &phases { tr {
                    th scope="row" { (phase.name.title()) }
                    td { (format!("{:.3}", phase.start.as_millis())) }
                    td { (format!("{:.3}", phase.ms())) }
                    td { (phase.round_trips) }
                    @for party in Party::BY_WEIGHT { td { (format!("{:.3}", party.share(&phase.waited))) } }
                } } }
            } }
        }
    }
}
