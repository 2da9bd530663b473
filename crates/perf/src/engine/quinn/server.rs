//! The server: takes the connections of one client, answers each of their streams, and ends with them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Calls, drain, endpoint, part_of, runtime, tuned, wires};
use crate::account::Meter;
use crate::engine::{Job, PATIENCE, Side, Station};
use crate::error::PerfError;
use crate::identity::{self, Identity};
use crate::plan::Cipher;
use crate::protocol::{ENDLESS, STREAM_HEAD};

pub(super) struct Serving {
    // Before the runtime that it lives on.
    endpoint: Endpoint,
    calls: Arc<Calls>,
    address: SocketAddr,
    job: Job,
    runtime: Runtime,
}

/// What the streams of all connections share.
struct Counter {
    /// Starts with the first stream.
    meter: OnceLock<Meter>,
    sent: AtomicU64,
    received: AtomicU64,
    payload: Bytes,
    job: Job,
}

impl Serving {
    pub(super) fn listen(
        at: SocketAddr,
        identity: &Identity,
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
    identity: &Identity,
    cipher: Cipher,
    transport: Arc<TransportConfig>,
) -> Result<ServerConfig, PerfError> {
    let mut tls = identity.server(cipher)?;
    // RFC 9001 §4.6.1: early data is as much as the transport allows, or none.
    tls.max_early_data_size = 0;
    let crypto = identity::initial_suite()
        .and_then(|suite| QuicServerConfig::with_initial(Arc::new(tls), suite).ok())
        .ok_or_else(|| rustls::Error::General("QUIC has no such cipher".into()))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport);
    Ok(config)
}

impl Station for Serving {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<Side, PerfError> {
        let Self {
            endpoint,
            calls,
            job,
            runtime,
            ..
        } = *self;
        runtime.block_on(async move {
            let counter = Arc::new(Counter::new(job));
            let connections = attend(&endpoint, &counter).await?;
            Ok(counter.side(&connections, &calls))
        })
    }
}

/// Until the last of the connections that are expected has ended.
async fn attend(endpoint: &Endpoint, counter: &Arc<Counter>) -> Result<Vec<Connection>, PerfError> {
    let (mut connections, mut tasks) = (Vec::new(), JoinSet::new());
    for _ in 0..counter.job.work.connections {
        let incoming = timeout(PATIENCE, endpoint.accept()).await;
        let Ok(Some(incoming)) = incoming else {
            return Err(PerfError::Silence(PATIENCE));
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

async fn answer_streams(connection: Connection, counter: Arc<Counter>) {
    let mut streams = JoinSet::new();
    while let Ok((to, from)) = connection.accept_bi().await {
        counter.begin();
        let counter = counter.clone();
        // A stream that breaks takes nothing with it: the client counts what it received.
        streams.spawn(async move { counter.answer(to, from).await.ok() });
        while streams.try_join_next().is_some() {}
    }
}

impl Counter {
    fn new(job: Job) -> Self {
        Self {
            meter: OnceLock::new(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            payload: Bytes::from(vec![0x5a; job.knobs.write_size]),
            job,
        }
    }

    fn begin(&self) {
        self.meter.get_or_init(|| Meter::start(self.job.core));
    }

    async fn answer(&self, mut to: SendStream, mut from: RecvStream) -> Result<(), PerfError> {
        let mut head = [0; STREAM_HEAD];
        from.read_exact(&mut head)
            .await
            .map_err(PerfError::broken)?;
        let asked = drain(&mut from, |n| {
            self.received.fetch_add(n as u64, Ordering::Relaxed);
            self.job.pulse.add(n);
        });
        asked.await.map_err(PerfError::broken)?;
        let mut left = u64::from_be_bytes(head).min(ENDLESS);
        while left > 0 {
            let part = part_of(&self.payload, left);
            let n = part.len() as u64;
            to.write_chunk(part).await.map_err(PerfError::broken)?;
            left -= n;
            self.sent.fetch_add(n, Ordering::Relaxed);
        }
        to.finish().map_err(PerfError::broken)
    }

    fn side(&self, connections: &[Connection], calls: &Calls) -> Side {
        Side {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            usage: self.meter.get().map(Meter::read).unwrap_or_default(),
            wire: wires(connections, calls),
            ..Side::default()
        }
    }
}
