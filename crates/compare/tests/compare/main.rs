//! Comparisons over an emulated path: what an origin supports with various knobs is discovered,
//! predicted and measured.

#![allow(clippy::unwrap_used)]

mod budget;
mod discovery;
#[path = "../../../../tests/far.rs"]
mod far;
mod measured;
mod scene;

roundtrip_path::sandbox_before_main!();
