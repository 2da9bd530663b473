//! A comparison from beginning to end: discover, predict, measure, report.

use std::time::Duration;

use roundtrip_model::{Exchange, Finding, HttpFacts};

use crate::advice;
use crate::arithmetic::Costs;
use crate::budget::RequestBudget;
use crate::config::CompareConfig;
use crate::disagreement;
use crate::discover::{self, Discovery};
use crate::error::CompareError;
use crate::measure::{self, MeasureStep};
use crate::outcome::{Absent, Comparison, EndReason, MeasuredWay};
use crate::verdict::Support;
use crate::way::{Remedy, Way};

/// The current step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProgress {
    /// The way: a strategy in one word, or a command.
    pub word: String,
    /// The current block, from 1; `None` during the discovery.
    pub block: Option<u32>,
    /// The number of requests so far.
    pub sent: u32,
}

/// Compares until the answer is clear, the budget is spent or `stop` resolves.
pub async fn compare(
    config: &CompareConfig,
    stop: impl Future<Output = ()>,
    mut told: impl FnMut(&SessionProgress),
) -> Result<Comparison, CompareError> {
    config.check()?;
    tokio::pin!(stop);
    let mut budget = RequestBudget::new(config.limits);
    let discovery = async {
        let first = discover::first(config, &mut budget).await?;
        let progress = |way: &Way, sent| {
            told(&SessionProgress {
                word: way.word(),
                block: None,
                sent,
            });
        };
        Ok(discover::ways(config, first, &mut budget, progress).await)
    };
    let found = tokio::select! {
        found = discovery => found?,
        () = &mut stop => return Err(CompareError::Interrupted),
    };
    let discovered = budget.sent();
    let costs = Costs::from_exchanges(&found.first, &found.rehearsals);
    let (mut lines, absent) = arms(&found, costs.as_ref(), config.requests);
    let mut blocks = 0;
    let progress = |line: &MeasuredWay, step: MeasureStep| {
        told(&SessionProgress {
            word: line.way.word(),
            block: Some(step.block + 1),
            sent: step.sent,
        });
    };
    let ended = tokio::select! {
        ended = measure::run(config, &mut lines, &mut blocks, &mut budget, progress) => ended,
        () = &mut stop => EndReason::Interrupted,
    };
    measure::pair(&mut lines, config.seed);
    let measured = Measured {
        lines,
        absent,
        blocks,
        ended,
        discovered,
        sent: budget.sent(),
        took: budget.took(),
    };
    measured.told(config, &found, costs.as_ref())
}

/// The arms, baseline and control first, and the ways that could not be measured.
fn arms(found: &Discovery, costs: Option<&Costs>, k: u32) -> (Vec<MeasuredWay>, Vec<Absent>) {
    let predict = |way: &Way| costs.map(|costs| costs.predict(way, k));
    let today = predict(&found.baseline);
    let control = Way {
        remedy: Remedy::Control,
        ..found.baseline.clone()
    };
    let mut lines: Vec<MeasuredWay> = [found.baseline.clone(), control]
        .map(|way| MeasuredWay::new(way, None, today))
        .into();
    let mut absent = Vec::new();
    for (way, support) in &found.ways {
        // It is unknown how another program makes its requests, so nothing is predicted for it.
        let predicted = predict(way).filter(|_| way.command.is_none());
        let idle = match support {
            Support::Works => None,
            Support::Idle(why) => Some(why.clone()),
            Support::Absent(why) => {
                let would = today.zip(predicted).map(|(today, then)| today.less(then));
                absent.push(Absent::new(way.clone(), why.clone(), would));
                continue;
            }
            // It is unknown whether the server supports it, and therefore what it would save.
            Support::Unasked(why) => {
                absent.push(Absent::new(way.clone(), why.clone(), None));
                continue;
            }
        };
        lines.push(MeasuredWay::new(way.clone(), idle, predicted));
    }
    (lines, absent)
}

