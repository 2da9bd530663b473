//! One direction's loop: fetch what has arrived, release what is due, sleep until either happens.
//!
//! A packet is due its delay after the kernel stamped its arrival, so that neither this thread's wake-up nor a burst
//! before it adds to the delay. The thread sleeps until shortly before the next release and spins the last stretch.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Route;
use super::frame::{self, HEADERS};
use super::margin::Margin;
use crate::counters::Ledger;
use crate::link::Verdict;
use crate::syscall::packet::{self, Arrival};
use crate::syscall::{child, time};

/// Frames fetched before looking at the clock again.
const BATCH: usize = 32;

/// Bytes under way that the relay holds at most in one direction: 10 Gbit/s for 100 ms.
const CAPACITY: usize = 128 << 20;

/// The longest frame that a packet socket hands out: a super-segment with its headers.
const LONGEST: usize = HEADERS + 65_536;

pub(super) struct Lane {
    route: Route,
    from: Arc<OwnedFd>,
    to: Arc<OwnedFd>,
    stop: Arc<OwnedFd>,
    ledger: Arc<Mutex<Ledger>>,
    under_way: VecDeque<Delayed>,
    /// The bytes in `under_way`.
    held: usize,
    margin: Margin,
}

/// A frame and when to release it, on the monotonic clock.
struct Delayed {
    due: Duration,
    bytes: Vec<u8>,
}

impl Lane {
    pub(super) fn new(
        route: Route,
        from: Arc<OwnedFd>,
        to: Arc<OwnedFd>,
        stop: Arc<OwnedFd>,
        ledger: Arc<Mutex<Ledger>>,
    ) -> Self {
        Self {
            route,
            from,
            to,
            stop,
            ledger,
            under_way: VecDeque::new(),
            held: 0,
            margin: Margin::default(),
        }
    }

    pub(super) fn run(mut self) {
        // Both are best effort: without them the relay is less exact, or sees its host's signals.
        let _ = child::block_signals();
        let _ = time::sharpen_timers();
        let mut buffer = vec![0; LONGEST];
        loop {
            let fetched_all = self.fetch(&mut buffer);
            self.release();
            if fetched_all && self.rest() == Rest::Stop {
                return;
            }
        }
    }

    /// Takes in frames that have arrived, and tells whether those were all.
    fn fetch(&mut self, buffer: &mut [u8]) -> bool {
        for _ in 0..BATCH {
            match packet::receive(self.from.as_fd(), buffer) {
                Ok(arrival) => {
                    if let Some(bytes) = buffer.get_mut(..arrival.length) {
                        self.take_in(bytes, arrival);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing more, or the wire's other end is going away.
                Err(_) => return true,
            }
        }
        // This much at once: the kernel may have had to throw some away.
        let missed = packet::take_missed(self.from.as_fd()).unwrap_or(0);
        lock(&self.ledger).tally.missed += missed;
        false
    }

    fn take_in(&mut self, bytes: &mut [u8], arrival: Arrival) {
        if !frame::is_for(bytes, self.route.destination) {
            return;
        }
        let now = time::monotonic();
        let age = arrival.stamp.map_or(Duration::ZERO, |stamp| {
            time::realtime().saturating_sub(stamp)
        });
        let verdict = {
            let mut ledger = lock(&self.ledger);
            let tally = &mut ledger.tally;
            let length = frame::packet_mut(bytes).len();
            tally.packets += 1;
            tally.bytes += length as u64;
            tally.oversized += u64::from(length > usize::from(self.route.mtu));
            let verdict = self.route.link.admit(tally.packets);
            tally.dropped += u64::from(verdict == Verdict::Drop);
            tally.missed += u64::from(self.held > CAPACITY);
            verdict
        };
        if verdict == Verdict::Drop || self.held > CAPACITY {
            return;
        }
        frame::complete_checksum(bytes);
        for middlebox in &mut self.route.boxes {
            middlebox.pass(frame::packet_mut(bytes));
        }
        self.held += bytes.len();
        self.under_way.push_back(Delayed {
            due: now.saturating_sub(age) + self.route.link.delay,
            bytes: bytes.to_vec(),
        });
    }

    /// Sends all whose time has come.
    fn release(&mut self) {
        while let Some(first) = self.under_way.front() {
            let now = time::monotonic();
            let Some(late) = now.checked_sub(first.due) else {
                return;
            };
            // Locked before: whoever has received a packet finds it counted.
            let mut ledger = lock(&self.ledger);
            let sent = packet::send(self.to.as_fd(), &first.bytes);
            ledger.tally.delivered += u64::from(sent.is_ok());
            ledger.tally.missed += u64::from(sent.is_err());
            ledger.lateness.record(late);
            self.held = self.held.saturating_sub(first.bytes.len());
            drop(ledger);
            self.under_way.pop_front();
        }
    }

    /// Sleeps until a frame arrives or one is nearly due; spins the last stretch before it is, if that is granted.
    fn rest(&mut self) -> Rest {
        let now = time::monotonic();
        let due = self.under_way.front().map(|next| next.due);
        let left = due.map(|due| due.saturating_sub(now));
        if let Some(due) = due.filter(|due| self.margin.grant(now, due.saturating_sub(now))) {
            while time::monotonic() < due {
                std::hint::spin_loop();
            }
            return Rest::Go;
        }
        let margin = self.margin.length();
        // Within the margin but not granted: sleeping, if late, is what is left.
        let sleep = left.map(|left| left.checked_sub(margin).unwrap_or(left));
        match time::wait_readable([self.from.as_fd(), self.stop.as_fd()], sleep) {
            [_, true] => return Rest::Stop,
            [true, false] => {}
            [false, false] => {
                let planned = now + sleep.unwrap_or_default();
                self.margin.learn(time::monotonic().saturating_sub(planned));
            }
        }
        Rest::Go
    }
}

/// What to do after a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Go,
    Stop,
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
