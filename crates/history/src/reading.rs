//! One run, reduced to what a history stores.

use std::time::UNIX_EPOCH;

use roundtrip_model::Waited;
use roundtrip_report::Run;

/// The result of one run, with all its redirects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Seconds since 1970.
    pub at: u64,
    pub url: String,
    /// The strategy that was asked for, as one word.
    pub strategy: String,
    /// The requested time between runs (`--every`), in seconds.
    pub every: u64,
    /// The kind of the failure, if the run failed. The other figures are then ignored.
    pub failure: Option<String>,
    pub total_ms: f64,
    pub waited: Waited,
    pub rtt_ms: Option<f64>,
    pub round_trips: u32,
    /// Each cause that was found, and its cost in milliseconds.
    pub findings: Vec<(String, f64)>,
}

impl Reading {
    /// Reduces a run to a reading; `None` if the run did not begin.
    pub fn from_run(run: &Run, every: u64) -> Option<Self> {
        let first = run.hops.first()?;
        let started = first.started?.duration_since(UNIX_EPOCH).ok()?;
        let failure = run.failure().map(|failure| {
            let kind = serde_json::to_value(failure.kind).unwrap_or_default();
            kind.as_str().unwrap_or("failed").to_owned()
        });
        let mut findings: Vec<(String, f64)> = Vec::new();
        for finding in run.hops.iter().flat_map(|hop| &hop.findings) {
            match findings.iter_mut().find(|(id, _)| id == finding.id) {
                Some((_, ms)) => *ms += finding.ms,
                None => findings.push((finding.id.to_owned(), finding.ms)),
            }
        }
        Some(Self {
            at: started.as_secs(),
            url: run.url().to_owned(),
            strategy: first.asked.to_string(),
            every,
            failure,
            total_ms: run.total_ms(),
            waited: run.waited(),
            rtt_ms: run.last()?.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            round_trips: run.round_trips(),
            findings,
        })
    }
}
