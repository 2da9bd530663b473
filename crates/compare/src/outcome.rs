//! The result of a comparison, as values for any report.

use roundtrip_model::{Finding, MIN_PAIRS, Random, Saving, Summary};

use roundtrip_report::count;

use crate::advice::Advice;
use crate::config::RequestLimits;
use crate::sample::Sample;
use crate::way::Way;

#[derive(Debug, Clone)]
pub struct Comparison {
    pub url: String,
    pub method: String,
    /// The number of requests in a sequence; all figures are those of one request.
    pub requests: u32,
    pub seed: u64,
    pub limits: RequestLimits,
    /// The server's Server header.
    pub server: Option<String>,
    pub status: u16,
    pub rtt_ms: Option<f64>,
    /// The address that was used, as today's client chose it.
    pub address: Option<String>,
    pub baseline: MeasuredWay,
    /// The causes of today's time, as a typical run shows them.
    pub findings: Vec<Finding>,
    /// The A/A control.
    pub control: MeasuredWay,
    /// The other ways that were measured, the largest saving first.
    pub lines: Vec<MeasuredWay>,
    /// The ways that could not be measured.
    pub absent: Vec<Absent>,
    /// The number of complete blocks.
    pub blocks: u32,
    /// The number of all requests, and of the requests made for the discovery.
    pub sent: u32,
    pub discovery: u32,
    pub took_s: f64,
    pub ended: EndReason,
    pub notes: Vec<String>,
}

/// Why the measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// All intervals are narrow enough.
    Clear,
    Requests,
    Time,
    Interrupted,
}

/// The expected cost of a way by arithmetic, for one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    pub ms: f64,
    pub round_trips: f64,
}

impl Prediction {
    /// The savings from changing to `other`.
    pub(crate) fn less(self, other: Self) -> Self {
        Self {
            ms: self.ms - other.ms,
            round_trips: self.round_trips - other.round_trips,
        }
    }
}

/// A way that was measured.
#[derive(Debug, Clone)]
pub struct MeasuredWay {
    pub way: Way,
    /// Why the way has no effect, although it seems to be supported.
    pub idle: Option<String>,
    pub predicted: Option<Prediction>,
    /// The successful runs, each with its block.
    pub samples: Vec<(u32, Sample)>,
    pub failures: Vec<String>,
    /// The number of blocks in which both this way and the baseline succeeded.
    pub pairs: usize,
    /// The saving, compared with the baseline of the same block.
    pub saving: Option<Saving>,
    /// Why measurement and prediction differ; `None` if they agree.
    pub disagreement: Option<String>,
    pub advice: Advice,
}

/// The result for a measured way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayVerdict {
    /// The way saves time.
    Saves,
    /// The way seems to be supported, but has no effect.
    Idle,
    /// There are too few pairs to tell.
    Unsure,
    /// There is no clear difference.
    Nothing,
    /// The way costs time.
    Costs,
}

/// A way that could not be measured.
#[derive(Debug, Clone)]
pub struct Absent {
    pub way: Way,
    /// What was observed.
    pub why: String,
    /// The calculated saving, in ms and round trips; `None` for a way that was not requested.
    pub would_save: Option<Prediction>,
    pub advice: Advice,
}

impl Absent {
    pub(crate) fn new(way: Way, why: String, would_save: Option<Prediction>) -> Self {
        Self {
            way,
            why,
            would_save,
            advice: Advice::default(),
        }
    }
}

impl MeasuredWay {
    pub(crate) fn new(way: Way, idle: Option<String>, predicted: Option<Prediction>) -> Self {
        Self {
            way,
            idle,
            predicted,
            samples: Vec::new(),
            failures: Vec::new(),
            pairs: 0,
            saving: None,
            disagreement: None,
            advice: Advice::default(),
        }
    }

    pub fn figures(&self) -> Option<Summary> {
        let all: Vec<f64> = self.samples.iter().map(|(_, s)| s.ms).collect();
        Summary::from_samples(&all)
    }

    pub fn median(&self) -> Option<f64> {
        self.figures().map(|figures| figures.median)
    }

    /// The counted round trips of one request.
    pub fn round_trips(&self) -> Option<f64> {
        let counted = self.samples.iter().filter_map(|(_, s)| s.round_trips);
        Summary::from_samples(&counted.collect::<Vec<f64>>()).map(|s| s.median)
    }

