//! Whole gates in front of backends, one module for each subject. Measurements of a whole process
//! have a separate test binary: `memory`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may panic

mod acme;
mod applications;
mod authz;
mod dashboard;
mod exchanges;
mod external_program;
mod guide;
mod lifecycle;
mod limits;
mod login;
mod migration;
mod readings;
mod revocation;
#[path = "../../../store/tests/it/server.rs"]
#[allow(dead_code)] // the store's own tests use more of it
mod server;
mod sessions;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod smuggling;
#[path = "../../../../tests/tls_client.rs"]
mod tls_client;
#[path = "../../../../tests/unanswered.rs"]
mod unanswered;

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

/// A runtime on the calling thread.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polls until it is true; tests do not depend on how long that takes.
pub(crate) async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is().await {
        let waited = began.elapsed();
        assert!(waited < Duration::from_mins(1), "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
