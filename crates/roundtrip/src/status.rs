//! The line on a terminal's standard error that shows progress.

use std::time::{Duration, Instant};

use roundtrip_report::terminal::StatusLine;

use crate::output::OutputStream;

/// Shorter work needs no line, unless the line shows more than progress.
pub(crate) const DELAY: Duration = Duration::from_secs(1);

/// The interval at which a line with constantly changing figures is redrawn.
pub(crate) const PACE: Duration = Duration::from_millis(200);

pub(crate) struct Status {
    began: Instant,
    /// `None` if the verb is quiet, or standard error is not a terminal.
    line: Option<StatusLine>,
}

impl Status {
    /// A line that is shown on terminals, unless `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let wanted = !quiet && OutputStream::Err.is_terminal();
        Self {
            began: Instant::now(),
            line: wanted.then(|| StatusLine::new(OutputStream::Err.line_width())),
        }
    }

    pub(crate) fn after(self, patience: Duration) -> Self {
        let line = self.line.map(|line| line.after(patience));
        Self { line, ..self }
    }

    pub(crate) fn every(self, pace: Duration) -> Self {
        let line = self.line.map(|line| line.every(pace));
        Self { line, ..self }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.line.is_some()
    }

    /// Shows a line if it is due. `text` makes it from the elapsed time.
    pub(crate) fn show(&mut self, text: impl FnOnce(Duration) -> String) {
        let since = self.began.elapsed();
        let shown = self.line.as_mut();
        if let Some(shown) = shown.and_then(|line| line.show(since, || text(since))) {
            OutputStream::Err.print(shown);
        }
    }

    /// Removes the line, before something else is written.
    pub(crate) fn hide(&mut self) {
        if let Some(cleared) = self.line.as_mut().and_then(StatusLine::hide) {
            OutputStream::Err.print(cleared);
        }
    }
}
