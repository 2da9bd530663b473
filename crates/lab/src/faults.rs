//! The gauntlet: faults are drawn at random and injected into real exchanges on paths of several
//! lengths; then the findings are compared with the injected faults. Healthy exchanges are mixed
//! in, which must have no findings.
//!
//! `entry` reads the faults (`lab/faults.toml`), `draw` turns them into cases, `healthy` chooses
//! the paths of the others, `stage` runs one case; faulty `peer`s, `names` and `foreign`
//! servers take part where a path and an origin do not suffice; `machine` says what this host
//! added; `text` shows the outcome.

mod cost;
mod draw;
mod entry;
mod foreign;
mod healthy;
mod machine;
mod names;
mod peer;
mod stage;
pub mod text;

use std::path::PathBuf;

use roundtrip_model::{Exchange, Random};
use serde::Serialize;

use crate::Stop;
use draw::FaultCase;
use stage::Staged;

pub const SCHEMA: &str = "roundtrip/lab/1";
pub const NAME: &str = "faults";

/// A cost within this share, or this many milliseconds, counts as right.
const MAX_DEVIATION: f64 = 0.05;
const MAX_DEVIATION_MS: f64 = 1.0;

/// Causes that a busy machine can add to any exchange.
const MACHINES: [&str; 2] = ["client-starved", "cpu-throttled"];
/// A cost of at most this many times the wait of one thread is attributed to the machine, because
/// client, relay and server wait for each other.
const MACHINE_SHARE: f64 = 2.0;

