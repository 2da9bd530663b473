//! Finds out whether a server is up again after requests to it failed. If it has no health check
//! and gets no requests, a connection is tried now and then.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Group;
use crate::forward::upstream::pool::after;

const PROBE_INTERVAL: Duration = Duration::from_secs(1);

impl Group {
    pub(super) async fn keep_probed(&self, server: usize) {
        let Some(health) = self.health.get(server) else {
            return;
        };
        if self.config.health.is_some() {
            return;
        }
        loop {
            sleep(PROBE_INTERVAL).await;
            let gone = health.failing(self.config.eject_after).is_some();
            if !gone || !health.may_be_back(self.config.eject_for.0) {
                continue;
            }
            let deadline = after(Instant::now(), self.config.connect.0);
            if self.open(server, false, deadline).await.is_ok() {
                health.succeeded();
            }
        }
    }
}
