//! Tests of the HTTP client against servers in memory, on loopback and by other projects.

#![allow(clippy::unwrap_used, clippy::panic)]

mod early_answers;
mod hostile_servers;
mod openings;
mod promptness;
mod requests;
mod responses;
mod sessions;
#[path = "../../../../tests/skip.rs"]
mod skip;
