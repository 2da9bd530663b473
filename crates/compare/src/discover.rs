//! Finds out what the server supports by making one request for each sensible way; each request is
//! counted.

use std::time::Duration;

use roundtrip_model::{Exchange, Memory, Strategy};
use roundtrip_probe::ConnectionUse;

use crate::budget::RequestBudget;
use crate::candidates;
use crate::config::CompareConfig;
use crate::error::CompareError;
use crate::sample::{Taken, ours, take};
use crate::verdict::{self, Support};
use crate::way::{Remedy, Way};

/// The number of exchanges of the baseline whose medians the arithmetic uses for everything but the
/// round trips.
const REHEARSALS: usize = 5;
/// How long to wait on a path that drops a handshake silently; four round trips if these are
/// longer.
const TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) struct Discovery {
    pub(crate) baseline: Way,
    /// The first answer.
    pub(crate) first: Exchange,
    /// Exchanges of the baseline after the first one, before the measurement.
    pub(crate) rehearsals: Vec<Exchange>,
    pub(crate) ways: Vec<(Way, Support)>,
}

/// Makes the first request, as an ordinary client of today would. Its answer decides what the
/// baseline is, so nothing can be discovered without it.
pub(crate) async fn first(
    config: &CompareConfig,
    budget: &mut RequestBudget,
) -> Result<(Way, Exchange), CompareError> {
    let family = config.options.family;
    let Strategy {
        http,
        security,
        post_quantum,
        ..
    } = config.options.strategy;
    let asked = Strategy {
        http,
        security,
        post_quantum,
        ..Strategy::default()
    };
    let today = Way::new(Remedy::Baseline, asked, family);
    let answer = once(config, &today, budget, config.options.connect_timeout).await;
    let first = answer?;
    if let Some(failure) = first.failure {
        return Err(CompareError::Unanswered(failure));
    }
    Ok((candidates::baseline(&first, family), first))
}

/// Runs the baseline a few more times: in its first run, it was new to this process and to the
/// server.
async fn rehearse(
    config: &CompareConfig,
    baseline: &Way,
    budget: &mut RequestBudget,
) -> Vec<Exchange> {
    let mut rehearsals = Vec::new();
    for _ in 0..REHEARSALS {
        if !budget.allows(1) || !budget.has_time() {
            break;
        }
        let again = once(config, baseline, budget, config.options.connect_timeout).await;
        rehearsals.extend(again.ok().filter(Exchange::ok));
    }
    rehearsals
}

async fn once(
    config: &CompareConfig,
    way: &Way,
    budget: &mut RequestBudget,
    limit: Duration,
) -> Result<Exchange, CompareError> {
    let taken = asked(config, way, budget, limit).await;
    let hops = taken.sequence.and_then(|s| s.hops.into_iter().next());
    let last = hops.and_then(|mut hops| hops.pop());
    last.ok_or(CompareError::Interrupted)
}

async fn asked(
    config: &CompareConfig,
    way: &Way,
    budget: &mut RequestBudget,
    limit: Duration,
) -> Taken {
    budget.turn(way.dearest(1)).await;
    let taken = ours(config, way, 1, limit).await;
    budget.charge(taken.requests);
    taken
}

/// Finds out which of the ways are supported.
pub(crate) async fn ways(
    config: &CompareConfig,
    (baseline, first): (Way, Exchange),
    budget: &mut RequestBudget,
    mut told: impl FnMut(&Way, u32),
) -> Discovery {
    let mut found: Vec<(Way, Support)> = Vec::new();
    let limit = limit(config, &first);
    for way in candidates::ways(config, &first, &baseline) {
        told(&way, budget.sent());
        let support = if let Some(known) = needless(config, &way, &found) {
            known
        } else if !budget.allows(way.dearest(config.requests)) || !budget.has_time() {
            Support::Unasked("not tried: the budget was spent".into())
        } else {
            ask(config, &way, budget, limit).await
        };
        found.push((way, support));
    }
    Discovery {
        rehearsals: rehearse(config, &baseline, budget).await,
        baseline,
        first,
        ways: found,
    }
}

/// The limit for the name lookup, connection and handshake of a way that is only tried.
fn limit(config: &CompareConfig, first: &Exchange) -> Duration {
    let far = first.rtt.unwrap_or_default() * 4;
    config.options.connect_timeout.min(TIMEOUT.max(far))
}

async fn ask(
    config: &CompareConfig,
    way: &Way,
    budget: &mut RequestBudget,
    limit: Duration,
) -> Support {
    if way.command.is_some() {
        budget.turn(way.dearest(config.requests)).await;
        let taken = take(config, way, config.requests).await;
        budget.charge(taken.requests);
        return taken
            .outcome
            .map_or_else(Support::Absent, |_| Support::Works);
    }
    // A kept connection is tried with a request on an open one.
    let kept = way.manner == ConnectionUse::Kept;
    let tried = Way {
        manner: if kept {
            ConnectionUse::Kept
        } else {
            ConnectionUse::Each
        },
        strategy: Strategy {
            reuse: kept,
            ..way.strategy
        },
        ..way.clone()
    };
    let taken = asked(config, &tried, budget, limit).await;
    let hops = taken.sequence.and_then(|s| s.hops.into_iter().next());
    verdict::of(tried.strategy, &hops.unwrap_or_default())
}

/// Ways that need not be tried, because an earlier answer decides.
fn needless(config: &CompareConfig, way: &Way, found: &[(Way, Support)]) -> Option<Support> {
    if way.remedy == Remedy::AtOnce {
        return Some(Support::Works);
    }
    if way.strategy.memory == Memory::EarlyData && !config.is_safe() {
        let method = config.method();
        return Some(Support::Unasked(format!(
            "{method} is not sent as early data: an attacker could replay it (RFC 8470)"
        )));
    }
    if way.remedy == Remedy::Tls13 {
        let why = "the server was offered TLS 1.3 and chose TLS 1.2";
        return Some(Support::Absent(why.into()));
    }
    let needed = candidates::needs(way.remedy)?;
    let (before, support) = found.iter().find(|(w, _)| w.remedy == needed)?;
    match support {
        Support::Absent(why) => Some(Support::Absent(why.clone())),
        Support::Unasked(why) => Some(Support::Unasked(why.clone())),
        // If tickets are never accepted, neither is early data; a first flight that does not fit
        // into the SYN may fit in another form.
        Support::Idle(why) if before.remedy == Remedy::Resumption => {
            Some(Support::Absent(why.clone()))
        }
        _ => None,
    }
}
