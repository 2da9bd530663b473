//! What a user of `roundtrip probe` sees: the real binary against real peers (the origin, nginx,
//! Apache, small servers of the tests' own), judged by Debian's curl and by what tshark captured.
//! What single crates promise is tested there.

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
