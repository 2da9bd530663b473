//! The admin server: health, readiness, metrics and a dashboard, as text for programs and as a page
//! for people. It is a small HTTP/1.1 server in the main thread that accepts only GET and HEAD. It
//! shows only what `record` holds, and `record` holds nothing secret.

mod certificate_metrics;
mod connection;
pub(crate) mod dependencies;
mod document;
mod history;
mod page;
mod readiness;
mod server_metrics;
mod state;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

pub(crate) use readiness::{Readiness, ReadinessError};
pub(crate) use state::AdminState;

/// The most connections at once; more have to wait.
const MAX_CONNECTIONS: usize = 64;
/// The time between two points of the charts.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after an accept that failed, usually because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until it is dropped, which ends its connections.
pub(crate) async fn serve(listener: TcpListener, state: Arc<AdminState>) {
    let mut open = JoinSet::new();
    let mut tick = interval(SAMPLE_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => state.sample(Instant::now()),
            Some(_) = open.join_next(), if !open.is_empty() => {}
            accepted = listener.accept(), if open.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    open.spawn(connection::serve(stream, state.clone()));
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

#[cfg(test)]
mod tests;
