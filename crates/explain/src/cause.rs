//! The entries of the catalogue, and how they state a cost. The ledger decides whether a cost is
//! granted.

use roundtrip_model::{PhaseName, Waited};

use crate::Case;

/// Causes that belong together: one file, one heading.
#[derive(Debug)]
pub struct CauseFamily {
    pub title: &'static str,
    pub causes: &'static [Cause],
}

/// A cause of a slow exchange.
#[derive(Debug)]
pub struct Cause {
    /// Kebab-case and stable: programs identify a cause by it.
    pub id: &'static str,
    /// What happened, in one line.
    pub name: &'static str,
    /// How it shows in an exchange: the signature in words.
    pub shows: &'static str,
    /// Returns the evidence and the cost if the exchange proves the cause.
    pub signature: fn(&Case<'_>) -> Option<Cost>,
    /// What it usually costs; a finding says what it cost.
    pub cost: &'static str,
    /// What removes it, in one sentence.
    pub remedy: &'static str,
    /// The settings that remove it.
    pub settings: &'static [RemedySetting],
    /// RFC or manual page.
    pub source: &'static str,
}

/// A setting of one piece of software that removes a cause.
#[derive(Debug)]
pub struct RemedySetting {
    pub of: &'static str,
    pub is: &'static str,
}

impl RemedySetting {
    pub(crate) const fn new(of: &'static str, is: &'static str) -> Self {
        Self { of, is }
    }
}

impl Cause {
    /// The remedy and its settings, as one text.
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

/// What a phase waited for; the fields of [`Waited`] as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitPart {
    Network,
    Server,
    Client,
    Resolver,
    Loss,
}

impl WaitPart {
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

/// A share of the time that one phase waited for something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    pub phase: PhaseName,
    pub part: WaitPart,
    pub ms: f64,
    /// The number of round trips in these milliseconds; they are granted together.
    pub round_trips: u32,
}

/// What a cause claims to have cost, and the evidence.
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

    /// Adds time that is not a whole number of round trips.
    #[must_use]
    pub(crate) fn waited(self, phase: PhaseName, part: WaitPart, ms: f64) -> Self {
        self.claim(Claim {
            phase,
            part,
            ms,
            round_trips: 0,
        })
    }

    /// Adds all that these phases waited for.
    #[must_use]
    pub(crate) fn phases(self, case: &Case<'_>, names: &[PhaseName], parts: &[WaitPart]) -> Self {
        let phases = case.phases.iter().filter(|p| names.contains(&p.name));
        phases.fold(self, |cost, phase| {
            parts.iter().fold(cost, |cost, part| {
                let network = *part == WaitPart::Network;
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
