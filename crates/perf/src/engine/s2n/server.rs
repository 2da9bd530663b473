//! The server: accepts the connections of one client, and ends with them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use s2n_quic::Server;
use s2n_quic::provider::tls::rustls;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::tally::Tally;
use super::{runtime, started};
use crate::engine::tasks::server::{Counter, answer_streams};
use crate::engine::{Job, PATIENCE, Side, Station};
use crate::error::PerfError;
use crate::identity::Identity;
use crate::plan::Knobs;

pub(super) struct Serving {
    // Dropped before the runtime that it runs on.
    server: Server,
    tally: Arc<Tally>,
    address: SocketAddr,
    job: Job,
    runtime: Runtime,
}

impl Serving {
    pub(super) fn listen(
        at: SocketAddr,
        identity: &Identity,
        job: &Job,
    ) -> Result<Self, PerfError> {
        let tls = Arc::new(identity.server(job.knobs.cipher)?).into();
        let tally = Arc::new(Tally::default());
        let runtime = runtime()?;
        let inside = runtime.enter();
        let listening = start(at, tls, &job.knobs, tally.clone()).and_then(|server| {
            let address = server.local_addr()?;
            Ok((server, address))
        });
        drop(inside);
        let (server, address) = listening.map_err(|source| PerfError::Listen { at, source })?;
        Ok(Self {
            server,
            tally,
            address,
            job: job.clone(),
            runtime,
        })
    }
}

fn start(
    at: SocketAddr,
    tls: rustls::Server,
    knobs: &Knobs,
    tally: Arc<Tally>,
) -> io::Result<Server> {
    started!(Server::builder(), tls, at, knobs, tally)
}

impl Station for Serving {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<Side, PerfError> {
        let Self {
            mut server,
            tally,
            job,
            runtime,
            ..
        } = *self;
        runtime.block_on(async move {
            let counter = Arc::new(Counter::new(job));
            attend(&mut server, &counter).await?;
            Ok(counter.side(tally.wire()))
        })
    }
}

/// Waits until the last of the expected connections has ended.
async fn attend(server: &mut Server, counter: &Arc<Counter>) -> Result<(), PerfError> {
    let mut tasks = JoinSet::new();
    for _ in 0..counter.job.work.connections {
        let connection = timeout(PATIENCE, server.accept()).await;
        let Ok(Some(connection)) = connection else {
            return Err(PerfError::Silence(PATIENCE));
        };
        tasks.spawn(answer_streams(connection, counter.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(PerfError::broken)?;
    }
    Ok(())
}
