//! The client's side of HTTP against servers in memory, on loopback and of other makers.

#![allow(clippy::unwrap_used, clippy::panic)]

mod hostile_servers;
mod openings;
mod promptness;
mod requests;
mod responses;
mod sessions;
#[path = "../../../../tests/skip.rs"]
mod skip;
