//! The client's work: all lanes of all connections at once, until they are done or the time runs
//! out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ClientConnection, SendHalf, drain, part_of};
use crate::engine::{Job, PEER_TIMEOUT, SideReport};
use crate::error::PerfError;
use crate::plan::{Amount, WorkLane};
use crate::protocol::{ENDLESS, STREAM_HEAD};

/// When lanes stop.
#[derive(Clone)]
struct TaskDeadline {
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

pub(in crate::engine) async fn work<C: ClientConnection>(
    connections: &[C],
    job: &Job,
) -> Result<SideReport, PerfError> {
    let lanes = job.work.lanes();
    let bulk = lanes.iter().filter(|lane| lane.is_bulk()).count() * connections.len();
    let time = match job.work.amount {
        Amount::For(time) => time,
        // A day, which no run should take.
        Amount::Bytes(_) => Duration::from_hours(24),
    };
    let until = TaskDeadline {
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
    let mut side = SideReport::default();
    while let Some(ended) = tasks.join_next().await {
        side += ended.map_err(PerfError::broken)??;
    }
    Ok(side)
}

async fn run<C: ClientConnection>(
    connection: C,
    lane: WorkLane,
    until: TaskDeadline,
    job: Job,
) -> Result<SideReport, PerfError> {
    let done = match lane {
        WorkLane::Down => take(&connection, &until, &job).await,
        WorkLane::Up => give(&connection, &until, &job).await,
        WorkLane::Ask { request, response } => {
            ask(&connection, &until, &job, request, response).await
        }
    };
    if lane.is_bulk() {
        until.bulk.fetch_sub(1, Ordering::Relaxed);
    }
    done
}

async fn take<C: ClientConnection>(
    connection: &C,
    until: &TaskDeadline,
    job: &Job,
) -> Result<SideReport, PerfError> {
    let (mut to, mut from) = connection.open().await?;
    let wanted = until.share.unwrap_or(ENDLESS);
    to.send(Bytes::copy_from_slice(&wanted.to_be_bytes()))
        .await?;
    to.finish()?;
    let mut side = SideReport::default();
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

/// Sends, and ends when the server has received everything.
async fn give<C: ClientConnection>(
    connection: &C,
    until: &TaskDeadline,
    job: &Job,
) -> Result<SideReport, PerfError> {
    let (mut to, mut from) = connection.open().await?;
    to.send(Bytes::from_static(&[0; STREAM_HEAD])).await?;
    let payload = Bytes::from(vec![0x5a; job.knobs.write_size]);
    let all = until.share.unwrap_or(ENDLESS);
    let mut side = SideReport::default();
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
    let heard = timeout(PEER_TIMEOUT, drain(&mut from, |piece| came += piece.len())).await;
    heard.map_err(|_| PerfError::Silence(PEER_TIMEOUT))??;
    if came > 0 {
        return Err(PerfError::broken("the server sent unrequested data"));
    }
    Ok(side)
}

async fn ask<C: ClientConnection>(
    connection: &C,
    until: &TaskDeadline,
    job: &Job,
    request: u64,
    response: u64,
) -> Result<SideReport, PerfError> {
    let mut message = response.to_be_bytes().to_vec();
    message.resize(STREAM_HEAD + request as usize, 0x5a);
    let message = Bytes::from(message);
    let counts_bytes = matches!(job.work.amount, Amount::Bytes(_));
    let mut side = SideReport::default();
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
                "an answer did not have the requested length",
            ));
        }
        side.sent += request;
        side.received += came;
        side.latencies.record(asked.elapsed());
    }
}
