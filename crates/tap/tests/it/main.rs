//! Unmodified programs, followed by their system calls: what is reported of their exchanges, and
//! that their behaviour does not change.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod crowd;
mod server;
mod shells;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod unchanged;
mod watching;
