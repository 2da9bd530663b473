//! Facts and findings that only one side has, or that differ.

use super::{Probe, ReportedFinding, Weight, median, words};

/// How many values of one fact are listed; it seldom has more than two.
const MAX_VALUES: usize = 4;

/// The facts that show that a side has a layer, if the other side does not have it.
const PRESENCE: [&str; 8] = [
    "TLS version",
    "ALPN",
    "peer",
    "QUIC peer",
    "certificate",
    "certificates compressed",
    "name server",
    "proxy status",
];

/// A fact that differs, with the values of each side's runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactDiff {
    pub label: &'static str,
    pub weight: Weight,
    pub a: Option<String>,
    pub b: Option<String>,
}

/// The values in all runs of a side, for each fact, in the order of the facts.
pub(super) struct Values(Vec<(&'static str, Weight, Vec<String>)>);

impl Values {
    pub(super) fn from_probe(probe: &Probe) -> Self {
        let mut all: Vec<(&'static str, Weight, Vec<String>)> = Vec::new();
        for fact in probe.runs.iter().flat_map(|run| &run.facts) {
            let place = all.iter().position(|(label, ..)| *label == fact.label);
            match place.and_then(|place| all.get_mut(place)) {
                Some((_, _, values)) => {
                    if values.len() <= MAX_VALUES && !values.contains(&fact.value) {
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

    /// The value, if all runs that have it agree.
    pub(super) fn only(&self, label: &str) -> Option<&str> {
        match self.get(label) {
            Some([one]) => Some(one),
            _ => None,
        }
    }

    fn listed(&self, label: &str) -> Option<String> {
        let values = self.get(label)?;
        let more = if values.len() > MAX_VALUES {
            " or more"
        } else {
            ""
        };
        let shown: Vec<&str> = values.iter().take(MAX_VALUES).map(String::as_str).collect();
        Some(format!("{}{more}", shown.join(" or ")))
    }
}

/// What differs; facts that can affect the time come first.
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
        .map(|(label, weight)| {
            let (a, b) = (a.listed(label), b.listed(label));
            let one_sided = a.is_none() || b.is_none();
            let weight = if one_sided && !PRESENCE.contains(&label) {
                Weight::Fine
            } else {
                weight
            };
            FactDiff {
                label,
                weight,
                a,
                b,
            }
        })
        .collect();
    facts.sort_by_key(|fact| fact.weight);
    facts
}

/// A finding of either side or both.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingDiff {
    pub id: String,
    pub a: Option<Priced>,
    pub b: Option<Priced>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    /// The median over all runs: zero if fewer than half of them have it.
    pub typical_ms: f64,
    /// The medians over the runs that have the finding.
    pub ms: f64,
    pub round_trips: f64,
    /// The number of runs that have the finding, and of all runs.
    pub runs: (usize, usize),
    pub evidence: String,
    pub remedy: String,
}

impl FindingDiff {
    /// How much more the finding typically costs B than A.
    pub fn ms(&self) -> f64 {
        let price = |side: &Option<Priced>| side.as_ref().map_or(0.0, |priced| priced.typical_ms);
        price(&self.b) - price(&self.a)
    }

    /// Whether the finding represents round trips that only one side pays.
    pub(super) fn changes_trips(&self) -> bool {
        let trips = |side: &Option<Priced>| side.as_ref().map_or(0.0, |priced| priced.round_trips);
        !words::same(trips(&self.a), trips(&self.b))
    }
}

/// The findings, those with the largest difference first.
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
    let mine = |finding: &&ReportedFinding| finding.id == id;
    let found: Vec<&ReportedFinding> = probe
        .runs
        .iter()
        .filter_map(|run| run.findings.iter().find(mine))
        .collect();
    let first = found.first()?;
    let missing = probe.runs.len() - found.len();
    let costs = found.iter().map(|f| f.ms);
    Some(Priced {
        typical_ms: median(costs.chain(std::iter::repeat_n(0.0, missing))),
        ms: median(found.iter().map(|f| f.ms)),
        round_trips: median(found.iter().map(|f| f.round_trips)),
        runs: (found.len(), probe.runs.len()),
        evidence: first.evidence.clone(),
        remedy: first.remedy.clone(),
    })
}
