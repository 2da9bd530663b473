//! Stores through their public face: in memory, in a file, and in a Redis that is started for the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod local;
mod redis;
mod scripted;
mod server;
#[path = "../../../../tests/skip.rs"]
mod skip;

use std::time::Duration;

use tokio::task::LocalSet;

/// One thread, as the gate's are.
pub(crate) fn on_a_thread<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// Waits for something that must happen; how long it takes is no matter of the test.
pub(crate) async fn eventually<T>(what: &str, event: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(30), event).await;
    waited.unwrap_or_else(|_| panic!("it never happened: {what}"))
}

/// Asks until it is so.
pub(crate) async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    eventually(what, asking).await;
}
