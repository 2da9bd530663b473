//! The contract for programs, schema `roundtrip/probe/1`: keys can be added, never renamed.
//! `docs/json.md` explains each.
//!
//! Milliseconds have three decimals, keys a stable order. A value that was not observed is `null`,
//! never a made-up zero.

mod facts;
mod result;
mod summary;
mod ways;

use roundtrip_model::Exchange;
use serde_json::{Value, json};

pub use result::{result, settings};
pub use ways::{DEMO_SCHEMA, ways};

pub const SCHEMA: &str = "roundtrip/probe/1";

/// One document: a result for each exchange and a summary over the runs.
pub fn document(exchanges: &[Exchange]) -> Value {
    json!({
        "schema": SCHEMA,
        "results": exchanges.iter().map(result).collect::<Vec<Value>>(),
        "summary": summary::of(exchanges),
    })
}

/// The summary alone, for a stream whose results have already been written.
pub fn summary(exchanges: &[Exchange]) -> Value {
    summary::of(exchanges)
}

/// Rounds to three decimals, which are microseconds; `null` if it is not a number.
pub fn rounded(ms: f64) -> Value {
    let rounded = (ms * 1e3).round() / 1e3;
    // Adding zero turns -0.0 into 0.0.
    json!(rounded + 0.0)
}

/// The milliseconds that an exchange waited for each party.
pub fn waited(waited: &roundtrip_model::Waited) -> Value {
    json!({
        "network_ms": rounded(waited.network),
        "server_ms": rounded(waited.server),
        "client_ms": rounded(waited.client),
        "resolver_ms": rounded(waited.resolver),
        "loss_ms": rounded(waited.loss),
        "unknown_ms": rounded(waited.unknown),
    })
}

fn span(span: std::time::Duration) -> Value {
    rounded(span.as_secs_f64() * 1e3)
}
