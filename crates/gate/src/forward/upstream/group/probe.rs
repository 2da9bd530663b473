//! Is a server back that requests found gone? Where no health check asks it, and nobody sends requests any more, a connection
//! is tried now and then.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Group;
use crate::forward::upstream::pool::after;

const EVERY: Duration = Duration::from_secs(1);

impl Group {
    pub(super) async fn keep_probed(&self, server: usize) {
        let Some(sight) = self.sights.get(server) else {
            return;
        };
        if self.config.health.is_some() {
            return;
        }
        loop {
            sleep(EVERY).await;
            let gone = sight.failing(self.config.eject_after).is_some();
            if !gone || !sight.may_be_back(self.config.eject_for.0) {
                continue;
            }
            let deadline = after(Instant::now(), self.config.connect.0);
            if self.open(server, false, deadline).await.is_ok() {
                sight.succeeded();
            }
        }
    }
}
