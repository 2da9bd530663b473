//! The table of several ways: a bar for each, to scale in round trips, while they are measured and
//! after.

use super::bars::{self, Scale};
use crate::numbers::{count, trips};
use crate::party::Party;
use crate::terminal::{Style, Tone, cut, finished, width, wrap};
use crate::ways::{Activity, MeasuredRun, WayRuns, Ways, plain};

/// The title with the progress, the heads of the columns, a row for each way, and the ruler. While
/// ways are being measured, the number of lines stays the same, so that the table can be redrawn in
/// place.
pub fn ways(ways: &Ways, style: &Style) -> String {
    let frame = WaysLayout::new(ways, style);
    let mut lines = title(ways, &how_far(ways), style);
    lines.push(frame.heads());
    lines.extend((0..ways.ways.len()).map(|place| frame.row(place)));
    lines.push(frame.ruler());
    finished(&lines)
}

/// The lines above the rows, for callers that write row by row.
pub fn ways_head(ways: &Ways, style: &Style) -> String {
    let mut lines = title(ways, &progress(ways), style);
    lines.push(WaysLayout::new(ways, style).heads());
    finished(&lines)
}

/// One row, for callers that write row by row.
pub fn ways_row(ways: &Ways, place: usize, style: &Style) -> String {
    finished(&[WaysLayout::new(ways, style).row(place)])
}

/// The lines below the rows, for callers that write row by row.
pub fn ways_ruler(ways: &Ways, style: &Style) -> String {
    finished(&[WaysLayout::new(ways, style).ruler()])
}

/// Notes below the table: failures, and counts that differ from the arithmetic.
pub fn ways_notes(ways: &Ways, style: &Style) -> String {
    let mut lines = Vec::new();
    let mut note = |tone, label: &str, text: &str| {
        for (n, part) in wrap(text, style.columns() - 10).iter().enumerate() {
            let label = style.left(tone, if n == 0 { label } else { "" }, 8);
            lines.push(format!("  {label}{}", style.paint(Tone::Plain, part)));
        }
    };
    let shown: Vec<&MeasuredRun> = ways.ways.iter().filter_map(WayRuns::typical).collect();
    let seen = |party: &Party| shown.iter().any(|run| party.share(&run.waited) > 0.0);
    let parties = Party::BY_WEIGHT.into_iter();
    let fills = parties.filter(|party| !party.is_rare() || seen(party));
    let fills = fills.map(|party| format!("{} {}", bars::fill(style, party), party.name()));
    note(Tone::Faint, "bars", &fills.collect::<Vec<_>>().join("  "));
    let has_fast_open = |way: &WayRuns| way.strategy.fast_open && !way.strategy.post_quantum;
    if ways.ways.iter().any(has_fast_open) {
        let why =
            "fast open is used without a post-quantum key share, which does not fit into a SYN";
        note(Tone::Faint, "note", why);
    }
    for (way, why) in ways.failures() {
        let often = count(way.failures.len() as u64, "run", "runs");
        note(
            Tone::Bad,
            "failed",
            &format!("{}, {often}: {why}", way.title),
        );
    }
    for way in &ways.ways {
        if let Some(what) = way.disagreement() {
            note(Tone::Warn, "note", &format!("{}: {what}", way.title));
        }
    }
    finished(&lines)
}

/// The lesson, wrapped; empty if there is none.
pub fn ways_lesson(ways: &Ways, style: &Style) -> String {
    let sentence = ways.lesson().unwrap_or_default();
    let lines: Vec<String> = wrap(&sentence, style.columns())
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| style.paint(Tone::Strong, line))
        .collect();
    finished(&lines)
}

fn how_far(ways: &Ways) -> String {
    if ways.ways.iter().all(|way| way.done() >= ways.runs) {
        return progress(ways);
    }
    format!("run {} of {}", ways.current_run(), ways.runs)
}

fn progress(ways: &Ways) -> String {
    match ways.runs {
        1 => "one run each".to_owned(),
        n => format!("medians of {n} runs"),
    }
}

fn title(ways: &Ways, beside: &str, style: &Style) -> Vec<String> {
    let room = style.columns();
    let title = ways.title();
    if width(&title) + 2 + beside.len() <= room {
        let title = style.paint(Tone::Strong, &title);
        let beside = style.paint(Tone::Faint, beside);
        return vec![format!("{title}  {beside}"), String::new()];
    }
    let mut lines: Vec<String> = wrap(&title, room)
        .iter()
        .map(|line| style.paint(Tone::Strong, line))
        .collect();
    lines.push(style.paint(Tone::Faint, beside));
    lines.push(String::new());
    lines
}

/// The columns: mark, title, bar, round trips, milliseconds and, if there is room, the saving and
/// the strategy.
struct WaysLayout<'a> {
    ways: &'a Ways,
    style: &'a Style,
    scale: Scale,
    title: usize,
    trips: usize,
    number: usize,
    saved: usize,
    word: usize,
}

impl<'a> WaysLayout<'a> {
    fn new(ways: &'a Ways, style: &'a Style) -> Self {
        let columns = style.columns();
        let (title, saved, word) = match columns {
            ..60 => (17, 0, 0),
            60..80 => (19, 6, 0),
            80..112 => (25, 16, 0),
            _ => (25, 16, 24),
        };
        let (trips, number) = if columns < 80 { (4, 7) } else { (12, 8) };
        let fixed = 2 + title + trips + number + saved + word;
        let cells = columns.saturating_sub(fixed).clamp(4, 80);
        let total_ms = span(ways, cells);
        Self {
            ways,
            style,
            scale: Scale { total_ms, cells },
            title,
            trips,
            number,
            saved,
            word,
        }
    }