#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    #[error("lab/faults.toml: {0}")]
    Entry(String),
    #[error(transparent)]
    Path(#[from] roundtrip_path::PathError),
    #[error("invalid path: {0}")]
    Word(#[from] roundtrip_path::WordError),
    #[error("the origin: {0}")]
    Origin(#[from] roundtrip_origin::OriginError),
    #[error("invalid URL: {0}")]
    Target(#[from] roundtrip_model::TargetError),
    #[error("lab/faults.toml has no '{0}'; it has healthy, {1}")]
    Unknown(String, String),
    #[error("a faulty peer could not be set up")]
    Peer(#[source] std::io::Error),
    #[error("{0} could not be started: {1}")]
    Foreign(&'static str, #[source] std::io::Error),
    #[error("the async runtime could not be started")]
    Runtime(#[from] std::io::Error),
}

/// The number of cases, and the faults that they are drawn from.
#[derive(Debug, Clone, Default)]
pub struct GauntletPlan {
    pub count: usize,
    pub seed: u64,
    /// The directory in which the packets of each case are recorded, as NUMBER.pcapng.
    pub record: Option<PathBuf>,
    /// Causes, and `healthy`: only cases with one of these are run. Empty means any.
    pub only: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Gauntlet {
    pub schema: &'static str,
    pub experiment: &'static str,
    pub seed: u64,
    pub cases: Vec<CaseVerdict>,
    /// The share of faults for which the most costly cause was named first.
    pub first_named: f64,
    /// The share of faults for which the cost was right, too.
    pub priced: f64,
    /// The number of healthy exchanges with findings, and the number of healthy exchanges.
    pub false_alarms: usize,
    pub controls: usize,
    /// The programs that are not installed. No case that needs one was drawn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_installed: Vec<&'static str>,
    pub interrupted: bool,
}

/// One case and its result.
#[derive(Debug, Clone, Serialize)]
pub struct CaseVerdict {
    /// The injected fault; `none` for a healthy exchange.
    pub fault: String,
    pub path: String,
    pub strategy: String,
    /// The program that answered, if it was not `roundtrip origin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<&'static str>,
    /// The cause that was named first.
    pub named: Option<String>,
    pub ms_injected: f64,
    pub ms_attributed: f64,
    /// Whether the most costly injected cause was named first.
    pub first: bool,
    pub ok: bool,
    /// All causes that were named, with their cost.
    pub findings: Vec<(String, f64)>,
    /// Causes that are true of the path, or of the body, of a healthy exchange.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<&'static str>,
    pub total_ms: f64,
    /// The longest time that one of our threads waited for a processor, or a packet for the relay.
    pub machine_ms: f64,
    /// The parties that the exchange waited for.
    pub waited: PartyTimes,
    /// Why there was no answer.
    pub failure: Option<String>,
    /// For two faults: the second cause, its cost, and the cost that was attributed to it.
    pub second: Option<(String, f64, f64)>,
    /// For a miss: the lines of `probe -v` about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<String>,
}

/// Times in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PartyTimes {
    pub network: f64,
    pub server: f64,
    pub client: f64,
    pub resolver: f64,
    pub loss: f64,
    pub unknown: f64,
}

impl PartyTimes {
    fn from_exchange(exchange: &Exchange) -> Self {
        let mut all = Self::default();
        for phase in exchange.phases() {
            all.network += phase.waited.network;
            all.server += phase.waited.server;
            all.client += phase.waited.client;
            all.resolver += phase.waited.resolver;
            all.loss += phase.waited.loss;
            all.unknown += phase.waited.unknown;
        }
        all
    }
}

/// Runs the gauntlet. The process of an ordinary user must have entered the sandbox first.
pub fn run(
    plan: &GauntletPlan,
    stop: &Stop,
    mut progress: impl FnMut(usize, &str),
) -> Result<Gauntlet, FaultsError> {
    let entries = entry::all()?;
    let only = draw::Choice::new(&plan.only, &entries)?;
    let mut random = Random::seeded(plan.seed);
    let mut cases = Vec::new();
    for number in 0..plan.count {
        if stop.is_set() {
            break;
        }
        let case = draw::case(&only, number, &mut random)?;
        progress(number, &case.name());
        let record = plan.record.as_deref();
        let record = record.map(|directory| directory.join(format!("{number}.pcapng")));
        let staged = stage::run(&case, random.next_u64(), record)?;
        cases.push(judge(&case, &staged));
    }
    Ok(summed(plan, cases, stop.is_set()))
}

fn judge(case: &FaultCase, staged: &Staged) -> CaseVerdict {
    let exchange = &staged.exchange;
    let findings: Vec<(String, f64)> = exchange
        .findings
        .iter()
        .map(|finding| (finding.id.to_owned(), finding.ms))
        .collect();
    let attributed = |cause: &str| -> f64 {
        let of_it = findings.iter().filter(|(id, _)| id == cause);
        of_it.map(|(_, ms)| ms).sum()
    };
    let costs = case.costs();
    let is_injected = |id: &str| costs.iter().any(|(cause, _)| cause == id);
    // There is evidence that this machine did not let the client run, so the finding is true.
    let machine = staged.machine.as_secs_f64() * 1e3;
    let unexpected = |(id, ms): &&(String, f64)| {
        let by_machine = MACHINES.contains(&id.as_str()) || *ms <= MACHINE_SHARE * machine;
        let by_chance = by_machine && !is_injected(id);
        !by_chance && !case.allowed.contains(&id.as_str())
    };
    let named = findings.iter().find(unexpected).map(|(id, _)| id.clone());
    let (worst, injected) = costs.first().cloned().unwrap_or_default();
    let priced = costs
        .iter()
        .all(|(cause, ms)| is_priced(attributed(cause), *ms, case.slack, machine));
    // If two causes have the same cost, either may come first.
    let costliest: Vec<String> = costs
        .iter()
        .filter(|(_, ms)| is_near(*ms, injected, case.slack))
        .map(|(cause, _)| cause.clone())
        .collect();
    let first = match &named {
        Some(named) => costliest.contains(named),
        None => costliest.is_empty(),
    };
    let ok = exchange.failure.is_none() && first && priced;
    CaseVerdict {
        fault: case.name(),
        path: case.path(),
        strategy: case.strategy.to_string(),
        server: case.setting.server.map(foreign::ForeignKind::program),
        ms_injected: injected,
        ms_attributed: attributed(&worst),
        first,
        ok,
        named,
        findings: findings.clone(),
        allowed: case.allowed.clone(),
        waited: PartyTimes::from_exchange(exchange),
        total_ms: exchange.total().as_secs_f64() * 1e3,
        machine_ms: machine,
        failure: exchange.failure.as_ref().map(|f| f.message.clone()),
        second: costs
            .get(1)
            .map(|(cause, ms)| (cause.clone(), *ms, attributed(cause))),
        report: if ok {
            Vec::new()
        } else {
            text::report(exchange)
        },
    }
}

/// Whether a measured cost is the injected one. It may contain what the machine added.
fn is_priced(measured: f64, injected: f64, slack: f64, machine: f64) -> bool {
    let added = (measured - injected).clamp(0.0, machine);
    is_near(measured - added, injected, slack)
}

fn is_near(measured: f64, injected: f64, slack: f64) -> bool {
    (measured - injected).abs() <= (injected * MAX_DEVIATION).max(MAX_DEVIATION_MS).max(slack)
}

fn summed(plan: &GauntletPlan, cases: Vec<CaseVerdict>, interrupted: bool) -> Gauntlet {
    let (controls, faulted): (Vec<&CaseVerdict>, Vec<&CaseVerdict>) =
        cases.iter().partition(|case| case.is_control());
    let share = |right: usize| match faulted.len() {
        0 => 0.0,
        all => right as f64 / all as f64,
    };
    let first = faulted.iter().filter(|case| case.first).count();
    let priced = faulted.iter().filter(|case| case.ok).count();
    Gauntlet {
        schema: SCHEMA,
        experiment: NAME,
        seed: plan.seed,
        first_named: share(first),
        priced: share(priced),
        false_alarms: controls.iter().filter(|case| !case.ok).count(),
        controls: controls.len(),
        not_installed: foreign::not_installed(),
        interrupted,
        cases,
    }
}

impl CaseVerdict {
    fn is_control(&self) -> bool {
        self.fault == draw::HEALTHY
    }
}

#[cfg(test)]
mod tests {
    use super::is_priced;

    #[test]
    fn what_the_machine_added_is_not_part_of_the_cost() {
        let priced = |measured, machine| is_priced(measured, 100.0, 0.0, machine);
        assert!(priced(104.9, 0.0) && priced(95.1, 0.0));
        assert!(!priced(125.0, 0.0) && !priced(125.0, 19.0) && priced(125.0, 21.0));
        // A busy machine makes nothing shorter.
        assert!(!priced(75.0, 30.0));
    }
}
