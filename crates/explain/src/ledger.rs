//! Who gets which millisecond. Each part of each phase is an account that claims are paid from, until it is empty; one
//! round trip of the whole is nobody's, because no remedy removes it.

use std::collections::HashMap;

use roundtrip_model::PhaseName;

use crate::{Case, Claim, Cost, Part};

const PARTS: [Part; 5] = [
    Part::Network,
    Part::Server,
    Part::Client,
    Part::Resolver,
    Part::Loss,
];

pub(crate) struct Ledger {
    accounts: HashMap<(PhaseName, Part), f64>,
    trips: HashMap<PhaseName, u32>,
    /// What may be claimed in all.
    ms_left: f64,
    trips_left: u32,
}

/// What a cost came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Granted {
    pub(crate) ms: f64,
    pub(crate) round_trips: u32,
}

impl Ledger {
    pub(crate) fn of(case: &Case<'_>) -> Self {
        let mut accounts = HashMap::new();
        let mut trips = HashMap::new();
        for phase in &case.phases {
            *trips.entry(phase.name).or_insert(0) += phase.round_trips;
            for part in PARTS {
                *accounts.entry((phase.name, part)).or_insert(0.0) +=
                    part.of(&phase.waited).max(0.0);
            }
        }
        // An answer that only says «ask again» is a detour as a whole: the round trip that must be is the next one's.
        let kept = u32::from(!case.is_too_early());
        let all: u32 = trips.values().sum();
        Self {
            accounts,
            trips,
            ms_left: (case.total - f64::from(kept) * case.rtt.unwrap_or(0.0)).max(0.0),
            trips_left: all.saturating_sub(kept),
        }
    }

    /// Pays a cost as far as its accounts allow.
    pub(crate) fn grant(&mut self, cost: &Cost) -> Granted {
        let mut granted = Granted::default();
        for claim in &cost.claims {
            let paid = self.pay(*claim);
            granted.ms += paid.ms;
            granted.round_trips += paid.round_trips;
        }
        granted
    }

    fn pay(&mut self, claim: Claim) -> Granted {
        let (mut wanted, mut round_trips) = (claim.ms.max(0.0), 0);
        if claim.round_trips > 0 {
            let left = self.trips.entry(claim.phase).or_insert(0);
            round_trips = claim.round_trips.min(*left).min(self.trips_left);
            *left -= round_trips;
            self.trips_left -= round_trips;
            wanted *= f64::from(round_trips) / f64::from(claim.round_trips);
        }
        let account = self
            .accounts
            .entry((claim.phase, claim.part))
            .or_insert(0.0);
        let ms = wanted.min(*account).min(self.ms_left);
        *account -= ms;
        self.ms_left -= ms;
        Granted { ms, round_trips }
    }
}
