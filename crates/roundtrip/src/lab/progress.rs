//! The progress of an experiment in a line: which arm is measured, and how long everything may
//! take.

use std::time::Duration;

use roundtrip_lab::ExperimentProgress;

const BAR: usize = 24;

pub(super) fn line(title: &str, progress: &ExperimentProgress<'_>, took: Duration) -> String {
    let ExperimentProgress { done, of, arm } = *progress;
    let full = BAR * done / of.max(1);
    let bar = "#".repeat(full) + &".".repeat(BAR.saturating_sub(full));
    let left = match done {
        0 => String::new(),
        done => {
            let left = took.as_secs_f64() * (of.saturating_sub(done)) as f64 / done as f64;
            format!(", about {left:.0} s left")
        }
    };
    format!("{title} [{bar}] {done} of {of}{left}: {arm}")
}
