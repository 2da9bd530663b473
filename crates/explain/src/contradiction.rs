//! The last pass: a cause that accuses the server is withdrawn if other facts of the same exchange
//! contradict it.

use roundtrip_model::{Event, PhaseName};

use crate::case::ms;
use crate::{Case, Cause, Claim, Cost, WaitPart};

/// The share of a claim in which the client itself did not run.
const ABSENT: f64 = 0.5;

/// It claims what others would blame on the server, and says that the path did it.
const ACQUITS: &str = "path-varies";

/// Why the facts contradict what a cause claims of the server.
pub(crate) fn contradiction(case: &Case<'_>, of: &Cause, cost: &Cost) -> Option<String> {
    let claims = || cost.claims.iter().filter(|claim| claim.ms > 0.0);
    if of.id == ACQUITS || claims().any(|claim| claim.part != WaitPart::Server) {
        return None;
    }
    // One that stands is enough.
    let whys: Option<Vec<String>> = claims()
        .map(|claim| within_spread(case, claim).or_else(|| client_absent(case, claim)))
        .collect();
    whys?.pop()
}

fn within_spread(case: &Case<'_>, claim: &Claim) -> Option<String> {
    let tolerance = case.tolerance();
    (claim.ms < tolerance).then(|| {
        format!(
            "{:.1} ms lie within {tolerance:.1} ms, by which round trips of this path may differ",
            claim.ms
        )
    })
}

/// Over TCP, the kernel says when the bytes arrived, whether the client ran or not.
fn client_absent(case: &Case<'_>, claim: &Claim) -> Option<String> {
    case.exchange.quic.as_ref()?;
    let absent = absent(case, claim.phase);
    (absent >= ABSENT * claim.ms).then(|| {
        format!(
            "the client itself did not run for {absent:.1} ms of this {}",
            claim.phase.title()
        )
    })
}

/// In milliseconds.
fn absent(case: &Case<'_>, name: PhaseName) -> f64 {
    let mut absent = 0.0;
    for phase in case.named(name) {
        for (at, event) in case.exchange.timeline.iter() {
            if let Event::Starved { took, .. } = event
                && *at > phase.start
                && *at <= phase.end
            {
                absent += ms((*took).min(at.since(phase.start)));
            }
        }
    }
    absent
}
