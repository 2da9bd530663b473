//! `roundtrip path` as a user sees it: what it prints, how it ends, and that it leaves nothing
//! behind.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::panic)]

mod ends;
mod exits;
mod names;
mod origin;
mod page;
mod run;
mod uplink;
mod user;
