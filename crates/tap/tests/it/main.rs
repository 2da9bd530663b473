//! Programs that nobody prepared, followed by their system calls: what is told of their exchanges,
//! and that nothing of their behaviour changes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod crowd;
mod server;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod unchanged;
mod watching;
