//! Several ways to make one request, over one path: the state of each, and the conclusion from all.
//!
//! Values and their arithmetic. `lab` makes the requests, `terminal` draws, `json` is the contract
//! for programs.

use roundtrip_model::{Exchange, Memory, Strategy, Summary, Waited};

use crate::numbers::{count, ms, trips};
use crate::party;
use crate::run::total_ms;
use crate::terminal::clean;

/// The table. The others are compared with the first way.
#[derive(Debug, Clone, PartialEq)]
pub struct Ways {
    /// The configured round trip of the path.
    pub rtt_ms: f64,
    /// The number of runs of each way.
    pub runs: u32,
    /// The seed of the order of the runs.
    pub seed: u64,
    pub ways: Vec<WayRuns>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WayRuns {
    pub title: &'static str,
    pub strategy: Strategy,
    pub stage: Activity,
    pub answers: Vec<MeasuredRun>,
    /// The errors of runs without an answer.
    pub failures: Vec<String>,
}

/// The current activity of a way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activity {
    Resting,
    /// An unmeasured request obtains the ticket, cookie or connection that the way needs.
    Preparing,
    /// A measured request has been under way for this time.
    Asking {
        ms: f64,
    },
}

/// One measured run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRun {
    pub ms: f64,
    /// The number counted in the exchange, which can differ from the expected one.
    pub round_trips: u32,
    pub waited: Waited,
    pub used: Strategy,
}

impl MeasuredRun {
    /// The answer of an exchange, or the reason why it does not count as an answer.
    pub fn from_exchange(exchange: &Exchange) -> Result<Self, String> {
        if let Some(failure) = &exchange.failure {
            return Err(clean(&failure.message));
        }
        let phases = exchange.phases();
        Ok(Self {
            ms: total_ms(exchange),
            round_trips: exchange.round_trips(),
            waited: party::sum(phases.iter().map(|p| &p.waited)),
            used: exchange.used,
        })
    }
}

impl WayRuns {
    pub fn new(title: &'static str, strategy: Strategy) -> Self {
        Self {
            title,
            strategy,
            stage: Activity::Resting,
            answers: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// The number of finished runs.
    pub fn done(&self) -> u32 {
        (self.answers.len() + self.failures.len()) as u32
    }

    pub fn summary(&self) -> Option<Summary> {
        let samples: Vec<f64> = self.answers.iter().map(|a| a.ms).collect();
        Summary::from_samples(&samples)
    }

    pub(crate) fn median_ms(&self) -> Option<f64> {
        self.summary().map(|s| s.median)
    }

    /// The most representative run: the one nearest to the median.
    pub fn typical(&self) -> Option<&MeasuredRun> {
        let median = self.median_ms()?;
        let distance = |a: &MeasuredRun| (a.ms - median).abs();
        self.answers
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The difference between the counted number and the arithmetic, as text.
    pub fn disagreement(&self) -> Option<String> {
        let expected = self.strategy.round_trips();
        let odd: Vec<&MeasuredRun> = self
            .answers
            .iter()
            .filter(|a| a.round_trips != expected || self.strayed(a))
            .collect();
        let first = odd.first()?;
        let way = if self.strayed(first) {
            format!("; it used {}", first.used)
        } else {
            String::new()
        };
        let counted = trips(first.round_trips);
        let (odd, all) = (odd.len(), self.answers.len());
        Some(format!(
            "{counted} instead of the expected {expected}, in {odd} of {all} runs{way}"
        ))
    }

    /// Whether the run used another strategy. They are compared as words, which omit QUIC's only
    /// version of TLS.
    fn strayed(&self, answer: &MeasuredRun) -> bool {
        answer.used.to_string() != self.strategy.to_string()
    }

    /// What the unmeasured request obtains, as text for the user who waits for it.
    pub(crate) fn preparation(&self) -> &'static str {
        let strategy = self.strategy;
        match (
            strategy.reuse,
            strategy.fast_open,
            strategy.memory != Memory::Cold,
        ) {
            (true, ..) => "opening it first",
            (_, true, true) => "fetching cookie and ticket",
            (_, true, false) => "fetching the cookie",
            (..) => "fetching the ticket",
        }
    }
}

impl Ways {
    /// The milliseconds and the share that a way saved against the first; `None` for the first.
    pub fn saved(&self, place: usize) -> Option<(f64, f64)> {
        let base = self.ways.first()?.median_ms().filter(|ms| *ms > 0.0)?;
        let mine = self.ways.get(place).filter(|_| place > 0)?.median_ms()?;
        Some((base - mine, (base - mine) / base))
    }

    /// The number of the current run: the first that some way has not finished.
    pub fn current_run(&self) -> u32 {
        let least = self
            .ways
            .iter()
            .map(WayRuns::done)
            .min()
            .unwrap_or_default();
        (least + 1).min(self.runs)
    }

    /// All failures, each with its way.
    pub fn failures(&self) -> impl Iterator<Item = (&WayRuns, &str)> {
        self.ways
            .iter()
            .filter_map(|way| Some((way, way.failures.first()?.as_str())))
    }

    /// The conclusion from the measurements in one sentence; `None` if it would not be true.
    pub fn lesson(&self) -> Option<String> {
        let slow = self.ways.first()?;
        let median = |way: &WayRuns| way.median_ms().unwrap_or(f64::INFINITY);
        let fast = self
            .ways
            .iter()
            .min_by(|a, b| median(a).total_cmp(&median(b)))?;
        let (before, after) = (slow.typical()?.round_trips, fast.typical()?.round_trips);
        let (slow_ms, fast_ms) = (slow.median_ms()?, fast.median_ms()?);
        (after < before && fast_ms < slow_ms).then(|| {
            format!(
                "The server and the path stayed the same: asked in {} instead of {before}, the same question took \
                 {} ms instead of {} ms, and {:.0} % of the wait was gone.",
                trips(after),
                ms(fast_ms),
                ms(slow_ms),
                (slow_ms - fast_ms) / slow_ms * 100.0,
            )
        })
    }

    pub(crate) fn title(&self) -> String {
        format!(
            "An origin {} ms away, asked the same question in {}",
            plain(self.rtt_ms),
            count(self.ways.len() as u64, "way", "ways"),
        )
    }
}

/// `90`, `0.5`: a configured number, without superfluous digits.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
