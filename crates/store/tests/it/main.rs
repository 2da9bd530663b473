//! Stores through their public API: in memory, in a file, and in a Redis that the test starts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod group;
mod local;
mod reconnect;
mod redis;
mod scripted;
mod sentinel;
mod server;
#[path = "../../../../tests/skip.rs"]
mod skip;

use std::time::Duration;

use tokio::task::LocalSet;

/// Runs the test on one thread, as each of gate's threads does.
pub(crate) fn on_a_thread<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// Waits for an event that must happen; the test does not judge how long it takes.
pub(crate) async fn eventually<T>(what: &str, event: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(30), event).await;
    waited.unwrap_or_else(|_| panic!("it never happened: {what}"))
}

/// Repeats the check until it is true.
pub(crate) async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    eventually(what, asking).await;
}
