//! A line on a terminal that is written over itself while something takes its time.
//!
//! It gives out what to write, and is told the time: who owns the terminal and a clock writes it.

use std::time::Duration;

use super::clean::clean;
use super::width::cut;

/// Takes the line away and returns to its first column.
const CLEAR: &str = "\r\u{1b}[K";

/// A line that shows how far something is.
#[derive(Debug, Clone)]
pub struct StatusLine {
    columns: usize,
    /// When it may change again, counted from the start.
    due: Duration,
    pace: Duration,
    shown: bool,
}

impl StatusLine {
    /// A line for a terminal of that many columns, shown at once and as often as there is news.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            due: Duration::ZERO,
            pace: Duration::ZERO,
            shown: false,
        }
    }

    /// Work that is over sooner shows no line.
    #[must_use]
    pub fn after(self, patience: Duration) -> Self {
        Self {
            due: patience,
            ..self
        }
    }

    /// News that come sooner after the last are not shown.
    #[must_use]
    pub fn every(self, pace: Duration) -> Self {
        Self { pace, ..self }
    }

    /// What to write at `since` from the start, if the line is due; the text is made only then. It is scrubbed and
    /// cut to the terminal, so that it can be written over.
    pub fn show(&mut self, since: Duration, text: impl FnOnce() -> String) -> Option<String> {
        if since < self.due {
            return None;
        }
        self.due = since + self.pace;
        self.shown = true;
        let text = cut(&clean(&text()), self.columns.saturating_sub(1));
        Some(format!("{CLEAR}{text}"))
    }

    /// What to write to take the line away, if there is one.
    pub fn hide(&mut self) -> Option<&'static str> {
        std::mem::take(&mut self.shown).then_some(CLEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &mut StatusLine, ms: u64, text: &str) -> Option<String> {
        line.show(Duration::from_millis(ms), || text.to_owned())
    }

    #[test]
    fn it_waits_keeps_its_pace_and_goes_away() {
        let mut line = StatusLine::new(80).after(Duration::from_secs(1));
        line = line.every(Duration::from_millis(200));
        assert_eq!(at(&mut line, 999, "soon"), None);
        assert_eq!(line.hide(), None);
        assert_eq!(at(&mut line, 1000, "one").unwrap(), "\r\u{1b}[Kone");
        assert_eq!(at(&mut line, 1199, "two"), None);
        assert_eq!(at(&mut line, 1200, "three").unwrap(), "\r\u{1b}[Kthree");
        assert_eq!(line.hide(), Some("\r\u{1b}[K"));
        assert_eq!(line.hide(), None);
    }

    #[test]
    fn it_fits_and_obeys_nobody() {
        let mut line = StatusLine::new(10);
        assert_eq!(
            at(&mut line, 0, "0123456789").unwrap(),
            "\r\u{1b}[K01234567…"
        );
        assert_eq!(
            at(&mut line, 300, "\u{202e}").unwrap(),
            "\r\u{1b}[K\\u{202e}"
        );
    }
}
