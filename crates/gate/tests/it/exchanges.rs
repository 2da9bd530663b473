//! What is promised of a gate whatever its clients and its backends do, each with a test of its
//! name. Of sessions and their store `sessions` has the promises, of reload and end `lifecycle`, of
//! who could be taken for whom `smuggling`.

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
