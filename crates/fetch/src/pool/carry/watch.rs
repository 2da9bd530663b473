//! The deadlines of an exchange. None runs before the request has left its queue.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

use roundtrip_model::{Event, Recorder};
use tokio::time::{Instant, Sleep, sleep_until};

use super::super::Deadlines;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expired {
    FirstByte,
    Idle,
    Total,
}

/// Runs `exchange` within its deadlines: `own` records its events, `arrived` counts the bytes of
/// its body.
pub(super) async fn watched<T>(
    exchange: impl Future<Output = T>,
    own: &Recorder,
    arrived: &AtomicU64,
    deadlines: &Deadlines,
) -> Result<T, Expired> {
    let mut exchange = pin!(exchange);
    let mut stage = Stage::default();
    let mut sleep: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|cx| {
        if let Poll::Ready(outcome) = exchange.as_mut().poll(cx) {
            return Poll::Ready(Ok(outcome));
        }
        stage.follow(own, arrived.load(Relaxed));
        let Some((due, what)) = stage.due(deadlines) else {
            return Poll::Pending;
        };
        let sleep = sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if sleep.deadline() != due {
            sleep.as_mut().reset(due);
        }
        sleep.as_mut().poll(cx).map(|()| Err(what))
    })
    .await
}

/// The progress of an exchange, and its times.
#[derive(Default)]
struct Stage {
    left: Option<Instant>,
    /// The time when part of the answer last arrived.
    heard: Option<Instant>,
    arrived: u64,
}

impl Stage {
    fn follow(&mut self, own: &Recorder, arrived: u64) {
        let is_there = |event: &Event| own.last(|e| e == event).is_some();
        if self.left.is_none() && is_there(&Event::RequestStarted) {
            self.left = Some(Instant::now());
        }
        let began = self.heard.is_none() && is_there(&Event::FirstByte);
        if began || arrived > self.arrived {
            self.heard = Some(Instant::now());
            self.arrived = arrived;
        }
    }

    fn due(&self, deadlines: &Deadlines) -> Option<(Instant, Expired)> {
        let left = self.left?;
        let total = (left + deadlines.total, Expired::Total);
        let next = match self.heard {
            None => (left + deadlines.first_byte, Expired::FirstByte),
            Some(heard) => (heard + deadlines.idle, Expired::Idle),
        };
        Some(if next.0 < total.0 { next } else { total })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use roundtrip_model::Moment;
    use tokio::time::sleep;

    use super::*;

    const DEADLINES: Deadlines = Deadlines {
        connect: Duration::ZERO,
        first_byte: Duration::from_secs(5),
        idle: Duration::from_secs(2),
        total: Duration::from_secs(20),
    };

    /// Sends a request after `queued`, receives the head after `head`, and then `pieces` pieces,
    /// each after `every`.
    async fn exchange(
        queued: u64,
        head: u64,
        pieces: u64,
        every: u64,
    ) -> (Result<(), Expired>, u64) {
        let began = Instant::now();
        let own = Recorder::new(Arc::new(Moment::ZERO));
        let arrived = AtomicU64::new(0);
        let work = async {
            sleep(Duration::from_secs(queued)).await;
            own.record(Event::RequestStarted);
            sleep(Duration::from_secs(head)).await;
            own.record(Event::FirstByte);
            for _ in 0..pieces {
                sleep(Duration::from_secs(every)).await;
                arrived.fetch_add(1, Relaxed);
            }
        };
        let outcome = watched(work, &own, &arrived, &DEADLINES).await;
        (outcome, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_has_its_deadline() {
        assert_eq!(exchange(0, 4, 3, 1).await, (Ok(()), 7));
        assert_eq!(exchange(1000, 4, 3, 1).await, (Ok(()), 1007));
        assert_eq!(exchange(9, 6, 0, 0).await, (Err(Expired::FirstByte), 14));
        assert_eq!(exchange(0, 1, 1, 3).await, (Err(Expired::Idle), 3));
        assert_eq!(exchange(3, 1, 100, 1).await, (Err(Expired::Total), 23));
    }
}
