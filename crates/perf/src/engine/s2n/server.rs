//! The server: accepts the connections of one client, and ends with them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use s2n_quic::Server;
use s2n_quic::provider::tls::rustls;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::tally::S2nCounters;
use super::{runtime, started};
use crate::engine::tasks::server::{AnswerCounter, answer_streams};
use crate::engine::{Job, ListeningServer, PEER_TIMEOUT, SideReport};
use crate::error::PerfError;
use crate::identity::ServerIdentity;
use crate::plan::ArmKnobs;

pub(super) struct S2nServer {
    // Dropped before the runtime that it runs on.
    server: Server,
    tally: Arc<S2nCounters>,
    address: SocketAddr,
    job: Job,
    runtime: Runtime,
}

impl S2nServer {
    pub(super) fn listen(
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Self, PerfError> {
        let tls = Arc::new(identity.server(job.knobs.cipher)?).into();
        let tally = Arc::new(S2nCounters::default());
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
    knobs: &ArmKnobs,
    tally: Arc<S2nCounters>,
) -> io::Result<Server> {
    started!(Server::builder(), tls, at, knobs, tally)
}

impl ListeningServer for S2nServer {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<SideReport, PerfError> {
        let Self {
            mut server,
            tally,
            job,
            runtime,
            ..
        } = *self;
        runtime.block_on(async move {
            let counter = Arc::new(AnswerCounter::new(job));
            attend(&mut server, &counter).await?;
            Ok(counter.side(tally.wire()))
        })
    }
}

/// Waits until the last of the expected connections has ended.
async fn attend(server: &mut Server, counter: &Arc<AnswerCounter>) -> Result<(), PerfError> {
    let mut tasks = JoinSet::new();
    for _ in 0..counter.job.work.connections {
        let connection = timeout(PEER_TIMEOUT, server.accept()).await;
        let Ok(Some(connection)) = connection else {
            return Err(PerfError::Silence(PEER_TIMEOUT));
        };
        tasks.spawn(answer_streams(connection, counter.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(PerfError::broken)?;
    }
    Ok(())
}