struct Measured {
    lines: Vec<MeasuredWay>,
    absent: Vec<Absent>,
    blocks: u32,
    ended: EndReason,
    discovered: u32,
    sent: u32,
    took: Duration,
}

impl Measured {
    fn told(
        self,
        config: &CompareConfig,
        found: &Discovery,
        costs: Option<&Costs>,
    ) -> Result<Comparison, CompareError> {
        let mut lines = self.lines.into_iter();
        let (Some(baseline), Some(control)) = (lines.next(), lines.next()) else {
            return Err(CompareError::Interrupted);
        };
        let http = found.first.http.as_ref();
        let server = http.and_then(server_name);
        let mut comparison = Comparison {
            url: config.target.redacted(),
            method: config.method(),
            requests: config.requests,
            seed: config.seed,
            limits: config.limits,
            status: http.map_or(0, |h| h.status),
            rtt_ms: costs.map(|c| c.rtt),
            address: address(&found.first),
            control,
            lines: lines.collect(),
            absent: self.absent,
            blocks: self.blocks,
            sent: self.sent,
            discovery: self.discovered,
            took_s: self.took.as_secs_f64(),
            ended: self.ended,
            notes: notes(config, found),
            findings: findings(&baseline),
            baseline,
            server,
        };
        annotate(&mut comparison);
        comparison.sort();
        Ok(comparison)
    }
}

/// The causes found in a typical run of the baseline.
fn findings(baseline: &MeasuredWay) -> Vec<Finding> {
    let typical = baseline.typical().and_then(|s| s.last.as_ref());
    typical.map_or_else(Vec::new, |last| last.findings.clone())
}

/// Adds the reasons for the results, and what each side has to change.
fn annotate(c: &mut Comparison) {
    let rtt = c.rtt_ms.unwrap_or(f64::INFINITY);
    let name = c.server.as_deref();
    c.baseline.disagreement = disagreement::of(&c.baseline, &c.baseline, rtt);
    for line in &mut c.lines {
        let late = disagreement::waits_for_handshake(line, &c.baseline, rtt);
        line.disagreement = disagreement::of(line, &c.baseline, rtt);
        // If the first flight does not fit into the SYN, the client must change, not the server.
        let works = line.idle.is_none() || line.way.remedy == Remedy::FastOpen;
        line.advice = advice::of(line.way.remedy, name, works);
        if late.is_some() {
            line.disagreement.clone_from(&late);
            line.idle = late;
            line.advice.server = Some(advice::AT_ONCE.into());
        }
    }
    let asked = |absent: &&mut Absent| absent.would_save.is_some();
    for absent in c.absent.iter_mut().filter(asked) {
        absent.advice = advice::of(absent.way.remedy, name, false);
    }
}

fn server_name(http: &HttpFacts) -> Option<String> {
    let name = String::from_utf8_lossy(http.header("server")?).into_owned();
    Some(name.chars().take(80).collect())
}

fn address(exchange: &Exchange) -> Option<String> {
    let tcp = exchange.tcp.as_ref().and_then(|t| t.peer);
    let quic = || exchange.quic.as_ref().and_then(|q| q.peer);
    Some(tcp.or_else(quic)?.to_string())
}

fn notes(config: &CompareConfig, found: &Discovery) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(http) = found.first.http.as_ref().filter(|h| h.status >= 300) {
        let to = http.redirect.as_deref().unwrap_or_default();
        notes.push(match http.status {
            300..400 if !to.is_empty() => format!(
                "the answer is {} to {to}: this compares ways to that answer, not to the page behind it",
                http.status
            ),
            status => format!("the answer is {status} {}: that is what was compared", http.reason),
        });
    }
    if !config.is_safe() {
        let method = config.method();
        notes.push(format!(
            "{method} is not sent as early data, which an attacker may send again (RFC 8470): 0-RTT was left out"
        ));
    }
    notes
}
