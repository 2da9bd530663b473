//! Facts and findings of both sides: what only one has, and what differs.

use super::{Finding, Probe, Weight, median};

/// Values of one fact that are listed; it seldom has more than two.
const MOST_VALUES: usize = 4;

/// A fact that differs; each side with the values its runs had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactDiff {
    pub label: &'static str,
    pub weight: Weight,
    pub a: Option<String>,
    pub b: Option<String>,
}

/// What all runs of a side say, by fact, in the order of the facts.
pub(super) struct Values(Vec<(&'static str, Weight, Vec<String>)>);

impl Values {
    pub(super) fn of(probe: &Probe) -> Self {
        let mut all: Vec<(&'static str, Weight, Vec<String>)> = Vec::new();
        for fact in probe.runs.iter().flat_map(|run| &run.facts) {
            let place = all.iter().position(|(label, ..)| *label == fact.label);
            match place.and_then(|place| all.get_mut(place)) {
                Some((_, _, values)) => {
                    if values.len() <= MOST_VALUES && !values.contains(&fact.value) {
                        values.push(fact.value.clone());
                    }
                }
                None => all.push((fact.label, fact.weight, vec![fact.value.clone()])),
            }
        }
        for (_, _, values) in &mut all {
            values.sort_unstable();
        }
        Self(all)
    }

    fn get(&self, label: &str) -> Option<&[String]> {
        let found = self.0.iter().find(|(known, ..)| *known == label);
        found.map(|(_, _, values)| values.as_slice())
    }

    /// The value, where all runs that have it agree.
    pub(super) fn only(&self, label: &str) -> Option<&str> {
        match self.get(label) {
            Some([one]) => Some(one),
            _ => None,
        }
    }

    fn listed(&self, label: &str) -> Option<String> {
        let values = self.get(label)?;
        let more = if values.len() > MOST_VALUES {
            " or more"
        } else {
            ""
        };
        let shown: Vec<&str> = values
            .iter()
            .take(MOST_VALUES)
            .map(String::as_str)
            .collect();
        Some(format!("{}{more}", shown.join(" or ")))
    }
}

/// What differs, the telling facts first.
pub(super) fn facts(a: &Values, b: &Values) -> Vec<FactDiff> {
    let mut labels: Vec<(&'static str, Weight)> = Vec::new();
    for (label, weight, _) in a.0.iter().chain(&b.0) {
        if !labels.iter().any(|(known, _)| known == label) {
            labels.push((label, *weight));
        }
    }
    let differs = labels
        .into_iter()
        .filter(|(label, _)| a.get(label) != b.get(label));
    let mut facts: Vec<FactDiff> = differs
        .map(|(label, weight)| FactDiff {
            label,
            weight,
            a: a.listed(label),
            b: b.listed(label),
        })
        .collect();
    facts.sort_by_key(|fact| fact.weight);
    facts
}

/// A finding of either side or both: its price is the median over the runs that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingDiff {
    pub id: String,
    pub a: Option<Priced>,
    pub b: Option<Priced>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    pub ms: f64,
    pub round_trips: f64,
    /// Runs that have it.
    pub runs: usize,
    pub evidence: String,
    pub remedy: String,
}

impl FindingDiff {
    /// What it costs in B beyond A.
    pub fn ms(&self) -> f64 {
        let price = |side: &Option<Priced>| side.as_ref().map_or(0.0, |priced| priced.ms);
        price(&self.b) - price(&self.a)
    }
}

/// Those with the largest difference first.
pub(super) fn findings(a: &Probe, b: &Probe) -> Vec<FindingDiff> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in [a, b]
        .iter()
        .flat_map(|p| &p.runs)
        .flat_map(|r| &r.findings)
    {
        // The catalogue is shorter.
        if ids.len() < 256 && !ids.contains(&finding.id.as_str()) {
            ids.push(&finding.id);
        }
    }
    let both = ids.into_iter().map(|id| FindingDiff {
        id: id.to_owned(),
        a: priced(a, id),
        b: priced(b, id),
    });
    let mut findings: Vec<FindingDiff> = both.collect();
    findings.sort_by(|x, y| y.ms().abs().total_cmp(&x.ms().abs()));
    findings
}

fn priced(probe: &Probe, id: &str) -> Option<Priced> {
    let mine = |finding: &&Finding| finding.id == id;
    let found: Vec<&Finding> = probe
        .runs
        .iter()
        .filter_map(|run| run.findings.iter().find(mine))
        .collect();
    let first = found.first()?;
    Some(Priced {
        ms: median(found.iter().map(|f| f.ms)),
        round_trips: median(found.iter().map(|f| f.round_trips)),
        runs: found.len(),
        evidence: first.evidence.clone(),
        remedy: first.remedy.clone(),
    })
}
