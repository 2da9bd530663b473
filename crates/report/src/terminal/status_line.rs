//! A line on a terminal that is overwritten while an operation takes its time.
//!
//! It returns the text to write, and takes the time as a parameter: the caller has the terminal and
//! the clock.

use std::time::Duration;

use super::clean::clean;
use super::width::cut;

/// Erases the line and returns to its first column.
const CLEAR: &str = "\r\u{1b}[K";

/// A line that shows progress.
#[derive(Debug, Clone)]
pub struct StatusLine {
    columns: usize,
    /// The time of the next possible change, counted from the start.
    due: Duration,
    pace: Duration,
    shown: bool,
}

impl StatusLine {
    /// A line for a terminal of this many columns, shown at once and updated at every call.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            due: Duration::ZERO,
            pace: Duration::ZERO,
            shown: false,
        }
    }

    /// Shows no line before this time.
    #[must_use]
    pub fn after(self, patience: Duration) -> Self {
        Self {
            due: patience,
            ..self
        }
    }

    /// Shows at most one update within this time.
    #[must_use]
    pub fn every(self, pace: Duration) -> Self {
        Self { pace, ..self }
    }

    /// The text to write at `since` from the start, if an update is due; `text` is called only
    /// then. The text is sanitised and cut to the terminal's width, so that it can be overwritten.
    pub fn show(&mut self, since: Duration, text: impl FnOnce() -> String) -> Option<String> {
        if since < self.due {
            return None;
        }
        self.due = since + self.pace;
        self.shown = true;
        let text = cut(&clean(&text()), self.columns.saturating_sub(1));
        Some(format!("{CLEAR}{text}"))
    }

    /// The text that erases the line, if it is shown.
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
    fn it_waits_limits_updates_and_disappears() {
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
    fn it_fits_and_is_sanitised() {
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
