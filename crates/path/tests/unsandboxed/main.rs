//! The environment of a path: which users it works for without a sandbox, how it refuses, and that
//! it leaves nothing behind.
//!
//! This is a separate binary from `it`, because `it` enters a sandbox before `main`, and a process
//! cannot leave one.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cleanup;
#[path = "../it/ordinary_user.rs"]
mod ordinary_user;
mod outside;
mod refused;
#[path = "../../../../tests/skip.rs"]
mod skip;

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    ordinary_user::run_all_but("all_of_it_holds_for_an_ordinary_user");
}
