//! The client: opens all connections, then all lanes at once, and looks at the clock.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, TransportConfig};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::{DONE, drain, endpoint, part_of, tuned, wires};
use crate::account::Meter;
use crate::engine::{Job, PATIENCE, Side};
use crate::error::PerfError;
use crate::identity::{self, Trust};
use crate::plan::{Amount, Cipher, Lane};
use crate::protocol::{ENDLESS, NAME, STREAM_HEAD};

/// When lanes stop.
#[derive(Clone)]
struct Until {
    deadline: Instant,
    share: Option<u64>,
    bulk: Arc<AtomicUsize>,
}

pub(super) async fn drive(to: SocketAddr, trust: &Trust, job: &Job) -> Result<Side, PerfError> {
    let here: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let (endpoint, calls) = endpoint(SocketAddr::new(here, 0), None, &job.knobs)?;
    let transport = Arc::new(tuned(&job.knobs));
    let config = config(trust, job.knobs.cipher, transport)?;
    let connections = connect(&endpoint, to, config, job).await?;
    let meter = Meter::start(job.core);
    let done = work(&connections, job).await;
    let usage = meter.read();
    let wire = wires(&connections, &calls);
    for connection in &connections {
        connection.close(DONE, b"");
    }
    // What is not heard of the farewell is found out by the server in time.
    let _ = timeout(PATIENCE, endpoint.wait_idle()).await;
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
        let connected = timeout(PATIENCE, connecting).await;
        connections.push(connected.map_err(|_| PerfError::Silence(PATIENCE))??);
    }
    Ok(connections)
}

async fn work(connections: &[Connection], job: &Job) -> Result<Side, PerfError> {
    let lanes = job.work.lanes();
    let bulk = lanes.iter().filter(|lane| lane.is_bulk()).count() * connections.len();
    let time = match job.work.amount {
        Amount::For(time) => time,
        // An end that is not looked for: a day.
        Amount::Bytes(_) => std::time::Duration::from_hours(24),
    };
    let until = Until {
        deadline: Instant::now() + time,
        share: job.work.share(),
        bulk: Arc::new(AtomicUsize::new(bulk)),
    };
    let mut tasks = JoinSet::new();
    for connection in connections {
        for lane in &lanes {
            tasks.spawn(run(connection.clone(), *lane, until.clone(), job.clone()));
        }
    }
    let mut side = Side::default();
    while let Some(ended) = tasks.join_next().await {
        side += ended.map_err(PerfError::broken)??;
    }
    Ok(side)
}

async fn run(
    connection: Connection,
    lane: Lane,
    until: Until,
    job: Job,
) -> Result<Side, PerfError> {
    let done = match lane {
        Lane::Down => take(&connection, &until, &job).await,
        Lane::Up => give(&connection, &until, &job).await,
        Lane::Ask { request, response } => ask(&connection, &until, &job, request, response).await,
    };
    if lane.is_bulk() {
        until.bulk.fetch_sub(1, Ordering::Relaxed);
    }
    done
}

async fn take(connection: &Connection, until: &Until, job: &Job) -> Result<Side, PerfError> {
    let (mut to, mut from) = connection.open_bi().await?;
    let wanted = until.share.unwrap_or(ENDLESS);
    to.write_all(&wanted.to_be_bytes())
        .await
        .map_err(PerfError::broken)?;
    to.finish().map_err(PerfError::broken)?;
    let mut side = Side::default();
    let all = drain(&mut from, |n| {
        side.received += n as u64;
        job.pulse.add(n);
    });
    // Past the deadline nobody reads on.
    if let Ok(ended) = timeout_at(until.deadline, all).await {
        ended.map_err(PerfError::broken)?;
        if side.received != wanted {
            return Err(PerfError::broken(
                "the server sent less than it was asked for",
            ));
        }
    }
    Ok(side)
}

/// Done when the server has all of it.
async fn give(connection: &Connection, until: &Until, job: &Job) -> Result<Side, PerfError> {
    let (mut to, mut from) = connection.open_bi().await?;
    to.write_all(&[0; STREAM_HEAD])
        .await
        .map_err(PerfError::broken)?;
    let payload = Bytes::from(vec![0x5a; job.knobs.write_size]);
    let all = until.share.unwrap_or(ENDLESS);
    let mut side = Side::default();
    while side.sent < all {
        let part = part_of(&payload, all - side.sent);
        let n = part.len() as u64;
        match timeout_at(until.deadline, to.write_chunk(part)).await {
            Ok(written) => written.map_err(PerfError::broken)?,
            Err(_) => break,
        }
        side.sent += n;
        if Instant::now() >= until.deadline {
            break;
        }
    }
    to.finish().map_err(PerfError::broken)?;
    let heard = timeout(PATIENCE, from.read_to_end(0)).await;
    heard
        .map_err(|_| PerfError::Silence(PATIENCE))?
        .map_err(PerfError::broken)?;
    Ok(side)
}

async fn ask(
    connection: &Connection,
    until: &Until,
    job: &Job,
    request: u64,
    response: u64,
) -> Result<Side, PerfError> {
    let mut message = response.to_be_bytes().to_vec();
    message.resize(STREAM_HEAD + request as usize, 0x5a);
    let message = Bytes::from(message);
    let counts_bytes = matches!(job.work.amount, Amount::Bytes(_));
    let mut side = Side::default();
    loop {
        let bulk_is_over = counts_bytes && until.bulk.load(Ordering::Relaxed) == 0;
        if bulk_is_over || Instant::now() >= until.deadline {
            return Ok(side);
        }
        let asked = Instant::now();
        let (mut to, mut from) = connection.open_bi().await?;
        to.write_chunk(message.clone())
            .await
            .map_err(PerfError::broken)?;
        to.finish().map_err(PerfError::broken)?;
        let mut came = 0;
        drain(&mut from, |n| {
            came += n as u64;
            job.pulse.add(n);
        })
        .await
        .map_err(PerfError::broken)?;
        if came != response {
            return Err(PerfError::broken(
                "an answer was not as long as it was asked for",
            ));
        }
        side.sent += request;
        side.received += came;
        side.latencies.record(asked.elapsed());
    }
}
