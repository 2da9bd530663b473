//! The requests of a series together: their waits, their path, and how often each cause was found.

use roundtrip_model::{Finding, Summary, Waited};

use crate::numbers::{self, ms};
use crate::party;
use crate::run::Run;
use crate::unexplained;

/// The smallest number of runs for which "in one" or "in all" says more than a single request.
const MIN_RUNS: usize = 3;
/// The cause for which a single exchange cannot show whether the server or the path is responsible.
const NOBODY_KNOWN: &str = "late-answer";
/// The largest number of notes that are shown. The JSON report has all of them.
const MAX_NOTES: usize = 8;

/// The runs of a series that succeeded, in numbers.
pub(crate) struct Series<'a> {
    /// The median for each party; these need not add up to the median of the totals.
    pub(crate) waited: Waited,
    /// Milliseconds.
    pub(crate) rtt: Option<Summary>,
    /// The causes over all runs, the most costly first.
    pub(crate) causes: Vec<SeriesCause<'a>>,
    pub(crate) unexplained: Option<Rest>,
    /// Each note, with the number of runs that have it.
    notes: Vec<(&'a str, usize)>,
    of: usize,
}

/// A cause that was found in some runs or in all.
pub(crate) struct SeriesCause<'a> {
    /// The finding from the run with the median cost.
    pub(crate) finding: &'a Finding,
    /// The number of runs that have the cause, and of all runs.
    pub(crate) runs: usize,
    pub(crate) of: usize,
    /// The cause's cost in the runs that have it.
    pub(crate) ms: Summary,
    /// The median, rounded.
    pub(crate) round_trips: u32,
    /// Whether only the first run has the cause.
    is_first_only: bool,
}

/// Time that was reported as unexplained.
pub(crate) struct Rest {
    pub(crate) runs: usize,
    pub(crate) ms: Summary,
    /// Where the largest part of the unexplained time is.
    at: Option<String>,
}

impl<'a> Series<'a> {
    pub(crate) fn new(all: &[Run<'a>]) -> Self {
        let good: Vec<(usize, Run<'a>)> = all
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, r)| r.ok())
            .collect();
        let waits: Vec<Waited> = good.iter().map(|(_, r)| r.waited()).collect();
        let rtts: Vec<f64> = good.iter().filter_map(|(_, r)| rtt(r)).collect();
        let rest: Vec<f64> = good.iter().filter_map(|(_, r)| unexplained_ms(r)).collect();
        Self {
            waited: party::median(&waits),
            rtt: Summary::from_samples(&rtts),
            causes: causes(&good),
            unexplained: Summary::from_samples(&rest).map(|ms| Rest {
                runs: ms.n,
                ms,
                at: unexplained::most(good.iter().flat_map(|(_, r)| r.hops)),
            }),
            notes: notes(&good),
            of: good.len(),
        }
    }

    /// `12.0 ms in 5 of 10`, the median.
    pub(crate) fn unexplained_told(&self) -> Option<String> {
        let rest = self.unexplained.as_ref()?;
        let median = ms(rest.ms.median);
        let at = rest.at.as_ref();
        let at = at.map_or(String::new(), |at| format!(", most of it {at}"));
        Some(format!(
            "{median} ms (median) in {} of {}{at}",
            rest.runs, self.of
        ))
    }

    /// `fast open was asked for, but … (9 of 10)`.
    pub(crate) fn notes_told(&self) -> impl Iterator<Item = String> {
        let told = |(note, runs): &(&str, usize)| format!("{note} ({runs} of {})", self.of);
        self.notes.iter().map(told)
    }

    /// `round trip 20.1 ms (median), 19.9 to 22.4`.
    pub(crate) fn path_told(&self) -> Option<String> {
        let rtt = self.rtt.as_ref()?;
        Some(format!(
            "round trip {} ms (median), {} to {}",
            ms(rtt.median),
            ms(rtt.min),
            ms(rtt.max)
        ))
    }
}

impl SeriesCause<'_> {
    /// `in 1 of 10: a loss or a coincidence`.
    pub(crate) fn how_often(&self) -> String {
        let count = format!("in {} of {}", self.runs, self.of);
        let is_each_time = self.runs == self.of && self.runs >= MIN_RUNS;
        if is_each_time && self.finding.id == NOBODY_KNOWN {
            return format!("{count}: not a loss");
        }
        match self.runs {
            1 if self.is_first_only && self.of > 1 => format!("{count}, the first"),
            1 if self.of >= MIN_RUNS => format!("{count}: a loss or a coincidence"),
            _ if is_each_time => format!("{count}: not a coincidence"),
            _ => count,
        }
    }

    /// `30.1 ms, 1 round trip`: the median.
    pub(crate) fn cost(&self) -> String {
        let trips = match self.round_trips {
            0 => String::new(),
            n => format!(", {}", numbers::trips(n)),
        };
        format!("{} ms{trips}", ms(self.ms.median))
    }
}

fn rtt(run: &Run) -> Option<f64> {
    Some(run.last()?.rtt?.as_secs_f64() * 1e3)
}

fn notes<'a>(good: &[(usize, Run<'a>)]) -> Vec<(&'a str, usize)> {
    let mut notes: Vec<(&str, usize)> = Vec::new();
    for note in good
        .iter()
        .flat_map(|(_, run)| run.hops)
        .flat_map(|e| &e.notes)
    {
        if let Some((_, runs)) = notes.iter_mut().find(|(known, _)| *known == note.as_str()) {
            *runs += 1;
        } else if notes.len() < MAX_NOTES {
            notes.push((note, 1));
        }
    }
    notes
}

