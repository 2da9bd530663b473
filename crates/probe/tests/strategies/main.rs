//! Every strategy across an emulated path: the round trips that are counted, the arithmetic, and the clock agree.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arithmetic;
mod attribution;
mod causes;
mod detours;
#[path = "../../../../tests/far.rs"]
mod far;
mod fast_open;
mod interruptions;
mod names;
mod peer;
mod scene;
mod sequences;

roundtrip_path::sandbox_before_main!();
