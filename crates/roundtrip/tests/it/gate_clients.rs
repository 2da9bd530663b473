//! gate with other people's clients: a browser, curl, h2load, and QUIC of other projects. The tests
//! assert what they report and what gate counts. gate's own tests use our clients.

#![allow(clippy::unwrap_used, clippy::panic)]

mod backend;
mod browser;
mod commands;
mod python;
mod scene;

/// Printed if a client is missing that `scripts/install-test-tools` does not install.
fn not_run(test: &str, why: &str) {
    eprintln!("NOT RUN: {test}: {}", why.trim());
}