    fn is_narrow(&self) -> bool {
        self.trips < 12
    }

    fn heads(&self) -> String {
        let style = self.style;
        let trips = if self.is_narrow() {
            "RT"
        } else {
            "round trips"
        };
        let mut line = format!(
            "  {}{}{}",
            style.left(Tone::Faint, "way", self.title + self.scale.cells),
            style.right(Tone::Faint, trips, self.trips),
            style.right(Tone::Faint, "ms", self.number),
        );
        line.push_str(&style.right(Tone::Faint, "saved", self.saved));
        if self.word > 0 {
            line.push_str(&style.left(Tone::Faint, "  as a strategy", self.word));
        }
        line
    }

    fn row(&self, place: usize) -> String {
        let style = self.style;
        let Some(way) = self.ways.ways.get(place) else {
            return String::new();
        };
        let busy = way.stage != Activity::Resting;
        let known = !way.answers.is_empty();
        let tone = if known || busy {
            Tone::Plain
        } else {
            Tone::Faint
        };
        let mut line = format!(
            "{}{}{}",
            style.left(Tone::Good, if busy { "▸" } else { "" }, 2),
            style.left(tone, &cut(way.title, self.title - 1), self.title),
            self.bar(way),
        );
        line.push_str(&self.figures(way));
        line.push_str(&self.savings(place));
        if self.word > 0 {
            let word = format!("  {}", way.strategy);
            line.push_str(&style.left(Tone::Faint, &word, self.word));
        }
        line
    }

    fn bar(&self, way: &WayRuns) -> String {
        let (style, cells) = (self.style, self.scale.cells);
        if let (Some(typical), Some(median)) = (way.typical(), way.median_ms()) {
            return self.scale.row(style, 0.0, median, &typical.waited);
        }
        match way.stage {
            Activity::Asking { ms } => {
                let grown = "█".repeat(self.scale.cell(ms));
                style.left(Tone::Faint, &grown, cells)
            }
            Activity::Preparing => style.left(Tone::Faint, way.preparation(), cells),
            Activity::Resting if !way.failures.is_empty() => style.left(Tone::Bad, "failed", cells),
            Activity::Resting => " ".repeat(cells),
        }
    }

    /// Round trips as counted, marked if they differ from the arithmetic, and milliseconds.
    fn figures(&self, way: &WayRuns) -> String {
        let style = self.style;
        let (Some(typical), Some(median)) = (way.typical(), way.median_ms()) else {
            let ms = match way.stage {
                Activity::Asking { ms } => format!("{ms:.0}  "),
                _ => String::new(),
            };
            let nothing = style.right(Tone::Faint, "", self.trips);
            return nothing + &style.right(Tone::Faint, &ms, self.number);
        };
        let counted = typical.round_trips;
        let (text, tone) = match way.disagreement() {
            Some(_) => (format!("{counted} !"), Tone::Warn),
            None => (counted.to_string(), Tone::Strong),
        };
        let median = format!("{median:.1}");
        style.right(tone, &text, self.trips) + &style.right(Tone::Plain, &median, self.number)
    }

    fn savings(&self, place: usize) -> String {
        let style = self.style;
        let Some((ms, share)) = self.ways.saved(place).filter(|_| self.saved > 0) else {
            return " ".repeat(self.saved);
        };
        let percent = format!("{:.0} %", share * 100.0);
        let tone = if share > 0.0 { Tone::Good } else { Tone::Warn };
        if self.is_narrow() {
            return style.right(tone, &percent, self.saved);
        }
        let ms = style.right(Tone::Plain, &format!("{ms:.1} ms"), self.saved - 6);
        ms + &style.right(tone, &percent, 6)
    }

    fn ruler(&self) -> String {
        let style = self.style;
        let step = self.ways.rtt_ms;
        let room = self.trips + self.number + self.saved + self.word;
        let full = format!(" one mark, {}: {} ms", trips(1), plain(step));
        let meaning = if width(&full) <= room {
            full
        } else {
            format!(" 1 RT {} ms", plain(step))
        };
        format!(
            "  {}{}{}",
            " ".repeat(self.title),
            self.scale.ruler(style, step),
            style.paint(Tone::Faint, &cut(&meaning, room)),
        )
    }
}

/// The time that all cells together stand for: the time that the slowest way should take, or more
/// if one took longer, with a whole number of cells per round trip.
fn span(ways: &Ways, cells: usize) -> f64 {
    let planned = ways.ways.iter().map(|way| way.strategy.round_trips()).max();
    let longest = ways.ways.iter().filter_map(WayRuns::median_ms);
    let trips = longest.fold(0.0, f64::max) / ways.rtt_ms;
    let trips = trips.max(planned.unwrap_or(1).into());
    let cells = cells as f64;
    // Less than a cell per round trip, because one took very long: then without rounding.
    let apart = (cells / trips).floor();
    if apart < 1.0 {
        return trips * ways.rtt_ms;
    }
    cells / apart * ways.rtt_ms
}
