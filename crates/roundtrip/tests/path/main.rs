//! `roundtrip path` as a person meets it: what it prints, how it ends, and that nothing of it is
//! left.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::panic)]

mod ends;
mod exits;
mod names;
mod origin;
mod page;
mod run;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod uplink;
mod user;
