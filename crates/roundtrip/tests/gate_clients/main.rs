//! gate before clients of others: a browser, curl, h2load, and a QUIC of other makers. What is
//! asserted is what they say and what gate counts. gate's own tests have clients of ours.

#![allow(clippy::unwrap_used, clippy::panic)]

mod backend;
mod browser;
mod commands;
mod python;
mod scene;
#[path = "../../../../tests/skip.rs"]
mod skip;

/// Said where a client is missing that `scripts/install-test-tools` does not install.
fn not_run(test: &str, why: &str) {
    eprintln!("NOT RUN: {test}: {}", why.trim());
}