/// The unexplained time of all hops together, if any hop has some.
fn unexplained_ms(run: &Run) -> Option<f64> {
    run.hops
        .iter()
        .filter_map(roundtrip_model::Exchange::unexplained_worth_reporting)
        .reduce(|a, b| a + b)
}

/// The cost of one cause in one run; a run of several hops can have it several times.
struct Paid<'a> {
    place: usize,
    ms: f64,
    round_trips: u32,
    finding: &'a Finding,
}

fn causes<'a>(good: &[(usize, Run<'a>)]) -> Vec<SeriesCause<'a>> {
    let mut by_id: Vec<(&str, Vec<Paid<'a>>)> = Vec::new();
    for (place, run) in good {
        for finding in run.hops.iter().flat_map(|hop| &hop.findings) {
            let index = match by_id.iter().position(|(id, _)| *id == finding.id) {
                Some(index) => index,
                None => {
                    by_id.push((finding.id, Vec::new()));
                    by_id.len() - 1
                }
            };
            let Some((_, paid)) = by_id.get_mut(index) else {
                continue;
            };
            match paid.last_mut().filter(|p| p.place == *place) {
                Some(same) => {
                    same.ms += finding.ms;
                    same.round_trips += finding.round_trips;
                }
                None => paid.push(Paid {
                    place: *place,
                    ms: finding.ms,
                    round_trips: finding.round_trips,
                    finding,
                }),
            }
        }
    }
    let of = good.len();
    let mut causes: Vec<SeriesCause> = by_id
        .into_iter()
        .filter_map(|(_, paid)| cause(paid, of))
        .collect();
    let weight = |c: &SeriesCause| c.ms.mean * c.runs as f64;
    causes.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    causes
}

fn cause(mut paid: Vec<Paid<'_>>, of: usize) -> Option<SeriesCause<'_>> {
    let costs: Vec<f64> = paid.iter().map(|p| p.ms).collect();
    let trips: Vec<f64> = paid.iter().map(|p| f64::from(p.round_trips)).collect();
    paid.sort_by(|a, b| a.ms.total_cmp(&b.ms));
    Some(SeriesCause {
        finding: paid.get(paid.len() / 2)?.finding,
        runs: paid.len(),
        of,
        ms: Summary::from_samples(&costs)?,
        round_trips: Summary::from_samples(&trips)?.median.round() as u32,
        is_first_only: paid.len() == 1 && paid.first()?.place == 0,
    })
}

#[cfg(test)]
mod tests {
    use roundtrip_model::Exchange;

    use super::*;

    fn exchange(run: u32, findings: &[(&'static str, f64)]) -> Exchange {
        let found = |(id, ms): &(&'static str, f64)| Finding {
            id,
            ms: *ms,
            round_trips: 1,
            evidence: format!("{id} {ms}"),
            remedy: String::new(),
            settings: Vec::new(),
        };
        Exchange {
            run,
            findings: findings.iter().map(found).collect(),
            ..Exchange::default()
        }
    }

    fn told(exchanges: &[Exchange]) -> Vec<String> {
        let runs: Vec<Run> = crate::runs(exchanges).collect();
        let series = Series::new(&runs);
        let told = |c: &SeriesCause| format!("{} {}, {}", c.finding.id, c.how_often(), c.cost());
        series.causes.iter().map(told).collect()
    }

    #[test]
    fn causes_in_one_run_and_in_all_are_distinguished() {
        let mut series: Vec<Exchange> = (0..10)
            .map(|n| exchange(n, &[("thinks", 30.0 + f64::from(n))]))
            .collect();
        series[6]
            .findings
            .extend(exchange(6, &[("lost", 200.0)]).findings);
        series[0]
            .findings
            .extend(exchange(0, &[("cold", 80.0)]).findings);
        for e in series.iter_mut().take(6).skip(2) {
            e.findings.extend(exchange(0, &[("some", 5.0)]).findings);
        }
        assert_eq!(
            told(&series),
            [
                "thinks in 10 of 10: not a coincidence, 34.5 ms, 1 round trip",
                "lost in 1 of 10: a loss or a coincidence, 200.0 ms, 1 round trip",
                "cold in 1 of 10, the first, 80.0 ms, 1 round trip",
                "some in 4 of 10, 5.00 ms, 1 round trip",
            ]
        );
    }

    #[test]
    fn a_series_shows_whether_a_late_answer_is_a_loss() {
        let late = |n: u32| exchange(n, &[(NOBODY_KNOWN, 300.0)]);
        let each_time: Vec<Exchange> = (0..3).map(late).collect();
        let server = "late-answer in 3 of 3: not a loss, 300.0 ms, 1 round trip";
        assert_eq!(told(&each_time), [server]);
        let once = [exchange(0, &[]), late(1), exchange(2, &[])];
        let loss = "late-answer in 1 of 3: a loss or a coincidence, 300.0 ms, 1 round trip";
        assert_eq!(told(&once), [loss]);
    }

    #[test]
    fn a_cause_in_two_hops_counts_once_per_run() {
        let mut first = exchange(0, &[("thinks", 10.0)]);
        let mut second = exchange(0, &[("thinks", 20.0)]);
        (first.hop, second.hop) = (0, 1);
        assert_eq!(
            told(&[first, second]),
            ["thinks in 1 of 1, 30.0 ms, 2 round trips"]
        );
    }
}
