//! Comparisons over an emulated path: an origin with its knobs in various positions is found out,
//! predicted and measured.

#![allow(clippy::unwrap_used)]

mod budget;
mod discovery;
#[path = "../../../../tests/far.rs"]
mod far;
mod measured;
mod scene;

roundtrip_path::sandbox_before_main!();
