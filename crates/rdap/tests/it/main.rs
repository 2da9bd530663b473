//! Lookups and the connections below them, against servers on the loopback and across an emulated
//! path.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checks;
mod client;
mod pool;
mod round_trips;

roundtrip_path::sandbox_before_main!();
