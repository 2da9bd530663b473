//! The measurements, and the figures computed from them. Pure.

use std::time::Duration;

use roundtrip_model::{Histogram, Summary};

use crate::account::Usage;
use crate::engine::SideReport;
use crate::plan::{Arm, ArmTransport, Pattern, PerfPlan, SideRole, Work};
use crate::ratio::{CostRatio, RatioInterval};
use crate::verdict::{Bottleneck, judge};

/// 1e9 bytes, as with link rates.
const GIGABYTE: f64 = 1e9;

#[derive(Debug)]
pub struct PerfOutcome {
    pub plan: PerfPlan,
    pub arms: Vec<PerfArmOutcome>,
    /// Whether the user stopped before everything was measured.
    pub interrupted: bool,
}

#[derive(Debug)]
pub struct PerfArmOutcome {
    pub arm: Arm,
    pub visits: Vec<Visit>,
    pub figures: PerfFigures,
}

/// One measurement, from both sides.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    pub server: SideReport,
    pub client: SideReport,
    /// The longest time without payload between the first and the last byte.
    pub pause: Duration,
}

/// The figures of an arm over all rounds; a single number is a median.
#[derive(Clone, Debug)]
pub struct PerfFigures {
    /// Throughput of payload in Gbit/s.
    pub gigabits: Option<Summary>,
    /// CPU time of either side, in [`PerfOutcome::unit`].
    pub sender: Option<Summary>,
    pub receiver: Option<Summary>,
    /// The sender's cost of TLS over TCP in the same run, divided by this arm's: the throughput
    /// that a sender's core would have, relative to TLS.
    pub ratio_to_tls: Option<f64>,
    /// The confidence interval of the ratio; `None` for the arm that the others are compared with.
    pub ratio_interval: Option<RatioInterval>,
    /// The ratio to TLS of the cost of both sides together.
    pub both_to_tls: Option<CostRatio>,
    pub requests_per_second: Option<Summary>,
    /// The latencies of the requests of all rounds.
    pub latencies: Histogram,
    /// The bottleneck that most rounds had.
    pub bottleneck: Bottleneck,
}

impl PerfOutcome {
    pub fn new(plan: PerfPlan, visits: Vec<Vec<Visit>>) -> Self {
        let arms = plan.arms.iter().cloned().zip(visits);
        let mut arms: Vec<PerfArmOutcome> = arms
            .map(|(arm, visits)| PerfArmOutcome {
                figures: PerfFigures::from_visits(&visits, &plan.work),
                arm,
                visits,
            })
            .collect();
        // The first TLS arm: an arm without knobs precedes its variants in the user's order.
        let tls_place = arms
            .iter()
            .position(|arm| arm.arm.transport == ArmTransport::Tls);
        let costs_of_tls = tls_place.and_then(|place| Some(arms.get(place)?.costs(&plan.work)));
        for (place, arm) in arms.iter_mut().enumerate() {
            let Some(tls_costs) = &costs_of_tls else {
                break;
            };
            let own = arm.costs(&plan.work);
            let compare = |tls: &[f64], own: &[f64]| {
                let found = CostRatio::new(tls, own)?;
                let interval = found.interval.filter(|_| tls_place != Some(place));
                Some(CostRatio { interval, ..found })
            };
            let of_sender = compare(&tls_costs.sender, &own.sender);
            arm.figures.ratio_to_tls = of_sender.map(|found| found.ratio);
            arm.figures.ratio_interval = of_sender.and_then(|found| found.interval);
            arm.figures.both_to_tls = compare(&tls_costs.both, &own.both);
        }
        Self {
            plan,
            arms,
            interrupted: false,
        }
    }

    /// The unit of CPU time: per gigabyte of payload, or per request if requests are the work.
    pub fn unit(&self) -> &'static str {
        unit(&self.plan.work)
    }
}

/// What each round of an arm cost, in the unit of the outcome.
struct RoundCosts {
    sender: Vec<f64>,
    both: Vec<f64>,
}

