//! What gate promises, whatever its clients and backends do; each promise is a test. `sessions`
//! tests sessions and their store, `lifecycle` tests reload and shutdown, and `smuggling` tests
//! requests that could be taken for others.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // a test may panic

mod backend;
mod backend_failures;
mod buffered;
mod caching;
mod half_close;
mod interim;
pub(crate) mod raw_client;
mod retries;
mod reuse;
mod single_bytes;
mod slow_clients;
mod streams;
mod stuck;
mod token_expiry;
mod truncation;
mod uploads;
mod warm_path;
