//! What gate tells those who run it: is it alive, does it want to be asked, what has it done; as text for programs and as a
//! page for people. A small HTTP/1.1 server of its own in the main thread, that takes GET and HEAD and nothing else. What it
//! shows comes from `record` alone, which has nothing that would have to be kept to oneself.

pub(crate) mod condition;
mod connection;
mod desk;
mod document;
mod history;
mod page;
mod readiness;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

pub(crate) use desk::Desk;
pub(crate) use readiness::{Readiness, Unready};

/// Connections at once; more have to wait.
const MOST_CONNECTIONS: usize = 64;
/// Between two points of the page's charts.
const EVERY: Duration = Duration::from_secs(1);
/// After an accept that failed: mostly for want of descriptors, which time brings.
const RELIEF: Duration = Duration::from_millis(100);

/// Serves until it is dropped, and ends its connections then.
pub(crate) async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut open = JoinSet::new();
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => desk.sample(Instant::now()),
            Some(_) = open.join_next(), if !open.is_empty() => {}
            accepted = listener.accept(), if open.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    open.spawn(connection::serve(stream, desk.clone()));
                }
                Err(_) => sleep(RELIEF).await,
            },
        }
    }
}

#[cfg(test)]
mod tests;
