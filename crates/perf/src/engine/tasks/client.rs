//! The client's work: all lanes of all connections at once, until they are done or the time is
//! over.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Caller, Outgoing, drain, part_of};
use crate::engine::{Job, PATIENCE, Side};
use crate::error::PerfError;
use crate::plan::{Amount, Lane};
use crate::protocol::{ENDLESS, STREAM_HEAD};

/// When lanes stop.
#[derive(Clone)]
struct Until {
    deadline: Instant,
    share: Option<u64>,
    bulk: Arc<AtomicUsize>,
}

/// The wildcard address for a client's socket.
pub(in crate::engine) fn anywhere(to: SocketAddr) -> SocketAddr {
    let here: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(here, 0)
}

pub(in crate::engine) async fn work<C: Caller>(
    connections: &[C],
    job: &Job,
) -> Result<Side, PerfError> {
    let lanes = job.work.lanes();
    let bulk = lanes.iter().filter(|lane| lane.is_bulk()).count() * connections.len();
    let time = match job.work.amount {
        Amount::For(time) => time,
        // Not expected to be reached: a day.
        Amount::Bytes(_) => Duration::from_hours(24),
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

async fn run<C: Caller>(
    connection: C,
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

async fn take<C: Caller>(connection: &C, until: &Until, job: &Job) -> Result<Side, PerfError> {
    let (mut to, mut from) = connection.open().await?;
    let wanted = until.share.unwrap_or(ENDLESS);
    to.send(Bytes::copy_from_slice(&wanted.to_be_bytes()))
        .await?;
    to.finish()?;
    let mut side = Side::default();
    let all = drain(&mut from, |piece| {
        side.received += piece.len() as u64;
        job.pulse.add(piece.len());
    });
    // After the deadline, the rest is not read.
    if let Ok(ended) = timeout_at(until.deadline, all).await {
        ended?;
        if side.received != wanted {
            return Err(PerfError::broken(
                "the server sent less than it was asked for",
            ));
        }
    }
    Ok(side)
}

/// Sends; done when the server has received everything.
async fn give<C: Caller>(connection: &C, until: &Until, job: &Job) -> Result<Side, PerfError> {
    let (mut to, mut from) = connection.open().await?;
    to.send(Bytes::from_static(&[0; STREAM_HEAD])).await?;
    let payload = Bytes::from(vec![0x5a; job.knobs.write_size]);
    let all = until.share.unwrap_or(ENDLESS);
    let mut side = Side::default();
    while side.sent < all {
        let part = part_of(&payload, all - side.sent);
        let n = part.len() as u64;
        match timeout_at(until.deadline, to.send(part)).await {
            Ok(sent) => sent?,
            Err(_) => break,
        }
        side.sent += n;
        if Instant::now() >= until.deadline {
            break;
        }
    }
    to.finish()?;
    let mut came = 0;
    let heard = timeout(PATIENCE, drain(&mut from, |piece| came += piece.len())).await;
    heard.map_err(|_| PerfError::Silence(PATIENCE))??;
    if came > 0 {
        return Err(PerfError::broken("the server sent what nobody asked for"));
    }
    Ok(side)
}

async fn ask<C: Caller>(
    connection: &C,
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
        let (mut to, mut from) = connection.open().await?;
        to.send(message.clone()).await?;
        to.finish()?;
        let mut came = 0;
        drain(&mut from, |piece| {
            came += piece.len() as u64;
            job.pulse.add(piece.len());
        })
        .await?;
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
