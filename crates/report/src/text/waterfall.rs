//! The waterfall: a header, a row for each phase on a common scale, the parts of the total, and the
//! facts.

use roundtrip_model::{Exchange, Phase, PhaseName, Waited};

use super::bars::{Scale, legend};
use super::blocks;
use crate::numbers::{decimals, least, ms, trips};
use crate::party::Party;
use crate::run::{Run, is_worth_drawing, total_ms};
use crate::terminal::{Style, Tone, clean, cut, finished, width, wrap};

/// The smallest number of cells of a bar; the text beside it gets further columns first.
const MIN_BAR: usize = 16;
/// The smallest number of columns for the waits of a phase: less would cut them, more is not
/// needed.
const MIN_WAITS: usize = 28;
const MAX_WAITS: usize = 46;

/// One exchange in full.
pub fn exchange(exchange: &Exchange, style: &Style) -> String {
    run(
        &Run {
            hops: std::slice::from_ref(exchange),
        },
        style,
    )
}

/// One run: each hop with its own waterfall, on one scale, and the total of the chain of redirects.
pub fn run(run: &Run, style: &Style) -> String {
    let mut lines = Vec::new();
    for (place, hop) in run.hops.iter().enumerate() {
        if place > 0 {
            lines.push(String::new());
        }
        lines.extend(header(style, hop));
        lines.push(String::new());
        lines.extend(blocks::failed(style, hop));
        if is_worth_drawing(hop) {
            let frame = WaterfallLayout::new(style, run.total_ms(), run.offset_ms(place));
            lines.extend(frame.rows(style, hop));
            lines.push(String::new());
            let product = hop
                .rtt
                .map(|rtt| (hop.round_trips(), rtt.as_secs_f64() * 1e3));
            let places = decimals(run.total_ms());
            lines.extend(legend(style, &crate::run::waited(hop), product, places));
            lines.push(String::new());
        }
        lines.extend(blocks::verdict(style, hop));
        lines.extend(blocks::learnt(style, hop));
    }
    if run.hops.len() > 1 {
        lines.push(String::new());
        lines.extend(chain_total(style, run));
    }
    finished(&lines)
}

/// Method, URL and status, the strategy, and the time: on one line, or on two or three if the
/// terminal is narrow.
fn header(style: &Style, exchange: &Exchange) -> Vec<String> {
    let columns = style.columns();
    let http = exchange.http.as_ref();
    let method = http.filter(|h| !h.method.is_empty());
    let method = method.map_or(String::new(), |h| {
        format!("{} ", cut(&clean(&h.method), 12))
    });
    let (status, tone) = match (http, exchange.ok()) {
        (_, false) => ("failed".to_owned(), Tone::Bad),
        (Some(h), true) if h.status >= 400 => (h.status.to_string(), Tone::Warn),
        (Some(h), true) if h.is_seen() => (h.status.to_string(), Tone::Good),
        (_, true) => ("ok".to_owned(), Tone::Good),
    };
    let room = columns - width(&method) - status.len() - 2;
    let url = cut(&clean(&exchange.url), room);
    let (strategy, cost) = (exchange.used.to_string(), cut(&cost(exchange), columns));

    let what = columns - room + width(&url);
    let rest = strategy.len() + 2 + width(&cost);
    let first = format!(
        "{}  {}",
        style.paint(Tone::Strong, &format!("{method}{url}")),
        style.paint(tone, &status)
    );
    let strategy_cost = |width: usize| {
        let gap = " ".repeat(width.saturating_sub(rest - 2));
        let strategy = style.paint(Tone::Faint, &strategy);
        format!("{strategy}{gap}{}", style.paint(Tone::Strong, &cost))
    };
    if what + 2 + rest <= columns {
        vec![format!("{first}  {}", strategy_cost(columns - what - 2))]
    } else if rest <= columns {
        vec![first, strategy_cost(columns)]
    } else {
        let strategy = style.paint(Tone::Faint, &strategy);
        vec![first, strategy, style.right(Tone::Strong, &cost, columns)]
    }
}

fn cost(exchange: &Exchange) -> String {
    let total = ms(total_ms(exchange));
    match exchange.rtt {
        Some(rtt) => format!(
            "{total} ms · {} of {} ms",
            trips(exchange.round_trips()),
            crate::numbers::span_ms(rtt)
        ),
        None => format!("{total} ms · {}", trips(exchange.round_trips())),
    }
}

/// The columns of the waterfall: label, bar, milliseconds, round trips and, if there is room, the
/// waits.
struct WaterfallLayout {
    label: usize,
    scale: Scale,
    offset: f64,
    number: usize,
    decimals: usize,
    trips: usize,
    waits: usize,
}

