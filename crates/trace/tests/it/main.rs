//! What `trace` reads from recordings of real exchanges, compared with what `probe` measured; and
//! how it handles bytes that are not a capture.

#![allow(clippy::unwrap_used, clippy::panic)]

mod blind;
mod clear;
mod copies;
mod departures;
mod drawn;
mod far;
mod foreign;
mod hostile;
mod labels;
mod many;
mod packets;
mod recorded;
mod sealed;
mod streams;

roundtrip_path::sandbox_before_main!();
