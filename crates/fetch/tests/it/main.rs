//! Connections of the pool, to servers on the loopback and across an emulated path.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pool;
mod round_trips;

roundtrip_path::sandbox_before_main!();