impl PerfArmOutcome {
    fn costs(&self, work: &Work) -> RoundCosts {
        let of = |figure: &dyn Fn(&Visit) -> Option<f64>| {
            self.visits
                .iter()
                .map(|visit| figure(visit).unwrap_or(f64::NAN))
                .collect()
        };
        let sender = |visit: &Visit| visit.cost(&visit.sender(work).usage, work);
        let receiver = |visit: &Visit| visit.cost(&visit.receiver(work).usage, work);
        RoundCosts {
            sender: of(&sender),
            both: of(&|visit| Some(sender(visit)? + receiver(visit)?)),
        }
    }

    /// The time of either side's core that was neither idle nor counted, in the unit of the
    /// outcome: the median of the rounds. The cost of the side lacks at most this much.
    pub(crate) fn uncounted(&self, work: &Work) -> [Option<f64>; 2] {
        let of = |usage: &dyn Fn(&Visit) -> Usage| {
            let of_visit = |visit: &Visit| {
                let thread = usage(visit).uncounted()?;
                visit.cost(
                    &Usage {
                        thread,
                        ..Usage::default()
                    },
                    work,
                )
            };
            let all: Vec<f64> = self.visits.iter().filter_map(of_visit).collect();
            Summary::from_samples(&all).map(|summary| summary.median)
        };
        [
            of(&|visit| visit.sender(work).usage),
            of(&|visit| visit.receiver(work).usage),
        ]
    }
}

impl Visit {
    pub fn sender(&self, work: &Work) -> &SideReport {
        match work.sender() {
            SideRole::Server => &self.server,
            SideRole::Client => &self.client,
        }
    }

    pub fn receiver(&self, work: &Work) -> &SideReport {
        match work.sender() {
            SideRole::Server => &self.client,
            SideRole::Client => &self.server,
        }
    }

    /// The payload that arrived, in both directions.
    pub fn payload(&self) -> u64 {
        self.server.received + self.client.received
    }

    /// The client's time: it begins and ends the work.
    pub fn wall(&self) -> Duration {
        self.client.usage.wall
    }

    pub fn requests(&self) -> u64 {
        self.client.latencies.total()
    }

    fn gigabits(&self) -> Option<f64> {
        per(self.payload() as f64 * 8.0 / GIGABYTE, self.wall())
    }

    fn requests_per_second(&self) -> Option<f64> {
        let requests = self.requests();
        per(requests as f64, self.wall()).filter(|_| requests > 0)
    }

    pub(crate) fn cost(&self, usage: &Usage, work: &Work) -> Option<f64> {
        match work.pattern {
            Pattern::Requests { .. } => {
                let requests = self.requests();
                (requests > 0).then(|| usage.cpu().as_secs_f64() * 1e6 / requests as f64)
            }
            _ => usage.per_gigabyte(self.payload()),
        }
    }
}

impl PerfFigures {
    fn from_visits(visits: &[Visit], work: &Work) -> Self {
        let over = |figure: &dyn Fn(&Visit) -> Option<f64>| {
            let all: Vec<f64> = visits.iter().filter_map(figure).collect();
            Summary::from_samples(&all)
        };
        let mut latencies = Histogram::default();
        for visit in visits {
            latencies.extend(&visit.client.latencies);
        }
        Self {
            gigabits: over(&Visit::gigabits),
            sender: over(&|visit| visit.cost(&visit.sender(work).usage, work)),
            receiver: over(&|visit| visit.cost(&visit.receiver(work).usage, work)),
            ratio_to_tls: None,
            ratio_interval: None,
            both_to_tls: None,
            requests_per_second: over(&Visit::requests_per_second),
            latencies,
            bottleneck: most_frequent(visits, work),
        }
    }
}

fn most_frequent(visits: &[Visit], work: &Work) -> Bottleneck {
    let all: Vec<Bottleneck> = visits
        .iter()
        .map(|visit| judge(visit.sender(work), visit.receiver(work)))
        .collect();
    let often = |one: &Bottleneck| all.iter().filter(|other| *other == one).count();
    // If there is a tie, the first wins, so that the result depends on the order of rounds and not
    // on chance.
    let most = all.iter().rev().max_by_key(|one| often(one));
    most.copied().unwrap_or(Bottleneck::Neither)
}

