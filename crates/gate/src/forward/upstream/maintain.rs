//! The work of an upstream between requests: it closes connections before their servers do, opens
//! spare ones, and notices that a server may be tried again.

use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Upstream;
use crate::config::UpstreamProtocol;

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// The shortest pause.
const MIN_PAUSE: Duration = Duration::from_millis(5);

pub(super) async fn maintain(upstream: Weak<Upstream>) {
    // The connections are dropped together with this task.
    let mut filling = JoinSet::new();
    loop {
        let Some(upstream) = upstream.upgrade() else {
            return;
        };
        while filling.try_join_next().is_some() {}
        let next = upstream.pools.reap();
        if filling.is_empty() && upstream.group.config.warm > 0 {
            for server in 0..upstream.group.well.len() {
                filling.spawn_local(fill(upstream.clone(), server));
            }
        }
        upstream.look_after_shared();
        upstream.pools.gauge(upstream.shared_open());
        let wake = upstream.wake(next);
        drop(upstream);
        sleep_until(wake).await;
    }
}

impl Upstream {
    /// The time when the next connection is due, or earlier, because new connections may be due
    /// sooner.
    fn wake(&self, next: Option<Instant>) -> Instant {
        let config = &self.group.config;
        let now = Instant::now();
        let tick = now + MAX_PAUSE.min(config.idle_time.0.min(config.age.0) / 4);
        next.map_or(tick, |next| next.min(tick))
            .max(now + MIN_PAUSE)
    }
}

/// Opens as many spare connections as configured; after a failure, none until the next round. Never
/// with fast open: without a request the SYN would carry nothing.
async fn fill(upstream: Rc<Upstream>, server: usize) {
    let config = &upstream.group.config;
    if config.protocol == UpstreamProtocol::H2 {
        // If this fails, the exchange that needs the connection gets the error.
        return upstream.share_early(server).await;
    }
    while let Some(slot) = upstream.pools.spare(server, config.warm.min(config.idle)) {
        let opened = upstream.open(slot, false, upstream.deadline()).await;
        let Ok(mut opened) = opened else {
            return;
        };
        // Sends our Finished now. Otherwise the server would have to wait for the first request to
        // complete the handshake.
        if opened.kept.carrier.flush().await.is_err() {
            return;
        }
        opened.slot.keep(opened.kept);
    }
}
