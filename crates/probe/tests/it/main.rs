//! Every strategy across an emulated path: the counted round trips, the arithmetic, and the clock
//! agree. `retries`, `kept_connections` and `sequences::without_a_path` need no path.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attribution;
mod causes;
mod detours;
#[path = "../../../../tests/far.rs"]
mod far;
mod fast_open;
mod https_records;
mod kept_connections;
mod lost_connections;
mod peer;
mod quota;
mod retries;
mod round_trips;
mod scene;
mod sequences;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod witnesses;

roundtrip_path::sandbox_before_main!();