pub(crate) fn unit(work: &Work) -> &'static str {
    match work.pattern {
        Pattern::Requests { .. } => "µs/request",
        _ => "s/GB",
    }
}

fn per(amount: f64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| amount / time.as_secs_f64())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::{Amount, Pin, Terrain};

    pub(crate) fn plan(arms: &[&str]) -> PerfPlan {
        PerfPlan {
            arms: arms.iter().map(|arm| arm.parse().unwrap()).collect(),
            work: Work {
                pattern: Pattern::Down,
                streams: 1,
                connections: 1,
                amount: Amount::For(Duration::from_secs(1)),
            },
            rounds: 3,
            pin: Pin::default(),
            terrain: Terrain::default(),
        }
    }

    /// A transfer of a gigabyte in a second that cost the sender this many milliseconds.
    pub(crate) fn visit(sender: u64) -> Visit {
        let side = |sent, received, thread| SideReport {
            sent,
            received,
            usage: Usage {
                wall: Duration::from_secs(1),
                thread: Duration::from_millis(thread),
                ..Usage::default()
            },
            ..SideReport::default()
        };
        Visit {
            pause: Duration::ZERO,
            server: side(1_100_000_000, 0, sender),
            client: side(0, 1_000_000_000, 500),
        }
    }

    #[test]
    fn the_ratio_is_the_quotient_of_medians() {
        let visits = |costs: [u64; 3]| costs.map(visit).to_vec();
        let outcome = PerfOutcome::new(
            plan(&["tls", "quic"]),
            vec![visits([200, 900, 210]), visits([400, 420, 10])],
        );
        let [tls, quic] = &outcome.arms[..] else {
            panic!("two arms");
        };
        assert!((tls.figures.sender.unwrap().median - 0.21).abs() < 1e-9);
        assert!((tls.figures.ratio_to_tls.unwrap() - 1.0).abs() < 1e-9);
        assert!((quic.figures.ratio_to_tls.unwrap() - 0.21 / 0.4).abs() < 1e-9);
        // The pairs are 200/400, 900/420 and 210/10. TLS is not compared with itself.
        let interval = quic.figures.ratio_interval.unwrap();
        assert!((interval.low - 0.5).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - 21.0).abs() < 1e-9, "{interval:?}");
        assert_eq!(tls.figures.ratio_interval, None);
        // The receiver's half second is the same everywhere.
        let both = quic.figures.both_to_tls.unwrap();
        assert!((both.ratio - 0.71 / 0.9).abs() < 1e-9, "{both:?}");
        assert!((quic.figures.gigabits.unwrap().median - 8.0).abs() < 1e-9);
    }

    #[test]
    fn without_tls_there_is_no_ratio() {
        let outcome = PerfOutcome::new(plan(&["tcp"]), vec![vec![visit(200)]]);
        assert_eq!(outcome.arms[0].figures.ratio_to_tls, None);
    }

    #[test]
    fn requests_are_what_counts_where_they_are_the_work() {
        let mut plan = plan(&["tls"]);
        plan.work.pattern = Pattern::Requests {
            request: 1,
            response: 1,
        };
        let mut seen = visit(50);
        for _ in 0..1000 {
            seen.client.latencies.record(Duration::from_micros(30));
        }
        let outcome = PerfOutcome::new(plan, vec![vec![seen]]);
        let figures = &outcome.arms[0].figures;
        assert_eq!(outcome.unit(), "µs/request");
        assert!((figures.sender.unwrap().median - 50.0).abs() < 1e-9);
        assert!((figures.requests_per_second.unwrap().median - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn the_verdict_of_most_rounds_is_the_arms() {
        let visits = [990, 100, 990].map(visit);
        let work = plan(&["tls"]).work;
        assert_eq!(most_frequent(&visits, &work), Bottleneck::Sender);
        assert_eq!(most_frequent(&[], &work), Bottleneck::Neither);
    }
}
