//! The last pass: a cause that blames the server is withdrawn if other facts of the same exchange
//! contradict it.

use crate::{Case, Cause, Claim, Cost, WaitPart};

/// Causes whose evidence is an answer that arrived later than an acknowledgement.
const OF_LATENESS: [&str; 3] = ["server-think-time", "cache-miss", "slow-tls-server"];

/// Causes that also claim round trips of the network, which stay if the rest is contradicted.
const OF_TWO_PARTS: [&str; 1] = ["proxy-connect"];

/// The cause that attributes to the path time that other causes would attribute to the server.
const ACQUITS: &str = "path-varies";

/// Checks whether the facts contradict a cause that blames the server. Returns the reason if no
/// other part of the cost remains.
pub(crate) fn contradiction(case: &Case<'_>, of: &Cause, cost: &mut Cost) -> Option<String> {
    if of.id == ACQUITS {
        return None;
    }
    let claims = |of_server: bool| {
        let claims = cost.claims.iter().filter(|claim| claim.ms > 0.0);
        claims.filter(move |claim| (claim.part == WaitPart::Server) == of_server)
    };
    let alone = claims(false).next().is_none();
    if !alone && !OF_TWO_PARTS.contains(&of.id) {
        return None;
    }
    // Each claim needs a reason.
    let whys: Option<Vec<String>> = claims(true)
        .map(|claim| within_spread(case, of, claim))
        .collect();
    let why = whys?.pop()?;
    cost.claims.retain(|claim| claim.part != WaitPart::Server);
    alone.then_some(why)
}

fn within_spread(case: &Case<'_>, of: &Cause, claim: &Claim) -> Option<String> {
    // What left late was not delayed on the way.
    if case.is_between_departures(claim.phase, claim.ms) {
        return None;
    }
    let samples = case.spread.samples().len();
    // A time that the server itself reports is not chance.
    let by_lateness = OF_LATENESS.contains(&of.id)
        && case
            .exchange
            .reported()
            .is_none_or(|said| said < 0.5 * claim.ms);
    let most = if by_lateness && samples > 0 {
        case.spread.most().max(case.tolerance())
    } else {
        case.tolerance()
    };
    (claim.ms < most).then(|| {
        format!(
            "{:.1} ms is within the {most:.1} ms by which round trips of this path differ ({samples} samples)",
            claim.ms
        )
    })
}
