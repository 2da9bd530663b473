//! The waterfall of one hop as SVG on the scale of its run, and the same as a table.
//!
//! Places are percentages and text has its own size, so that one picture serves a phone and a wide screen.

use maud::{Markup, html};
use roundtrip_model::{Exchange, Phase};

use super::parts::{fill, percent};
use crate::party::{Party, segments};
use crate::run::{Run, total_ms};
use crate::text::{clean, decimals, least, ms, trips};

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
    let (scale, places) = (grid.scale, decimals(grid.scale));
    let start = offset + phase.start.as_millis();
    let number = format!("{:.places$} ms", phase.ms());
    let parts = segments(Party::ALL, &phase.waited);
    let main = parts
        .iter()
        .max_by(|a, b| a.2.total_cmp(&b.2))
        .map_or(Party::Client, |p| p.0);
    html! {
        text.label x="0" y=(top + 14) { (phase.name.title()) }
        text.value x="190" y=(top + 14) { (number) }
        @if phase.round_trips > 0 {
            text.trips x="204" y=(top + 14) { (phase.round_trips) " RT" }
        }
        text.reasons x="250" y=(top + 14) { (reasons(phase, places)) }
        rect.track x="0" width="100%" y=(top + 21) height=(BAR) rx="3" {}
        (grid.lines(top + 21))
        // A hair's breadth, so that the shortest phase is seen where it was.
        rect x=(percent(start.min(scale * 0.998), scale)) width="2" y=(top + 21) height=(BAR) fill=(fill(main)) {}
        @for (party, from, share) in parts {
            rect x=(percent(start + from, scale)) width=(percent(share, scale)) y=(top + 21) height=(BAR) fill=(fill(party)) {
                title { (party.name()) " " (ms(share)) " ms" }
            }
        }
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

/// Where the lines stand: each at so many steps from zero.
#[derive(Clone, Copy)]
struct Grid {
    scale: f64,
    step: f64,
    is_rtt: bool,
}

impl Grid {
    fn new(scale: f64, rtt: Option<f64>) -> Self {
        let (step, is_rtt) = match rtt {
            Some(r) if r >= scale / 16.0 && r <= scale => (r, true),
            _ => (crate::terminal::round_step(scale / 6.0), false),
        };
        Self {
            scale,
            step,
            is_rtt,
        }
    }

    fn marks(self) -> impl Iterator<Item = (u32, f64)> {
        (0..64)
            .map(move |n| (n, f64::from(n) * self.step))
            .take_while(move |(n, at)| *n == 0 || (self.step > 0.0 && *at <= self.scale))
    }

    /// The lines of one row, under its bars and clear of its text.
    fn lines(self, top: usize) -> Markup {
        html! {
            g.grid {
                @for (_, at) in self.marks() {
                    @let x = percent(at, self.scale);
                    line x1=(x) x2=(x) y1=(top) y2=(top + BAR) {}
                }
            }
        }
    }

    fn labels(self, y: usize) -> Markup {
        // Labels keep a distance of about an eighth of the width.
        let every = ((self.scale / 8.0 / self.step.max(f64::MIN_POSITIVE)).ceil() as u32).max(1);
        let shown = self
            .marks()
            .filter(move |(n, at)| n % every == 0 && *at <= self.scale * 0.94);
        html! {
            g.grid {
                @for (n, at) in shown {
                    text x=(percent(at, self.scale)) y=(y) class=[(n == 0).then_some("first")] {
                        @if n == 0 { "0" } @else if self.is_rtt { (n) " RT" } @else { (at) " ms" }
                    }
                }
            }
        }
    }
}

/// The picture in words, for who cannot see it.
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
    format!("{} ms in all: {}.", ms(total_ms(hop)), parts.join("; "))
}

/// The same as a table.
pub(super) fn table(hop: &Exchange) -> Markup {
    let phases = hop.phases();
    if phases.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "The same as a table" }
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
