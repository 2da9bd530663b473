//! The client: opens all connections, and closes them when their work is done.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use s2n_quic::client::Connect;
use s2n_quic::connection::Handle;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Connection};
use tokio::time::timeout;

use super::started;
use super::tally::S2nCounters;
use crate::account::CpuMeter;
use crate::engine::tasks::client::{anywhere, work};
use crate::engine::{Job, PEER_TIMEOUT, SideReport};
use crate::error::PerfError;
use crate::identity::Trust;
use crate::plan::ArmKnobs;
use crate::protocol::NAME;

pub(super) async fn drive(
    to: SocketAddr,
    trust: &Trust,
    job: &Job,
) -> Result<SideReport, PerfError> {
    let tls = Arc::new(trust.client(job.knobs.cipher)?).into();
    let tally = Arc::new(S2nCounters::default());
    let at = anywhere(to);
    let mut client = start(at, tls, &job.knobs, tally.clone())
        .map_err(|source| PerfError::Listen { at, source })?;
    let connections = connect(&client, to, job).await?;
    let handles: Vec<Handle> = connections.iter().map(Connection::handle).collect();
    let meter = CpuMeter::start(job.core);
    let done = work(&handles, job).await;
    let (usage, wire) = (meter.read(), tally.wire());
    for connection in connections {
        connection.close(0_u8.into());
    }
    drop(handles);
    // If the server misses the close, it times out.
    let _ = timeout(PEER_TIMEOUT, client.wait_idle()).await;
    let mut side = done?;
    (side.usage, side.wire) = (usage, wire);
    Ok(side)
}

fn start(
    at: SocketAddr,
    tls: rustls::Client,
    knobs: &ArmKnobs,
    tally: Arc<S2nCounters>,
) -> io::Result<Client> {
    started!(Client::builder(), tls, at, knobs, tally)
}

async fn connect(client: &Client, to: SocketAddr, job: &Job) -> Result<Vec<Connection>, PerfError> {
    let mut connections = Vec::new();
    for _ in 0..job.work.connections {
        let connecting = client.connect(Connect::new(to).with_server_name(NAME));
        let connected = timeout(PEER_TIMEOUT, connecting).await;
        connections.push(connected.map_err(|_| PerfError::Silence(PEER_TIMEOUT))??);
    }
    Ok(connections)
}
