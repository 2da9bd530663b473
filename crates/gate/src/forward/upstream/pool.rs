//! One thread's connections to one server: how many there may be, and which of the unused ones can
//! still be used. It reads no clock and opens nothing; `pools` does the former, `group` the latter.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::counts::ThreadCounts;

/// A connection in a pool.
pub(super) trait Poolable {
    /// Whether the connection is open and has no unexpected bytes.
    fn is_quiet(&mut self) -> bool;
    /// Like [`Self::is_quiet`], but asks the kernel, so that nothing that has arrived is
    /// overlooked.
    fn is_quiet_now(&mut self) -> bool;
    /// Closes the connection from our side.
    fn close(self);
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: usize,
    pub(super) idle: usize,
    pub(super) idle_time: Duration,
    pub(super) age: Duration,
}

#[derive(Debug)]
pub(super) struct Pool<C> {
    /// The unused connections; the one used last is at the end.
    idle: VecDeque<Idle<C>>,
    /// The number of connections: unused, in use, or being opened.
    open: usize,
}

/// An unused connection.
#[derive(Debug)]
pub(super) struct PooledConnection<C> {
    pub(super) carrier: C,
    /// When the connection was opened.
    pub(super) since: Instant,
    /// The number of requests that the connection has carried.
    pub(super) carried: u32,
}

#[derive(Debug)]
struct Idle<C> {
    kept: PooledConnection<C>,
    until: Instant,
}

impl<C: Poolable> Pool<C> {
    pub(super) fn new() -> Self {
        Self {
            idle: VecDeque::new(),
            open: 0,
        }
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    pub(super) fn idle(&self) -> usize {
        self.idle.len()
    }

    /// Whether there is an unused connection, or room for a new one.
    pub(super) fn has_room(&self, bounds: &Bounds) -> bool {
        !self.idle.is_empty() || self.open < bounds.connections
    }

    /// Takes the connection used last, if it is still open. Closed ones are removed. `ask`: for a
    /// request that would be lost on a closed connection.
    pub(super) fn take(
        &mut self,
        ask: bool,
        now: Instant,
        bounds: &Bounds,
        counts: &ThreadCounts,
    ) -> Option<PooledConnection<C>> {
        while let Some(mut idle) = self.idle.pop_back() {
            let carrier = &mut idle.kept.carrier;
            if idle.until > now && carrier.is_quiet() && (!ask || carrier.is_quiet_now()) {
                return Some(idle.kept);
            }
            self.end(idle, now, bounds, counts);
        }
        None
    }

    /// Makes room for a new connection, which may require closing an unused one.
    pub(super) fn reserve(&mut self, bounds: &Bounds, counts: &ThreadCounts) {
        if self.open >= bounds.connections {
            self.discard(counts);
        }
        self.open += 1;
    }

    /// Counts a connection as gone: it was in use, or could not be opened.
    pub(super) fn release(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    pub(super) fn put(&mut self, kept: PooledConnection<C>, now: Instant, bounds: &Bounds) {
        let until = after(now, bounds.idle_time).min(after(kept.since, bounds.age));
        self.idle.push_back(Idle { kept, until });
    }

    /// Closes the oldest unused ones if there are more than may be kept.
    pub(super) fn trim(&mut self, bounds: &Bounds, counts: &ThreadCounts) {
        while self.idle.len() > bounds.idle {
            self.discard(counts);
        }
    }

    /// Closes connections before their servers do, and connections that their servers have closed.
    pub(super) fn reap(&mut self, now: Instant, bounds: &Bounds, counts: &ThreadCounts) {
        for _ in 0..self.idle.len() {
            let Some(mut idle) = self.idle.pop_front() else {
                return;
            };
            if idle.until > now && idle.kept.carrier.is_quiet() {
                self.idle.push_back(idle);
            } else {
                self.end(idle, now, bounds, counts);
            }
        }
    }

    /// When the first of the unused connections is due to be closed.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.idle.iter().map(|idle| idle.until).min()
    }

    fn discard(&mut self, counts: &ThreadCounts) {
        if let Some(idle) = self.idle.pop_front() {
            idle.kept.carrier.close();
            self.release();
            counts.surplus.add(1);
        }
    }

    fn end(&mut self, idle: Idle<C>, now: Instant, bounds: &Bounds, counts: &ThreadCounts) {
        let why = if after(idle.kept.since, bounds.age) <= now {
            &counts.aged
        } else if idle.until <= now {
            &counts.idled
        } else {
            &counts.left
        };
        why.add(1);
        idle.kept.carrier.close();
        self.release();
    }
}

/// `time` after `moment`; a year after it if the clock cannot show that.
pub(super) fn after(moment: Instant, time: Duration) -> Instant {
    const ENDLESS: Duration = Duration::from_hours(24 * 365);
    moment.checked_add(time).unwrap_or(moment + ENDLESS)
}
