//! A line on a terminal's standard error: which arm is measured, and how fast it is.

use std::time::{Duration, Instant};

use crate::output::Stream;

/// How often the line changes.
const PACE: Duration = Duration::from_millis(200);

pub(crate) struct Progress {
    wanted: bool,
    shown: Option<Instant>,
}

impl Progress {
    pub(crate) fn start(quiet: bool) -> Self {
        Self {
            wanted: !quiet && Stream::Err.is_terminal(),
            shown: None,
        }
    }

    pub(crate) fn show(&mut self, now: roundtrip_perf::Progress<'_>) {
        let is_due = self.shown.is_none_or(|then| then.elapsed() >= PACE);
        if !self.wanted || !is_due || now.elapsed.is_zero() {
            return;
        }
        let gigabits = now.bytes as f64 * 8e-9 / now.elapsed.as_secs_f64();
        let (round, rounds, arm) = (now.round, now.rounds, now.arm);
        let line =
            format!("\r\u{1b}[Kperf: round {round} of {rounds}: {arm}, {gigabits:.2} Gbit/s");
        Stream::Err.print(line);
        self.shown = Some(Instant::now());
    }

    /// Takes the line away.
    pub(crate) fn stop(&mut self) {
        if self.shown.take().is_some() {
            Stream::Err.print("\r\u{1b}[K");
        }
    }
}
