//! The client: opens all connections, and closes them when their work is done.

use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, TransportConfig};
use tokio::time::timeout;

use super::{DONE, endpoint, tuned, wires};
use crate::account::CpuMeter;
use crate::engine::tasks::client::{anywhere, work};
use crate::engine::{Job, PEER_TIMEOUT, SideReport};
use crate::error::PerfError;
use crate::identity::{self, Trust};
use crate::plan::Cipher;
use crate::protocol::NAME;

pub(super) async fn drive(
    to: SocketAddr,
    trust: &Trust,
    job: &Job,
) -> Result<SideReport, PerfError> {
    let (endpoint, calls) = endpoint(anywhere(to), None, &job.knobs)?;
    let transport = Arc::new(tuned(&job.knobs));
    let config = config(trust, job.knobs.cipher, transport)?;
    let connections = connect(&endpoint, to, config, job).await?;
    let meter = CpuMeter::start(job.core);
    let done = work(&connections, job).await;
    let usage = meter.read();
    let wire = wires(&connections, &calls);
    for connection in &connections {
        connection.close(DONE, b"");
    }
    // If the server misses the close, it times out.
    let _ = timeout(PEER_TIMEOUT, endpoint.wait_idle()).await;
    let mut side = done?;
    (side.usage, side.wire) = (usage, wire);
    Ok(side)
}

pub(in crate::engine) fn config(
    trust: &Trust,
    cipher: Cipher,
    transport: Arc<TransportConfig>,
) -> Result<ClientConfig, PerfError> {
    let tls = Arc::new(trust.client(cipher)?);
    let crypto = identity::initial_suite()
        .and_then(|suite| QuicClientConfig::with_initial(tls, suite).ok())
        .ok_or_else(|| rustls::Error::General("QUIC has no such cipher".into()))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport);
    Ok(config)
}

async fn connect(
    endpoint: &Endpoint,
    to: SocketAddr,
    config: ClientConfig,
    job: &Job,
) -> Result<Vec<Connection>, PerfError> {
    let mut connections = Vec::new();
    for _ in 0..job.work.connections {
        let connecting = endpoint.connect_with(config.clone(), to, NAME)?;
        let connected = timeout(PEER_TIMEOUT, connecting).await;
        connections.push(connected.map_err(|_| PerfError::Silence(PEER_TIMEOUT))??);
    }
    Ok(connections)
}
