//! The comparison of several ways, for programs: schema `roundtrip/demo/1`.

use serde_json::{Value, json};

use super::rounded;
use crate::ways::{WayRuns, Ways};

pub const DEMO_SCHEMA: &str = "roundtrip/demo/1";

/// The table's current state as one document.
pub fn ways(ways: &Ways) -> Value {
    let rows = ways.ways.iter().enumerate();
    json!({
        "schema": DEMO_SCHEMA,
        "path": { "rtt_ms": rounded(ways.rtt_ms) },
        "runs": ways.runs,
        "seed": ways.seed,
        "ways": rows.map(|(place, way)| row(ways, place, way)).collect::<Vec<Value>>(),
        "lesson": ways.lesson(),
    })
}

fn row(ways: &Ways, place: usize, way: &WayRuns) -> Value {
    let summary = way.summary();
    let typical = way.typical();
    let saved = ways.saved(place);
    json!({
        "title": way.title,
        "strategy": way.strategy,
        "expected_round_trips": way.strategy.round_trips(),
        "round_trips": typical.map(|a| a.round_trips),
        "agrees": typical.map(|_| way.disagreement().is_none()),
        "disagreement": way.disagreement(),
        "median_ms": summary.map(|s| rounded(s.median)),
        "min_ms": summary.map(|s| rounded(s.min)),
        "max_ms": summary.map(|s| rounded(s.max)),
        "saved_ms": saved.map(|(ms, _)| rounded(ms)),
        "saved_share": saved.map(|(_, share)| rounded(share)),
        "waited_for": typical.map(|a| json!({
            "network_ms": rounded(a.waited.network),
            "server_ms": rounded(a.waited.server),
            "client_ms": rounded(a.waited.client),
            "resolver_ms": rounded(a.waited.resolver),
            "loss_ms": rounded(a.waited.loss),
            "unknown_ms": rounded(a.waited.unknown),
        })),
        "answers": way.answers.iter().map(|a| json!({
            "ms": rounded(a.ms),
            "round_trips": a.round_trips,
            "strategy": a.used,
        })).collect::<Vec<Value>>(),
        "failures": way.failures,
    })
}
