//! Grants each millisecond once. Each part of each phase is an account that pays claims until it is
//! empty. One round trip of the whole exchange is never granted, because no remedy removes it.

use std::collections::HashMap;

use roundtrip_model::PhaseName;

use crate::{Case, Claim, Cost, WaitPart};

pub(crate) struct Ledger {
    accounts: HashMap<(PhaseName, WaitPart), f64>,
    trips: HashMap<PhaseName, u32>,
    /// The milliseconds that may still be claimed in total.
    ms_left: f64,
    trips_left: u32,
}

/// The part of a cost that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Granted {
    pub(crate) ms: f64,
    pub(crate) round_trips: u32,
}

impl Ledger {
    pub(crate) fn new(case: &Case<'_>) -> Self {
        let mut accounts = HashMap::new();
        let mut trips = HashMap::new();
        for phase in &case.phases {
            *trips.entry(phase.name).or_insert(0) += phase.round_trips;
            for part in WaitPart::ALL {
                *accounts.entry((phase.name, part)).or_insert(0.0) +=
                    part.of(&phase.waited).max(0.0);
            }
        }
        // An answer that only says "ask again" is a detour as a whole: the unavoidable round trip
        // belongs to the next exchange.
        let kept = u32::from(!case.is_detour());
        let all: u32 = trips.values().sum();
        Self {
            accounts,
            trips,
            ms_left: (case.total - f64::from(kept) * case.rtt.unwrap_or(0.0)).max(0.0),
            trips_left: all.saturating_sub(kept),
        }
    }

    /// The milliseconds that no cost has claimed.
    pub(crate) fn left(&self, phase: PhaseName, part: WaitPart) -> f64 {
        self.accounts.get(&(phase, part)).copied().unwrap_or(0.0)
    }

    pub(crate) fn trips_left(&self, phase: PhaseName) -> u32 {
        self.trips.get(&phase).copied().unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use roundtrip_model::{Event, Exchange, Moment};

    use super::*;

    /// A ledger with a lookup of 100 ms and 40 ms of client time, on a path of 30 ms.
    fn ledger() -> Ledger {
        let mut exchange = Exchange {
            rtt: Some(Duration::from_millis(30)),
            ..Exchange::default()
        };
        for (at, event) in [
            (40.0, Event::LookupStarted),
            (140.0, Event::LookupFinished),
            (140.0, Event::Finished),
        ] {
            exchange.timeline.push(Moment::from_millis(at), event);
        }
        Ledger::new(&Case::new(&exchange))
    }

    fn granted(ledger: &mut Ledger, phase: PhaseName, part: WaitPart, ms: i32) -> i32 {
        let cost = Cost::new("").waited(phase, part, ms.into());
        ledger.grant(&cost).ms.round() as i32
    }

    #[test]
    fn an_account_pays_until_it_is_empty_and_only_for_its_own() {
        let mut ledger = ledger();
        let mut lookup = |ms| granted(&mut ledger, PhaseName::Name, WaitPart::Resolver, ms);
        assert_eq!([lookup(60), lookup(60), lookup(60)], [60, 40, 0]);
        let absent = granted(&mut ledger, PhaseName::Tls, WaitPart::Network, 5);
        let negative = granted(&mut ledger, PhaseName::Setup, WaitPart::Client, -5);
        assert_eq!((absent, negative), (0, 0));
    }

    #[test]
    fn one_round_trip_of_the_whole_is_never_granted() {
        let mut ledger = ledger();
        let lookup = granted(&mut ledger, PhaseName::Name, WaitPart::Resolver, 100);
        let client = granted(&mut ledger, PhaseName::Setup, WaitPart::Client, 40);
        assert_eq!((lookup, client), (100, 10));
    }
}