impl WaterfallLayout {
    fn new(style: &Style, total: f64, offset: f64) -> Self {
        let columns = style.columns();
        let decimals = decimals(total);
        let number = format!("{total:.decimals$}").len().max(5) + 4;
        let (label, trips) = if columns < 60 { (11, 3) } else { (15, 5) };
        let fixed = 2 + label + number + trips;
        let beside = columns.saturating_sub(fixed + MIN_BAR);
        let waits = if beside >= MIN_WAITS {
            beside.min(MAX_WAITS)
        } else {
            0
        };
        let cells = columns.saturating_sub(fixed + waits).clamp(4, 90);
        Self {
            label,
            scale: Scale {
                total_ms: total,
                cells,
            },
            offset,
            number,
            decimals,
            trips,
            waits: if waits > 0 {
                columns.saturating_sub(fixed + cells)
            } else {
                0
            },
        }
    }

    fn rows(&self, style: &Style, exchange: &Exchange) -> Vec<String> {
        let mut lines: Vec<String> = exchange
            .phases()
            .iter()
            .map(|phase| self.row(style, phase))
            .collect();
        lines.extend(self.ruler(style, exchange.rtt.map(|r| r.as_secs_f64() * 1e3)));
        lines
    }

    /// The ruler with the meaning of a mark, beside it or below.
    fn ruler(&self, style: &Style, rtt: Option<f64>) -> Vec<String> {
        let (step, is_rtt) = self.scale.step(rtt);
        if step <= 0.0 {
            return Vec::new();
        }
        let meaning = match (is_rtt, self.label < 15) {
            (true, false) => format!("one mark, one round trip: {} ms", ms(step)),
            (false, false) => format!("one mark, {step} ms"),
            (true, true) => format!("R {} ms", ms(step)),
            (false, true) => format!("{step} ms"),
        };
        let indent = " ".repeat(self.label + 2);
        let ruler = format!("{indent}{}", self.scale.ruler(style, step));
        let meaning_fits = width(&meaning) < self.number + self.trips + self.waits;
        let meaning = style.paint(Tone::Faint, &meaning);
        if meaning_fits {
            vec![format!("{ruler} {meaning}")]
        } else {
            vec![ruler, format!("{indent}{meaning}")]
        }
    }

    fn row(&self, style: &Style, phase: &Phase) -> String {
        let title = if self.label < 15 {
            short(phase.name)
        } else {
            phase.name.title()
        };
        let start = self.offset + phase.start.as_millis();
        let end = self.offset + phase.end.as_millis();
        let number = format!("{:.*} ms", self.decimals, phase.ms());
        let trips = match (phase.round_trips, self.trips) {
            (0, _) => String::new(),
            (n, 3) => format!("{n}R"),
            (n, _) => format!("{n} RT"),
        };
        let mut line = format!(
            "  {}{}{}{}",
            style.left(Tone::Plain, title, self.label),
            self.scale.row(style, start, end, &phase.waited),
            style.right(Tone::Strong, &number, self.number),
            style.right(Tone::Plain, &trips, self.trips),
        );
        if self.waits > 0 {
            line.push_str("  ");
            line.push_str(&style.paint(Tone::Faint, &self.reasons(&phase.waited)));
        }
        line
    }

    /// The waits of the phase, the longest first. Omits those that would read 0.0 or do not fit.
    fn reasons(&self, waited: &Waited) -> String {
        let mut parts: Vec<(Party, f64)> = Party::ALL
            .iter()
            .map(|p| (*p, p.share(waited)))
            .filter(|(_, share)| *share >= least(self.decimals))
            .collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let room = self.waits.saturating_sub(2);
        let mut words = String::new();
        for (party, share) in parts {
            let between = if words.is_empty() { "" } else { " · " };
            let more = format!("{between}{} {share:.*}", party.name(), self.decimals);
            if width(&words) + width(&more) > room {
                break;
            }
            words.push_str(&more);
        }
        words
    }
}

fn short(name: PhaseName) -> &'static str {
    match name {
        PhaseName::Setup => "set-up",
        PhaseName::Name => "name",
        PhaseName::Tcp => "TCP",
        PhaseName::Proxy => "proxy",
        PhaseName::Tls => "TLS",
        PhaseName::Quic => "QUIC",
        PhaseName::Request => "request",
        PhaseName::FirstByte => "first byte",
        PhaseName::Body => "body",
    }
}

fn chain_total(style: &Style, run: &Run) -> Vec<String> {
    let redirects = crate::numbers::count(run.hops.len() as u64 - 1, "redirect", "redirects");
    let text = format!(
        "{redirects}: {} ms · {} in total",
        ms(run.total_ms()),
        trips(run.round_trips())
    );
    let lines = wrap(&text, style.columns());
    lines
        .iter()
        .map(|line| style.paint(Tone::Strong, line))
        .collect()
}
