//! The figures of each side: medians of the whole, and for each stage means over the middle half of
//! the runs. The stages of both sides are paired.

use roundtrip_model::{PhaseName, Summary, Waited};

use super::{Probe, ReportedPhase, Run, mean, median};

/// The largest number of kinds of phases. No report has as many; what a hostile report has beyond
/// them stays unexplained.
const MAX_STAGES: usize = 32;
/// The name of the phase between name and request if one side uses QUIC and the other TCP, because
/// they have no other phase in common there.
pub(super) const CONNECT: &str = "connect";

/// The figures of one side as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideFigures {
    pub total: Summary,
    pub ttfb_ms: Option<f64>,
    pub rtt_ms: Option<f64>,
    pub round_trips: f64,
    pub hops: f64,
}

/// A phase on one side: means over the middle runs, counting zero for a run without the phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StageFigures {
    pub(crate) ms: f64,
    pub(crate) round_trips: f64,
    pub(crate) waited: Waited,
    /// The client's time before it sent anything; known if every run that has the phase reports it.
    pub(crate) before: Option<f64>,
    pub(crate) seen: bool,
}

/// A phase on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct StageDiff {
    pub name: String,
    pub(crate) a: StageFigures,
    pub(crate) b: StageFigures,
}

impl StageDiff {
    /// The phase's milliseconds on both sides; `None` if no run had it.
    pub fn ms(&self) -> (Option<f64>, Option<f64>) {
        (
            self.a.seen.then_some(self.a.ms),
            self.b.seen.then_some(self.b.ms),
        )
    }

    pub fn round_trips(&self) -> (f64, f64) {
        (self.a.round_trips, self.b.round_trips)
    }

    pub fn waited(&self) -> (Waited, Waited) {
        (self.a.waited, self.b.waited)
    }
}

impl SideFigures {
    /// Computes the figures of a side; `None` if it has no runs.
    pub(super) fn from_probe(probe: &Probe) -> Option<Self> {
        let totals: Vec<f64> = probe.runs.iter().map(|run| run.total_ms).collect();
        let known = |value: fn(&Run) -> Option<f64>| {
            let values: Vec<f64> = probe.runs.iter().filter_map(value).collect();
            Summary::from_samples(&values).map(|summary| summary.median)
        };
        let trips = |run: &Run| run.stages.iter().map(|s| s.round_trips).sum::<f64>();
        Some(Self {
            total: Summary::from_samples(&totals)?,
            ttfb_ms: known(|run| run.ttfb_ms),
            rtt_ms: known(|run| run.rtt_ms),
            round_trips: median(probe.runs.iter().map(trips)),
            hops: median(probe.runs.iter().map(|run| run.hops as f64)),
        })
    }
}

/// All phases that either side has, in their order; phases that a later version may add come last.
pub(super) fn stages(a: &Probe, b: &Probe) -> Vec<StageDiff> {
    let merged = a.uses("quic") != b.uses("quic");
    let mut names: Vec<String> = PhaseName::ALL
        .iter()
        .map(|n| n.as_str().to_owned())
        .collect();
    for stage in [a, b].iter().flat_map(|p| &p.runs).flat_map(|r| &r.stages) {
        if names.len() < MAX_STAGES && !names.contains(&stage.name) {
            names.push(stage.name.clone());
        }
    }
    if merged {
        names.retain(|name| !is_connecting(name));
        names.insert(2, CONNECT.to_owned());
    }
    let (a, b) = (a.middle(), b.middle());
    let laid = |name: String| StageDiff {
        a: figures(&a, &name),
        b: figures(&b, &name),
        name,
    };
    let all = names.into_iter().map(laid);
    all.filter(|stage| stage.a.seen || stage.b.seen).collect()
}

fn is_connecting(name: &str) -> bool {
    matches!(name, "tcp" | "tls" | "quic")
}

fn figures(runs: &[&Run], name: &str) -> StageFigures {
    let belongs = |stage: &&ReportedPhase| {
        stage.name == name || name == CONNECT && is_connecting(&stage.name)
    };
    let of = |value: fn(&ReportedPhase) -> f64| {
        let each = |run: &&Run| run.stages.iter().filter(belongs).map(value).sum::<f64>();
        mean(runs.iter().map(each))
    };
    let mine = || runs.iter().flat_map(|run| &run.stages).filter(belongs);
    let told = mine().all(|stage| stage.first_sent_ms.is_some());
    StageFigures {
        ms: of(|s| s.ms),
        round_trips: of(|s| s.round_trips),
        waited: Waited {
            network: of(|s| s.waited.network),
            server: of(|s| s.waited.server),
            client: of(|s| s.waited.client),
            resolver: of(|s| s.waited.resolver),
            loss: of(|s| s.waited.loss),
            unknown: of(|s| s.waited.unknown),
        },
        before: told.then(|| of(silent)),
        seen: mine().next().is_some(),
    }
}

/// The client's time before it sent anything.
fn silent(stage: &ReportedPhase) -> f64 {
    let before = stage.first_sent_ms.unwrap_or_default();
    before.min(stage.waited.client).max(0.0)
}
