//! Captures: read, written, and read by others.
#![allow(clippy::unwrap_used, clippy::panic)] // what a test's helper expects is expected of the code

mod older;
mod reading;
mod round_trip;
mod wireshark;

#[path = "../../../../tests/skip.rs"]
mod skip;
