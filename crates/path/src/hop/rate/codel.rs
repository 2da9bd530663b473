//! CoDel, the controlled-delay queue (RFC 8289 §5): once no packet has waited less than the target
//! for a whole interval, one is dropped, then further ones at ever shorter intervals, until the
//! queue is short again.

use std::time::Duration;

use super::backlog::{Backlog, QueuedPacket};
use crate::hop::HopOutput;

/// The acceptable waiting time, and how long it may be exceeded (RFC 8289 §4.2 and §4.3).
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
/// The size of one packet: if no more bytes than this are waiting, there is no queue.
const ONE_PACKET: u64 = 1514;

#[derive(Debug, Default)]
pub(super) struct CoDel {
    /// The time at which the delay will have been above the target for a whole interval.
    first_above: Option<Duration>,
    dropping: bool,
    drop_next: Duration,
    /// The number of drops since dropping began, and that number when dropping last began.
    count: u32,
    last_count: u32,
}

impl CoDel {
    /// Takes the next packet to be sent; packets dropped before it go to `exit`.
    pub(super) fn next(
        &mut self,
        now: Duration,
        backlog: &mut Backlog,
        exit: &mut HopOutput,
    ) -> Option<QueuedPacket> {
        let (mut first, mut late) = self.take(now, backlog)?;
        if self.dropping {
            self.dropping = late;
            while self.dropping && now >= self.drop_next {
                drop_one(first, exit);
                self.count += 1;
                (first, late) = self.take(now, backlog)?;
                self.dropping = late;
                if late {
                    self.drop_next = self.law(self.drop_next);
                }
            }
        } else if late {
            drop_one(first, exit);
            let again = now.saturating_sub(self.drop_next) < INTERVAL * 16;
            let delta = self.count - self.last_count;
            self.count = if again && delta > 1 { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.law(now);
            self.dropping = true;
            (first, _) = self.take(now, backlog)?;
        }
        Some(first)
    }

    /// Takes the first packet of the queue, and returns whether it can be dropped.
    fn take(&mut self, now: Duration, backlog: &mut Backlog) -> Option<(QueuedPacket, bool)> {
        let Some(first) = backlog.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let is_short = now.saturating_sub(first.since) < TARGET || backlog.bytes() <= ONE_PACKET;
        let since = match (is_short, self.first_above) {
            (true, _) => None,
            (false, None) => Some(now + INTERVAL),
            (false, above) => above,
        };
        let late = since.is_some_and(|since| now >= since);
        self.first_above = since;
        Some((first, late))
    }

    fn law(&self, from: Duration) -> Duration {
        from + INTERVAL.div_f64(f64::from(self.count.max(1)).sqrt())
    }
}

fn drop_one(waiting: QueuedPacket, exit: &mut HopOutput) {
    exit.lose(waiting.packet, waiting.way, "codel");
}
