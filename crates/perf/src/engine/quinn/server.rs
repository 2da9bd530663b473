//! The server: accepts the connections of one client, and ends with them.

use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, ServerConfig, TransportConfig};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{SocketCalls, endpoint, runtime, tuned, wires};
use crate::engine::tasks::server::{AnswerCounter, answer_streams};
use crate::engine::{Job, ListeningServer, PEER_TIMEOUT, SideReport};
use crate::error::PerfError;
use crate::identity::{self, ServerIdentity};
use crate::plan::Cipher;

pub(super) struct QuinnServer {
    // Dropped before the runtime that it runs on.
    endpoint: Endpoint,
    calls: Arc<SocketCalls>,
    address: SocketAddr,
    job: Job,
    runtime: Runtime,
}

impl QuinnServer {
    pub(super) fn listen(
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Self, PerfError> {
        let transport = Arc::new(tuned(&job.knobs));
        let config = config(identity, job.knobs.cipher, transport)?;
        let runtime = runtime()?;
        let inside = runtime.enter();
        let (endpoint, calls) = endpoint(at, Some(config), &job.knobs)?;
        drop(inside);
        let address = endpoint
            .local_addr()
            .map_err(|source| PerfError::Listen { at, source })?;
        Ok(Self {
            endpoint,
            calls,
            address,
            job: job.clone(),
            runtime,
        })
    }
}

pub(in crate::engine) fn config(
    identity: &ServerIdentity,
    cipher: Cipher,
    transport: Arc<TransportConfig>,
) -> Result<ServerConfig, PerfError> {
    let mut tls = identity.server(cipher)?;
    // RFC 9001 §4.6.1: the limit of early data is either that of the transport, or 0.
    tls.max_early_data_size = 0;
    let crypto = identity::initial_suite()
        .and_then(|suite| QuicServerConfig::with_initial(Arc::new(tls), suite).ok())
        .ok_or_else(|| rustls::Error::General("QUIC has no such cipher".into()))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport);
    Ok(config)
}

impl ListeningServer for QuinnServer {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<SideReport, PerfError> {
        let Self {
            endpoint,
            calls,
            job,
            runtime,
            ..
        } = *self;
        runtime.block_on(async move {
            let counter = Arc::new(AnswerCounter::new(job));
            let connections = attend(&endpoint, &counter).await?;
            Ok(counter.side(wires(&connections, &calls)))
        })
    }
}

/// Waits until the last of the expected connections has ended.
async fn attend(
    endpoint: &Endpoint,
    counter: &Arc<AnswerCounter>,
) -> Result<Vec<Connection>, PerfError> {
    let (mut connections, mut tasks) = (Vec::new(), JoinSet::new());
    for _ in 0..counter.job.work.connections {
        let incoming = timeout(PEER_TIMEOUT, endpoint.accept()).await;
        let Ok(Some(incoming)) = incoming else {
            return Err(PerfError::Silence(PEER_TIMEOUT));
        };
        let connection = incoming.await?;
        tasks.spawn(answer_streams(connection.clone(), counter.clone()));
        connections.push(connection);
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(PerfError::broken)?;
    }
    Ok(connections)
}
