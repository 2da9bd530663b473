//! A line on a terminal's standard error: which arm is measured, and how far all is.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::output::Stream;

/// Work that is over sooner needs no line.
const PATIENCE: Duration = Duration::from_secs(1);
const BAR: usize = 24;

pub(crate) struct Progress {
    title: String,
    began: Instant,
    wanted: bool,
    shown: Cell<bool>,
}

impl Progress {
    pub(crate) fn start(title: &str, silent: bool) -> Self {
        Self {
            title: title.to_owned(),
            began: Instant::now(),
            wanted: !silent && Stream::Err.is_terminal(),
            shown: Cell::new(false),
        }
    }

    pub(crate) fn show(&self, progress: roundtrip_lab::Progress<'_>) {
        let took = self.began.elapsed();
        if !self.wanted || took < PATIENCE {
            return;
        }
        let roundtrip_lab::Progress { done, of, arm } = progress;
        let full = BAR * done / of.max(1);
        let bar = "#".repeat(full) + &".".repeat(BAR.saturating_sub(full));
        let left = match done {
            0 => String::new(),
            done => {
                let left = took.as_secs_f64() * (of.saturating_sub(done)) as f64 / done as f64;
                format!(", about {left:.0} s left")
            }
        };
        let line = format!(
            "\r\u{1b}[K{} [{bar}] {done} of {of}{left}: {arm}",
            self.title
        );
        Stream::Err.print(line);
        self.shown.set(true);
    }

    /// Takes the line away.
    pub(crate) fn stop(&self) {
        if self.shown.replace(false) {
            Stream::Err.print("\r\u{1b}[K");
        }
    }
}
