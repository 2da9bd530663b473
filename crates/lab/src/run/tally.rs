//! Computes an outcome from samples: figures, paired savings, the phases of medians, curves,
//! claims.

mod ratio;

use std::collections::BTreeMap;

use roundtrip_model::{Random, Saving, Summary};

use super::scene::TakenSample;
use crate::LabOutcome;
use crate::claim::{Function, Results};
use crate::experiment::{ArmClient, Cell, Experiment, Sweep};
use crate::outcome::{
    ArmOutcome, ClaimOutcome, Curve, CurveLine, CurvePoint, Figures, PhaseSpan, RunSample, SCHEMA,
    SavingOutcome,
};
use crate::packets::{TracedPacket, arrived_twice, sent_twice};

/// The samples and failures of one cell.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) samples: Vec<RunSample>,
    pub(super) failures: Vec<String>,
    /// The failures of an arm that is expected to fail.
    pub(super) expected: Vec<String>,
    /// The requests that the origin received in each run.
    pub(super) seen: Vec<f64>,
    pub(super) packets: Vec<TracedPacket>,
    pub(super) not_run: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Collected {
    pub(super) fn keep(&mut self, run: usize, taken: TakenSample) {
        for note in taken.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.samples.push(RunSample {
            run,
            ..taken.sample
        });
    }

    /// Adds a failure: as expected, if it contains the expected text.
    pub(super) fn fail(&mut self, failure: String, expected: Option<&str>) {
        if expected.is_some_and(|expected| failure.contains(expected)) {
            self.expected.push(failure);
        } else {
            self.failures.push(failure);
        }
    }
}

pub(super) fn outcome(
    experiment: &Experiment,
    main: &[Collected],
    swept: Vec<Vec<Collected>>,
    random: &mut Random,
) -> LabOutcome {
    let mut judged = ClaimFigures {
        rtt_ms: experiment.path.rtt_ms(),
        ..ClaimFigures::default()
    };
    let mut arms = Vec::new();
    for (cell, collected) in experiment.cells.iter().zip(main) {
        let held = cell.against.as_ref().and_then(|name| {
            let place = experiment
                .cells
                .iter()
                .position(|cell| cell.name == *name)?;
            Some((name, main.get(place)?))
        });
        let saving = held.and_then(|(name, base)| saving(name, base, collected, random));
        let arm = arm(experiment, cell, collected, saving);
        judged.learn(cell, &arm.figures, arm.saving.as_ref());
        arms.push(arm);
    }
    ratio::add(experiment, &mut arms);
    for arm in &arms {
        judged.learn_more(arm);
    }
    let mut curves = Vec::new();
    for (sweep, collected) in experiment.sweeps.iter().zip(swept) {
        curves.push(curve(experiment, sweep, collected, &mut judged));
    }
    LabOutcome {
        schema: SCHEMA,
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        article: experiment.article.clone(),
        path: experiment.path.clone(),
        rtt_ms: judged.rtt_ms,
        measure: experiment.measure,
        unit: experiment.unit.clone(),
        runs: experiment.runs,
        seed: 0,
        interrupted: false,
        took_s: 0.0,
        again: String::new(),
        arms,
        curves,
        published: experiment.published.clone(),
        claims: claims(experiment, &judged),
    }
}

fn arm(
    experiment: &Experiment,
    cell: &Cell,
    collected: &Collected,
    saving: Option<SavingOutcome>,
) -> ArmOutcome {
    let figures = Figures::from_samples(&collected.samples);
    let mut published = experiment.published.iter();
    let published = published.find(|p| p.name == cell.name && p.unit == experiment.unit);
    let note = cell.arm.note.iter().cloned();
    ArmOutcome {
        name: cell.name.clone(),
        client: cell.arm.client.describe(),
        server: cell.arm.server.name.clone(),
        warm: cell.arm.warm,
        control: cell.control,
        requests: cell.requests,
        path: cell.path.clone(),
        offload: matches!(cell.arm.client, ArmClient::Transfer(_)).then_some(cell.offload),
        figures,
        unit: experiment.unit.clone(),
        published: published.map(|p| p.value),
        ratio_to_tls: None,
        published_ratio: None,
        saving,
        failures: collected.failures.clone(),
        expected_failures: collected.expected.clone(),
        requests_seen: Summary::from_samples(&collected.seen).map(|seen| seen.median),
        not_run: collected.not_run.clone(),
        notes: note.chain(collected.notes.iter().cloned()).collect(),
        phases: phases_of_the_median(&figures, &collected.samples),
        samples: collected.samples.clone(),
        packets: collected.packets.clone(),
    }
}

fn phases_of_the_median(figures: &Figures, samples: &[RunSample]) -> Vec<PhaseSpan> {
    let median = figures.median.unwrap_or_default();
    let distance = |sample: &&RunSample| (sample.value - median).abs();
    let nearest = samples
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.map_or(Vec::new(), |sample| sample.phases.clone())
}

/// Compares samples of the same block in pairs.
fn saving(
    against: &str,
    base: &Collected,
    arm: &Collected,
    random: &mut Random,
) -> Option<SavingOutcome> {
    let before: BTreeMap<usize, f64> = base.samples.iter().map(|s| (s.run, s.value)).collect();
    let pair = |sample: &RunSample| Some((*before.get(&sample.run)?, sample.value));
    let pairs: Vec<(f64, f64)> = arm.samples.iter().filter_map(pair).collect();
    let saving = Saving::from_pairs(&pairs, random)?;
    Some(SavingOutcome {
        against: against.to_owned(),
        saving,
        shown: saving.is_shown(),
    })
}

