//! A comparison for people: what each way saves, the largest saving first, with what has to change
//! for it; then what saves nothing, and what is not supported. The caller sets width, colour and
//! character set.

mod advice;
mod savings;

use roundtrip_model::MIN_PAIRS;
use roundtrip_report::terminal::{Style, Tone, Wrap};
use roundtrip_report::{clean, count, ms};

use crate::outcome::{Comparison, EndReason};
pub(crate) use savings::{change, control, failed, interval, predicted};

pub fn render(c: &Comparison, style: Style) -> String {
    let mut page = WrappedText::new(style);
    opening(c, &mut page);
    savings::all(c, &mut page);
    advice::absent(c, &mut page);
    closing(c, &mut page);
    page.text
}

/// "At most 300 requests, 10 a second": announced before the first request.
pub fn announcement(config: &crate::CompareConfig) -> String {
    let limits = config.limits;
    format!(
        "at most {} to {}, {} a second on average, for {} s at most",
        count(limits.requests.into(), "request", "requests"),
        clean(&config.target.authority()),
        limits.rate,
        limits.time.as_secs_f64(),
    )
}

fn opening(c: &Comparison, page: &mut WrappedText) {
    let method = clean(&c.method);
    page.strong(&format!("{method} {}", clean(&c.url)));
    let server = c.server.as_deref().map(clean);
    let mut facts = vec![format!("status {}", c.status)];
    facts.extend(server);
    facts.extend(c.address.as_deref().map(clean));
    facts.extend(c.rtt_ms.map(|rtt| format!("round trip {} ms", ms(rtt))));
    page.line(&facts.join(" · "));
    if c.requests > 1 {
        page.line(&format!(
            "A sequence of {} requests; all figures are those of one request, on average.",
            c.requests
        ));
    }
    page.blank();
    let word = c.baseline.way.word();
    let today = match (c.baseline.median(), c.baseline.round_trips()) {
        (Some(median), Some(trips)) => format!(
            "Today: {word}, a new connection for each: {} ms, {} (median of {})",
            ms(median),
            round_trips(trips),
            c.baseline.samples.len()
        ),
        _ if c.baseline.failures.is_empty() => {
            format!("Today: {word}, a new connection for each: not measured")
        }
        _ => format!("Today: {word}, a new connection for each: never answered"),
    };
    page.line(&today);
    page.item("predicted", &predicted(&c.baseline));
    let found = |why: &&String| c.findings.iter().any(|f| why.starts_with(f.id));
    if let Some(why) = c.baseline.disagreement.as_ref().filter(|why| !found(why)) {
        page.item("differs", &clean(why));
    }
    page.item("control", &control(&c.control));
    for f in &c.findings {
        let told = format!("{} ({} ms): {}", f.id, ms(f.ms), f.evidence);
        page.item("finding", &clean(&told));
        if !f.remedy.is_empty() {
            page.item("remedy", &clean(&f.advice()));
        }
    }
    for failure in c.baseline.failures.iter().take(1) {
        page.item("failed", &clean(failure));
    }
}

fn closing(c: &Comparison, page: &mut WrappedText) {
    page.blank();
    let ended = match c.ended {
        EndReason::Clear => "every interval is narrow",
        EndReason::Requests => "the allowed requests were used up (-n)",
        EndReason::Time => "the allowed time was used up (--time)",
        EndReason::Interrupted => "interrupted",
    };
    page.line(&format!(
        "{} measured in random order (seed {}), {} in {:.0} s ({} to find out what the server supports); ended: {ended}.",
        count(c.blocks.into(), "block", "blocks"),
        c.seed,
        count(c.sent.into(), "request", "requests"),
        c.took_s,
        c.discovery,
    ));
    if (c.blocks as usize) < MIN_PAIRS {
        page.line(&format!("Fewer than {MIN_PAIRS} blocks show nothing with certainty: raise -n or --time, or name fewer ways with --strategies."));
    }
    for note in &c.notes {
        page.item("note", &clean(note));
    }
}

/// `2 round trips`, `1.5 round trips`.
pub(crate) fn round_trips(n: f64) -> String {
    let unit = if (n.abs() - 1.0).abs() < 0.005 {
        "round trip"
    } else {
        "round trips"
    };
    format!("{} {unit}", crate::disagreement::trips(n))
}

/// Lines that fit the width; continuation lines are indented.
pub(crate) struct WrappedText {
    style: Style,
    text: String,
}

/// The column at which the text of an item begins.
const INDENT: usize = 14;

impl WrappedText {
    fn new(style: Style) -> Self {
        Self {
            style,
            text: String::new(),
        }
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, text: &str) {
        self.wrapped("", text, 2);
    }

    fn strong(&mut self, text: &str) {
        self.text.push_str(&self.style.paint(Tone::Strong, text));
        self.text.push('\n');
    }

    /// Adds a word in a column, with its text next to it.
    fn item(&mut self, word: &str, text: &str) {
        let head = format!("    {word:<width$}", width = INDENT - 4);
        self.wrapped(&head, text, INDENT);
    }

    fn wrapped(&mut self, head: &str, text: &str, indent: usize) {
        let columns = self.style.columns();
        let wrap = Wrap::within(columns - indent).first(columns - head.len());
        let head = std::iter::once(head.to_owned()).chain(std::iter::repeat(" ".repeat(indent)));
        for (head, line) in head.zip(wrap.keep_words().lines(text)) {
            let line = self.style.paint(Tone::Plain, &format!("{head}{line}"));
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}
