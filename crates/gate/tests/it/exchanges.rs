//! What gate promises whatever its clients and backends do; each promise is a test. `sessions`
//! tests sessions and their store, `lifecycle` reload and end, `smuggling` requests that could be
//! taken for others.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // what a test expects is expected of the code

mod backend;
mod backend_failures;
mod interim;
pub(crate) mod raw_client;
mod retries;
mod single_bytes;
mod slow_clients;
mod streams;
mod token_expiry;
mod truncation;
mod uploads;
mod warm_path;
