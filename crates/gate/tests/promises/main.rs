//! What is promised of a gate whatever its clients and its backends do, each with a test of its name. Of sessions and their
//! store `guarded` has the promises, of reload and end `life`, of who could be taken for whom `smuggling`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // what a test expects is expected of the code

mod backend;
mod clock;
mod drip;
mod interim;
#[path = "../life/scene.rs"]
#[allow(dead_code)] // `life` uses more of it
mod scene;
#[path = "../../../store/tests/it/server.rs"]
#[allow(dead_code)] // the store's own tests use more of it
mod server;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod slow;
mod speaker;
mod streams;
mod trouble;
mod truncation;
mod twice;
mod uploads;
mod warm;

use std::time::{Duration, Instant};

use scene::PATIENCE;

/// Asks until it is so; how long that takes is no matter of a test.
pub(crate) async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is().await {
        assert!(began.elapsed() < PATIENCE, "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
