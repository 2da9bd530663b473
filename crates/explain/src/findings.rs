//! The judgement: every cause is heard, what the ledger grants is weighed, and what weighs enough is a finding.

use roundtrip_model::{Exchange, Finding};

use crate::ledger::{Granted, Ledger};
use crate::{Case, causes};

/// What is less in milliseconds, or less of the whole, explains nothing, unless it is a whole round trip.
const LEAST_MS: f64 = 1.0;
const LEAST_SHARE: f64 = 0.02;

/// The causes that an exchange proves, the dearest first. No millisecond is claimed twice.
pub fn findings(exchange: &Exchange) -> Vec<Finding> {
    let case = Case::of(exchange);
    let mut ledger = Ledger::of(&case);
    let mut found: Vec<Finding> = causes::all()
        .filter_map(|cause| {
            let cost = (cause.signature)(&case)?;
            let granted = ledger.grant(&cost);
            weighs(&case, granted).then(|| Finding {
                id: cause.id,
                ms: granted.ms,
                round_trips: granted.round_trips,
                evidence: cost.evidence,
                remedy: cause.advice(),
            })
        })
        .collect();
    found.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    found
}

fn weighs(case: &Case<'_>, granted: Granted) -> bool {
    // Half a round trip is what tells an answer from a coincidence in the phases, too.
    let whole_trips = case.is_telling()
        && granted.round_trips > 0
        && case
            .rtt
            .is_some_and(|r| granted.ms >= 0.5 * r * f64::from(granted.round_trips));
    whole_trips || (granted.ms >= LEAST_MS && granted.ms >= LEAST_SHARE * case.total)
}
