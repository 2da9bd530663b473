//! What the pool's ways cost across an emulated path, in round trips: as counted, as the clock says, as arithmetic has it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene;
mod silence;
mod trips;

roundtrip_path::sandbox_before_main!();
