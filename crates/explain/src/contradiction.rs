//! The last pass: a cause that blames the server is withdrawn if other facts of the same exchange
//! contradict it.

use roundtrip_model::{Event, PhaseName};

use crate::case::ms;
use crate::{Case, Cause, Claim, Cost, WaitPart};

/// A claim is contradicted if the client itself did not run for this share of it.
const ABSENT: f64 = 0.5;

/// Causes whose evidence is an answer that came later than an acknowledgement.
const OF_LATENESS: [&str; 2] = ["server-think-time", "slow-tls-server"];

/// The cause that attributes to the path time that other causes would attribute to the server.
const ACQUITS: &str = "path-varies";

/// The reason why the facts contradict a cause that blames the server.
pub(crate) fn contradiction(case: &Case<'_>, of: &Cause, cost: &Cost) -> Option<String> {
    let claims = || cost.claims.iter().filter(|claim| claim.ms > 0.0);
    if of.id == ACQUITS || claims().any(|claim| claim.part != WaitPart::Server) {
        return None;
    }
    // One valid reason is enough.
    let whys: Option<Vec<String>> = claims()
        .map(|claim| within_spread(case, of, claim).or_else(|| client_absent(case, claim)))
        .collect();
    whys?.pop()
}

fn within_spread(case: &Case<'_>, of: &Cause, claim: &Claim) -> Option<String> {
    let samples = case.spread.samples().len();
    // A time that the server itself reports is not chance.
    let by_lateness = OF_LATENESS.contains(&of.id) && case.reported() < 0.5 * claim.ms;
    let most = if by_lateness && samples > 0 {
        case.spread.most().max(case.tolerance())
    } else {
        case.tolerance()
    };
    (claim.ms < most).then(|| {
        format!(
            "{:.1} ms lie within {most:.1} ms, by which round trips of this path may differ according to its samples ({samples})",
            claim.ms
        )
    })
}

/// Over TCP, the kernel records when the bytes arrived, whether the client ran or not.
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

/// How long the client did not run in a phase, in milliseconds.
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
