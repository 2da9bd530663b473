//! Lookups against servers on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checks;
mod client;

roundtrip_path::sandbox_before_main!();
