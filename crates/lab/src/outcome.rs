//! The outcome of an experiment as one value: every sample, and the values computed from them. Its
//! JSON form is the contract `roundtrip/lab/1`: keys can be added but never renamed.

use roundtrip_model::{Phase, Saving, Summary, Waited};
use serde::Serialize;

use crate::experiment::{Measure, PathWords, Published};
use crate::packets::TracedPacket;
use crate::rounding::{rounded, rounded_some};

pub const SCHEMA: &str = "roundtrip/lab/1";
/// The word of `perf` for a core that other programs used too.
const CROWDED: &str = "others";

#[derive(Debug, Clone, Serialize)]
pub struct LabOutcome {
    pub schema: &'static str,
    pub experiment: String,
    pub question: String,
    pub article: String,
    pub path: PathWords,
    /// The path's round-trip time, if all arms share one.
    #[serde(serialize_with = "rounded_some")]
    pub rtt_ms: Option<f64>,
    pub measure: Measure,
    pub unit: String,
    pub runs: u32,
    pub seed: u64,
    /// Whether the user stopped before everything was measured.
    pub interrupted: bool,
    /// The total duration in seconds.
    #[serde(serialize_with = "rounded")]
    pub took_s: f64,
    /// The command line that repeats the measurement.
    pub again: String,
    pub arms: Vec<ArmOutcome>,
    pub curves: Vec<Curve>,
    pub published: Vec<Published>,
    pub claims: Vec<ClaimOutcome>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ArmOutcome {
    pub name: String,
    /// The strategy and the sequence of requests, or the command.
    pub client: String,
    pub server: String,
    pub warm: bool,
    pub control: bool,
    pub requests: u32,
    pub path: PathWords,
    /// Whether both ends of a transfer leave segmentation to the interface.
    pub offload: Option<bool>,
    #[serde(flatten)]
    pub figures: Figures,
    pub unit: String,
    #[serde(serialize_with = "rounded_some")]
    pub published: Option<f64>,
    /// The sender's cost of TLS over TCP under the same conditions, divided by this arm's: the
    /// throughput of one sending core, relative to TLS.
    #[serde(serialize_with = "rounded_some")]
    pub ratio_to_tls: Option<f64>,
    /// The published throughput, divided by the published throughput of TLS.
    #[serde(serialize_with = "rounded_some")]
    pub published_ratio: Option<f64>,
    pub saving: Option<SavingOutcome>,
    /// The reasons why some runs, or all, have no sample.
    pub failures: Vec<String>,
    /// The failures of an arm that is expected to fail.
    pub expected_failures: Vec<String>,
    /// How many requests the origin received in the median run, including those that warmed it up.
    #[serde(serialize_with = "rounded_some")]
    pub requests_seen: Option<f64>,
    /// Why the arm was not run; that is not a failure.
    pub not_run: Option<String>,
    pub notes: Vec<String>,
    pub samples: Vec<RunSample>,
    /// The phases of the run nearest to the median.
    pub phases: Vec<PhaseSpan>,
    /// The packets of one more run, if the file asks for them.
    pub packets: Vec<TracedPacket>,
}

/// A distribution in a few numbers; `None` if there are no samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figures {
    pub runs: usize,
    #[serde(serialize_with = "rounded_some")]
    pub median: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub min: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub p90: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub max: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub mean: Option<f64>,
    /// These five are medians, if the client reports them.
    #[serde(serialize_with = "rounded_some")]
    pub round_trips: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub network_ms: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub server_ms: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub client_ms: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub loss_ms: Option<f64>,
    /// Processor time of the server's processes per request, if the server is a program.
    #[serde(serialize_with = "rounded_some")]
    pub cpu_us: Option<f64>,
    /// For transfers: the payload and the receiver's cost, in the unit of the arm.
    #[serde(serialize_with = "rounded_some")]
    pub gbit_per_s: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub receiver: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SavingOutcome {
    pub against: String,
    #[serde(flatten)]
    pub saving: Saving,
    /// Whether the interval excludes zero; `None` if there are too few pairs.
    pub shown: Option<bool>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RunSample {
    /// The number of the run. Samples of the same run form pairs.
    pub run: usize,
    #[serde(serialize_with = "rounded")]
    pub value: f64,
    #[serde(serialize_with = "rounded_some")]
    pub round_trips: Option<f64>,
    pub waited: Option<WaitedFor>,
    #[serde(serialize_with = "rounded_some")]
    pub cpu_us: Option<f64>,
    /// The measurements of a transfer other than its cost.
    pub carried: Option<Carried>,
    #[serde(skip)]
    pub phases: Vec<PhaseSpan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Carried {
    #[serde(serialize_with = "rounded")]
    pub gbit_per_s: f64,
    /// The receiver's cost, in the same unit as the sender's.
    #[serde(serialize_with = "rounded")]
    pub receiver: f64,
    /// The limit of the rate, in `perf`'s words.
    pub bottleneck: &'static str,
    /// Whether each side was pinned to its own core.
    pub is_apart: bool,
}

/// The milliseconds spent waiting for each party.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct WaitedFor {
    #[serde(serialize_with = "rounded")]
    pub network_ms: f64,
    #[serde(serialize_with = "rounded")]
    pub server_ms: f64,
    #[serde(serialize_with = "rounded")]
    pub client_ms: f64,
    #[serde(serialize_with = "rounded")]
    pub resolver_ms: f64,
    #[serde(serialize_with = "rounded")]
    pub loss_ms: f64,
    #[serde(serialize_with = "rounded")]
    pub unknown_ms: f64,
}

/// A phase of one request of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSpan {
    /// The index of the request, from 0.
    pub request: usize,
    pub name: &'static str,
    /// Milliseconds since the run began.
    #[serde(serialize_with = "rounded")]
    pub start_ms: f64,
    #[serde(serialize_with = "rounded")]
    pub ms: f64,
    pub round_trips: u32,
    pub waited: WaitedFor,
}

/// Arms over the values of one word.
#[derive(Debug, Clone, Serialize)]
pub struct Curve {
    pub word: String,
    pub unit: String,
    pub lines: Vec<CurveLine>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CurveLine {
    pub arm: String,
    pub points: Vec<CurvePoint>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CurvePoint {
    /// The value of the word, as the file spells it.
    pub value: String,
    /// The name that claims use for this point.
    pub name: String,
    #[serde(flatten)]
    pub figures: Figures,
    #[serde(serialize_with = "rounded_some")]
    pub rtt_ms: Option<f64>,
    pub failures: Vec<String>,
    pub not_run: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ClaimOutcome {
    pub text: String,
    #[serde(serialize_with = "rounded_some")]
    pub published: Option<f64>,
    #[serde(serialize_with = "rounded_some")]
    pub measured: Option<f64>,
    pub unit: String,
    /// Whether the claim holds; `None` if an operand was not measured.
    pub holds: Option<bool>,
}

impl LabOutcome {
    /// Whether every claim holds or is undecided, and nothing failed that could be run.
    pub fn is_good(&self) -> bool {
        let points = self
            .curves
            .iter()
            .flat_map(|c| &c.lines)
            .flat_map(|l| &l.points);
        self.claims.iter().all(|claim| claim.holds != Some(false))
            && self.arms.iter().all(|arm| arm.failures.is_empty())
            && points.into_iter().all(|point| point.failures.is_empty())
    }

    /// Disturbances that make the figures of transfers worse than they should be.
    pub fn disturbance(&self) -> Option<String> {
        let samples = self.arms.iter().flat_map(|arm| &arm.samples);
        let carried: Vec<Carried> = samples.filter_map(|sample| sample.carried).collect();
        let together = carried.iter().filter(|c| !c.is_apart).count();
        let crowded = carried.iter().filter(|c| c.bottleneck == CROWDED).count();
        match (together, crowded) {
            (0, 0) => None,
            (0, crowded) => Some(format!(
                "In {crowded} of {} runs other programs used part of a core: costs are higher and vary more than on a quiet machine.",
                carried.len()
            )),
            _ => Some("Both sides shared one core, so each disturbed the other.".into()),
        }
    }

    pub fn arm(&self, name: &str) -> Option<&ArmOutcome> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}

impl Figures {
    pub fn from_samples(samples: &[RunSample]) -> Self {
        let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        let Some(summary) = Summary::from_samples(&values) else {
            return Self::default();
        };
        let median = |figure: &dyn Fn(&RunSample) -> Option<f64>| {
            let told: Vec<f64> = samples.iter().filter_map(figure).collect();
            Summary::from_samples(&told).map(|summary| summary.median)
        };
        Self {
            runs: summary.n,
            median: Some(summary.median),
            min: Some(summary.min),
            p90: Some(summary.p90),
            max: Some(summary.max),
            mean: Some(summary.mean),
            round_trips: median(&|s| s.round_trips),
            network_ms: median(&|s| Some(s.waited?.network_ms)),
            server_ms: median(&|s| Some(s.waited?.server_ms)),
            client_ms: median(&|s| Some(s.waited?.client_ms)),
            loss_ms: median(&|s| Some(s.waited?.loss_ms)),
            cpu_us: median(&|s| s.cpu_us),
            gbit_per_s: median(&|s| Some(s.carried?.gbit_per_s)),
            receiver: median(&|s| Some(s.carried?.receiver)),
        }
    }
}

impl WaitedFor {
    #[must_use]
    pub fn plus(self, waited: &Waited) -> Self {
        Self {
            network_ms: self.network_ms + waited.network,
            server_ms: self.server_ms + waited.server,
            client_ms: self.client_ms + waited.client,
            resolver_ms: self.resolver_ms + waited.resolver,
            loss_ms: self.loss_ms + waited.loss,
            unknown_ms: self.unknown_ms + waited.unknown,
        }
    }

    /// All values divided by `n`.
    #[must_use]
    pub fn each(self, n: f64) -> Self {
        Self {
            network_ms: self.network_ms / n,
            server_ms: self.server_ms / n,
            client_ms: self.client_ms / n,
            resolver_ms: self.resolver_ms / n,
            loss_ms: self.loss_ms / n,
            unknown_ms: self.unknown_ms / n,
        }
    }
}

impl PhaseSpan {
    /// A phase of a request that began `offset_ms` milliseconds after its run.
    pub fn from_phase(phase: &Phase, request: usize, offset_ms: f64) -> Self {
        Self {
            request,
            name: phase.name.as_str(),
            start_ms: offset_ms + phase.start.as_millis(),
            ms: phase.ms(),
            round_trips: phase.round_trips,
            waited: WaitedFor::default().plus(&phase.waited),
        }
    }
}
