//! What `trace` reads from recordings of real exchanges, beside what `probe` measured of the same;
//! and what it makes of bytes that are no capture.

#![allow(clippy::unwrap_used, clippy::panic)]

mod hostile;
mod recorded;

roundtrip_path::sandbox_before_main!();
