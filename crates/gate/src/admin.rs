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

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

pub(crate) use readiness::{Readiness, ReadinessError};
pub(crate) use state::AdminState;

/// The largest number of connections at once; beyond that, one without a request is closed.
const MAX_CONNECTIONS: usize = 64;
/// The time between two points of the charts.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after an accept that failed, usually because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the future is dropped, which ends its connections.
pub(crate) async fn serve(listener: TcpListener, state: Arc<AdminState>) {
    let mut open = Connections::default();
    let mut tick = interval(SAMPLE_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => state.sample(Instant::now()),
            Some(_) = open.tasks.join_next(), if !open.tasks.is_empty() => open.forget_ended(),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => open.add(stream, &state),
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// The connections, oldest first, and whether each waits for a request.
    by_age: VecDeque<(AbortHandle, Arc<AtomicBool>)>,
}

impl Connections {
    fn add(&mut self, stream: TcpStream, state: &Arc<AdminState>) {
        if self.by_age.len() >= MAX_CONNECTIONS {
            self.close_one();
        }
        let _ = stream.set_nodelay(true);
        let waits = Arc::new(AtomicBool::new(true));
        let serving = connection::serve(stream, state.clone(), waits.clone());
        self.by_age.push_back((self.tasks.spawn(serving), waits));
    }

    /// Makes room for a client that may have a request: closes the oldest connection that has no
    /// request, or else the oldest of all.
    fn close_one(&mut self) {
        let mut all = self.by_age.iter();
        let waiting = all.position(|(_, waits)| waits.load(Ordering::Relaxed));
        if let Some((task, _)) = self.by_age.remove(waiting.unwrap_or(0)) {
            task.abort();
        }
    }

    fn forget_ended(&mut self) {
        self.by_age.retain(|(task, _)| !task.is_finished());
    }
}

#[cfg(test)]
mod tests;
