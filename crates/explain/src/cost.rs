//! How a cause states its cost: as claims on the waits of the phases. The ledger decides whether a
//! claim is granted.

use roundtrip_model::{PhaseName, Waited};

/// The party that a phase waited for; the fields of [`Waited`] as a value.
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

/// The cost that a cause claims, and the evidence.
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

    #[must_use]
    pub(crate) fn claim(mut self, claim: Claim) -> Self {
        self.claims.push(claim);
        self
    }
}
