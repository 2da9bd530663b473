//! What an entry of the catalogue consists of, and how it states a cost. Whether a cost is granted is the ledger's.

use roundtrip_model::{PhaseName, Waited};

use crate::Case;

/// Causes that belong together: one file, one heading.
#[derive(Debug)]
pub struct Family {
    pub title: &'static str,
    pub causes: &'static [Cause],
}

/// One cause of a slow exchange.
#[derive(Debug)]
pub struct Cause {
    /// Kebab-case and stable: programs know a cause by it.
    pub id: &'static str,
    /// What happened, in one line.
    pub name: &'static str,
    /// How it shows in an exchange: the signature in words.
    pub shows: &'static str,
    /// The evidence and the price, where the exchange proves the cause.
    pub signature: fn(&Case<'_>) -> Option<Cost>,
    /// What it costs as a rule; a finding says what it cost.
    pub cost: &'static str,
    /// What removes it, in a sentence.
    pub remedy: &'static str,
    /// Where to turn the knob.
    pub settings: &'static [Setting],
    /// RFC or manual page.
    pub source: &'static str,
}

/// A setting of one piece of software that removes a cause.
#[derive(Debug)]
pub struct Setting {
    pub of: &'static str,
    pub is: &'static str,
}

impl Setting {
    pub(crate) const fn new(of: &'static str, is: &'static str) -> Self {
        Self { of, is }
    }
}

impl Cause {
    /// The remedy with its settings, as one text.
    pub fn advice(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|s| format!("{}: {}", s.of, s.is.trim_end_matches(';')))
            .collect();
        if settings.is_empty() {
            self.remedy.to_owned()
        } else {
            format!("{} ({})", self.remedy, settings.join("; "))
        }
    }
}

/// For whom a phase waited; the fields of [`Waited`] as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    Network,
    Server,
    Client,
    Resolver,
    Loss,
}

impl Part {
    pub(crate) const ALL: [Self; 5] = [
        Self::Network,
        Self::Server,
        Self::Client,
        Self::Resolver,
        Self::Loss,
    ];

    pub(crate) fn of(self, waited: &Waited) -> f64 {
        match self {
            Self::Network => waited.network,
            Self::Server => waited.server,
            Self::Client => waited.client,
            Self::Resolver => waited.resolver,
            Self::Loss => waited.loss,
        }
    }
}

/// A share of what one phase waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    pub phase: PhaseName,
    pub part: Part,
    pub ms: f64,
    /// How many round trips these milliseconds are; they are granted together.
    pub round_trips: u32,
}

/// What a cause says it cost, and how that shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cost {
    pub claims: Vec<Claim>,
    pub evidence: String,
}

impl Cost {
    pub(crate) fn new(evidence: impl Into<String>) -> Self {
        Self {
            claims: Vec::new(),
            evidence: evidence.into(),
        }
    }

    /// Time that is no whole number of round trips.
    #[must_use]
    pub(crate) fn waited(self, phase: PhaseName, part: Part, ms: f64) -> Self {
        self.claim(Claim {
            phase,
            part,
            ms,
            round_trips: 0,
        })
    }

    /// All that these phases waited for.
    #[must_use]
    pub(crate) fn phases(self, case: &Case<'_>, names: &[PhaseName], parts: &[Part]) -> Self {
        let phases = case.phases.iter().filter(|p| names.contains(&p.name));
        phases.fold(self, |cost, phase| {
            parts.iter().fold(cost, |cost, part| {
                let network = *part == Part::Network;
                cost.claim(Claim {
                    phase: phase.name,
                    part: *part,
                    ms: part.of(&phase.waited),
                    round_trips: if network { phase.round_trips } else { 0 },
                })
            })
        })
    }

    #[must_use]
    pub(crate) fn claim(mut self, claim: Claim) -> Self {
        self.claims.push(claim);
        self
    }
}