/// Makes one line for each arm, in the order of the sweep.
fn curve(
    experiment: &Experiment,
    sweep: &Sweep,
    collected: Vec<Collected>,
    judged: &mut ClaimFigures,
) -> Curve {
    let mut lines: Vec<CurveLine> = Vec::new();
    let cells = sweep.points.iter().flat_map(|point| {
        let named = point.cells.iter();
        named.map(|(arm, cell)| (&point.value, arm, cell))
    });
    for ((value, arm, cell), collected) in cells.zip(collected) {
        let figures = Figures::from_samples(&collected.samples);
        judged.learn(cell, &figures, None);
        let point = CurvePoint {
            value: value.clone(),
            name: cell.name.clone(),
            figures,
            rtt_ms: cell.path.rtt_ms(),
            failures: collected.failures,
            not_run: collected.not_run,
        };
        match lines.iter_mut().find(|line| line.arm == *arm) {
            Some(line) => line.points.push(point),
            None => lines.push(CurveLine {
                arm: arm.clone(),
                points: vec![point],
            }),
        }
    }
    Curve {
        word: sweep.word.clone(),
        unit: experiment.unit.clone(),
        lines,
    }
}

fn claims(experiment: &Experiment, judged: &ClaimFigures) -> Vec<ClaimOutcome> {
    let judge = |claim: &crate::experiment::Claim| {
        let verdict = claim.expression.judge(judged, &experiment.unit);
        ClaimOutcome {
            text: claim.text.clone(),
            published: claim.published,
            measured: verdict.measured,
            unit: verdict.unit.to_owned(),
            holds: verdict.holds,
        }
    };
    experiment.claims.iter().map(judge).collect()
}

/// The figures that claims may use.
#[derive(Debug, Default)]
struct ClaimFigures {
    rtt_ms: Option<f64>,
    known: BTreeMap<String, ArmFigures>,
}

#[derive(Debug)]
struct ArmFigures {
    figures: Figures,
    rtt_ms: Option<f64>,
    low: Option<(String, f64)>,
    more: ArmExtras,
}

/// Facts about an arm besides its samples.
#[derive(Debug, Default)]
struct ArmExtras {
    /// The share of runs that failed as expected.
    failed: Option<f64>,
    requests: Option<f64>,
    sent_twice: Option<f64>,
    arrived_twice: Option<f64>,
    ratio_to_tls: Option<f64>,
}

impl ClaimFigures {
    fn learn(&mut self, cell: &Cell, figures: &Figures, saving: Option<&SavingOutcome>) {
        let known = ArmFigures {
            figures: *figures,
            rtt_ms: cell.path.rtt_ms(),
            low: saving.map(|s| (s.against.clone(), s.saving.low)),
            more: ArmExtras::default(),
        };
        self.known.insert(cell.name.clone(), known);
    }

    fn best_ratio(&self, arms: &[String]) -> Option<f64> {
        let known = arms.iter().filter_map(|arm| self.known.get(arm));
        known
            .filter_map(|known| known.more.ratio_to_tls)
            .max_by(f64::total_cmp)
    }

    fn learn_more(&mut self, arm: &ArmOutcome) {
        let expected = arm.expected_failures.len() as f64;
        let runs = expected + (arm.failures.len() + arm.samples.len()) as f64;
        let packets = (!arm.packets.is_empty()).then_some(&arm.packets);
        if let Some(known) = self.known.get_mut(&arm.name) {
            known.more = ArmExtras {
                failed: (runs > 0.0).then_some(expected / runs),
                requests: arm.requests_seen,
                sent_twice: packets.map(|packets| sent_twice(packets) as f64),
                arrived_twice: packets.map(|packets| arrived_twice(packets) as f64),
                ratio_to_tls: arm.ratio_to_tls,
            };
        }
    }
}

impl Results for ClaimFigures {
    fn figure(&self, function: Function, arms: &[String]) -> Option<f64> {
        let arm = self.known.get(arms.first()?)?;
        match function {
            Function::Median => arm.figures.median,
            Function::Min => arm.figures.min,
            Function::Max => arm.figures.max,
            Function::Mean => arm.figures.mean,
            Function::P90 => arm.figures.p90,
            Function::RoundTrips => arm.figures.round_trips,
            Function::Network => arm.figures.network_ms,
            Function::Server => arm.figures.server_ms,
            Function::Client => arm.figures.client_ms,
            Function::Loss => arm.figures.loss_ms,
            Function::Cpu => arm.figures.cpu_us,
            Function::Rtt => arm.rtt_ms,
            Function::Failed => arm.more.failed,
            Function::Requests => arm.more.requests,
            Function::SentTwice => arm.more.sent_twice,
            Function::ArrivedTwice => arm.more.arrived_twice,
            Function::RatioToTls => self.best_ratio(arms),
            Function::Saving => {
                let base = self.known.get(arms.get(1)?)?;
                Some(1.0 - arm.figures.median? / base.figures.median?)
            }
            Function::SavingLow => {
                let (against, low) = arm.low.as_ref()?;
                (arms.get(1)? == against).then_some(*low)
            }
        }
    }

    fn rtt_ms(&self) -> Option<f64> {
        self.rtt_ms
    }
}