    /// The run that represents the way: the one nearest to its median.
    pub fn typical(&self) -> Option<&Sample> {
        let median = self.median()?;
        let far = |s: &Sample| (s.ms - median).abs();
        let all = self.samples.iter().map(|(_, s)| s);
        all.min_by(|a, b| far(a).total_cmp(&far(b)))
    }

    /// Whether there are enough pairs, and the interval excludes zero.
    pub fn is_shown(&self) -> bool {
        self.saving.and_then(|s| s.is_shown()) == Some(true)
    }

    /// The result; each line belongs to one kind.
    pub fn kind(&self) -> WayVerdict {
        let saving = self.saving.filter(|_| self.idle.is_none());
        match saving.and_then(|s| Some((s.is_shown()?, s.median))) {
            _ if self.idle.is_some() => WayVerdict::Idle,
            None => WayVerdict::Unsure,
            Some((false, _)) => WayVerdict::Nothing,
            Some((true, median)) if median > 0.0 => WayVerdict::Saves,
            Some(_) => WayVerdict::Costs,
        }
    }

    /// Words such as `too few to tell (3 pairs; at least 6 are needed)`.
    pub fn too_few(&self) -> String {
        let pairs = count(self.pairs as u64, "pair", "pairs");
        format!("too few to tell ({pairs}; at least {MIN_PAIRS} are needed)")
    }

    /// (measured − predicted) / predicted.
    pub fn deviation(&self) -> Option<f64> {
        let predicted = self.predicted?.ms;
        (predicted > 0.0).then_some((self.median()? - predicted) / predicted)
    }

    /// Pairs the runs with the baseline of the same block.
    pub(crate) fn pair(&mut self, baseline: &[(u32, Sample)], random: &mut Random) {
        let with = |(block, mine): &(u32, Sample)| {
            let base = baseline.iter().find(|(b, _)| b == block)?;
            Some((base.1.ms, mine.ms))
        };
        let pairs: Vec<(f64, f64)> = self.samples.iter().filter_map(with).collect();
        self.pairs = pairs.len();
        self.saving = Saving::from_pairs(&pairs, random);
    }
}

impl WayVerdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Saves,
        Self::Idle,
        Self::Unsure,
        Self::Nothing,
        Self::Costs,
    ];

    /// The heading above the ways of this kind.
    pub fn title(self) -> &'static str {
        match self {
            Self::Saves => "What would save time here",
            Self::Idle => "What looks supported, but has no effect",
            Self::Unsure => "Measured too seldom to tell",
            Self::Nothing => "No difference shown",
            Self::Costs => "What would cost time here",
        }
    }

    /// The name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Saves => "saves",
            Self::Idle => "idle",
            Self::Unsure => "too-few-pairs",
            Self::Nothing => "no-difference",
            Self::Costs => "costs",
        }
    }
}

impl Comparison {
    /// The line with the largest saving, if one saves time.
    pub fn best(&self) -> Option<&MeasuredWay> {
        self.of_kind(WayVerdict::Saves).next()
    }

    pub(crate) fn of_kind(&self, kind: WayVerdict) -> impl Iterator<Item = &MeasuredWay> {
        self.lines.iter().filter(move |line| line.kind() == kind)
    }

    /// The sentence for a comparison that shows no way to save time: either no way saves any, or
    /// there are too few requests to decide.
    pub(crate) fn nothing_shown(&self) -> String {
        let unsure = self
            .of_kind(WayVerdict::Unsure)
            .max_by_key(|line| line.pairs);
        unsure.map_or_else(
            || "No saving is shown".into(),
            |line| format!("Whether anything saves time: {}", line.too_few()),
        )
    }

    pub(crate) fn sort(&mut self) {
        let saved = |line: &MeasuredWay| line.saving.map_or(f64::NEG_INFINITY, |s| s.median);
        self.lines.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
        let would = |a: &Absent| a.would_save.map_or(f64::NEG_INFINITY, |p| p.ms);
        self.absent.sort_by(|a, b| would(b).total_cmp(&would(a)));
    }
}

impl EndReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Requests => "requests",
            Self::Time => "time",
            Self::Interrupted => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests;
