//! Formats through the public API: recorded bytes, round trips, and invalid input.

#![allow(clippy::unwrap_used, clippy::panic)] // what a test's helper expects is expected of the code

mod dns;
mod dns_round_trip;
mod never_panics;
mod packet;
mod passive;
mod pcapng;
mod quic;
mod quic_transport;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod tls;
mod x509;
