//! What a user of `roundtrip rdap` sees: the real binary against the origin's registry on the
//! loopback. The parts of a lookup are tested in the crate. No test here leaves the machine: each
//! names its server, or where registries are renewed from.

// In a test, a helper that panics is a test that fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod astray;
mod clear;
mod exits;
mod forms;
mod lists;
mod memory;
mod outage;
mod pager;
mod renewal;
mod resume;
mod scene;
mod server;
mod trouble;
mod usage;
mod ways;
