//! The server's answers: on each stream, it sends as many bytes as the stream's head requests.
//! Counts the total.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{ReceiveHalf, SendHalf, ServerConnection, drain, part_of};
use crate::account::CpuMeter;
use crate::engine::{Job, SideReport, WireCounters};
use crate::error::PerfError;
use crate::protocol::StreamHead;

/// The count of answers, shared by the streams of all connections.
pub(in crate::engine) struct AnswerCounter {
    /// Starts with the first stream.
    meter: OnceLock<CpuMeter>,
    sent: AtomicU64,
    received: AtomicU64,
    payload: Bytes,
    pub(in crate::engine) job: Job,
}

/// Runs until the connection has ended.
pub(in crate::engine) async fn answer_streams(
    mut connection: impl ServerConnection,
    counter: Arc<AnswerCounter>,
) {
    let mut streams = JoinSet::new();
    while let Some((to, from)) = connection.accept().await {
        counter.begin();
        let counter = counter.clone();
        // An error affects only its stream: the client counts what it received.
        streams.spawn(async move { counter.answer(to, from).await.ok() });
        while streams.try_join_next().is_some() {}
    }
}

impl AnswerCounter {
    pub(in crate::engine) fn new(job: Job) -> Self {
        Self {
            meter: OnceLock::new(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            payload: Bytes::from(vec![0x5a; job.knobs.write_size]),
            job,
        }
    }

    fn begin(&self) {
        self.meter.get_or_init(|| CpuMeter::start(self.job.core));
    }

    async fn answer(
        &self,
        mut to: impl SendHalf,
        mut from: impl ReceiveHalf,
    ) -> Result<(), PerfError> {
        let mut head = StreamHead::default();
        let asked = drain(&mut from, |piece| {
            let body = head.take(piece).len();
            self.received.fetch_add(body as u64, Ordering::Relaxed);
            self.job.pulse.add(body);
        });
        asked.await?;
        let mut left = head
            .wanted()
            .ok_or_else(|| PerfError::broken("it has no head"))?;
        while left > 0 {
            let part = part_of(&self.payload, left);
            let n = part.len() as u64;
            to.send(part).await?;
            left -= n;
            self.sent.fetch_add(n, Ordering::Relaxed);
        }
        to.finish()
    }

    pub(in crate::engine) fn side(&self, wire: WireCounters) -> SideReport {
        SideReport {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            usage: self.meter.get().map(CpuMeter::read).unwrap_or_default(),
            wire,
            ..SideReport::default()
        }
    }
}
