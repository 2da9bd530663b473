//! What a user of `roundtrip probe` sees: the real binary against real peers (the origin, nginx,
//! Apache, small test servers), checked against Debian's curl and tshark's captures. The crates'
//! own tests check what each crate promises.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod curl;
mod errors;
mod flags;
mod peer;
mod repeats;
mod report;
mod run;
mod strategies;
