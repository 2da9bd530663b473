//! The common state of Reno and CUBIC: a window, a threshold, and the period in which one reduction
//! suffices.

use std::time::Duration;

use super::Acknowledged;
use super::hystart::Hystart;
use crate::Time;

/// RFC 9002 §7.2: ten datagrams, but at most this many bytes unless two datagrams are larger.
const INITIAL: u64 = 14_720;

#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) bytes: u64,
    pub(super) threshold: u64,
    pub(super) datagram: u64,
    hystart: Hystart,
    /// Whether slow start has seen a queue. It then no longer sends at twice the known rate, which
    /// would lengthen the queue.
    is_gentle: bool,
    /// Packets sent before this time belong to a congestion event that was already answered. RFC
    /// 9002 §7.3.2.
    recovery: Option<Time>,
}

impl Window {
    pub(super) fn new(datagram: u16) -> Self {
        let datagram = u64::from(datagram);
        Self {
            bytes: (10 * datagram).min(INITIAL.max(2 * datagram)),
            threshold: u64::MAX,
            datagram,
            hystart: Hystart::default(),
            is_gentle: false,
            recovery: None,
        }
    }

    pub(super) fn in_datagrams(&self) -> f64 {
        self.bytes as f64 / self.datagram as f64
    }

    pub(super) fn is_slow_start(&self) -> bool {
        self.bytes < self.threshold
    }

    pub(super) fn is_recovering(&self, sent: Time) -> bool {
        self.recovery.is_some_and(|since| sent <= since)
    }

    pub(super) fn slow_start(&mut self, told: &Acknowledged) {
        let (growth, over) = self.hystart.grow(told);
        self.is_gentle |= self.hystart.is_conservative();
        self.bytes = self.bytes.saturating_add(growth);
        if over {
            self.threshold = self.bytes;
        }
    }

    pub(super) fn reduce(&mut self, now: Time, to: u64) {
        self.recovery = Some(now);
        self.threshold = to.max(self.least());
        self.bytes = self.threshold;
    }

    /// Reduces the window to its minimum, after persistent congestion. RFC 9002 §7.6.2.
    pub(super) fn collapse(&mut self) {
        self.bytes = self.least();
        self.hystart = Hystart::default();
        self.is_gentle = false;
        self.recovery = None;
    }

    /// RFC 9002 §7.2.
    fn least(&self) -> u64 {
        2 * self.datagram
    }

    /// One window in a round trip, and a little more, so that pacing is never the limit; in slow
    /// start twice as much, until a queue forms. RFC 9002 §7.7.
    pub(super) fn pacing_rate(&self, smoothed: Duration) -> u64 {
        let nanos = smoothed.as_nanos().max(1);
        let doubles = self.is_slow_start() && !self.is_gentle;
        let (more, of) = if doubles { (2, 1) } else { (5, 4) };
        let rate = u128::from(self.bytes) * 1_000_000_000 * more / of / nanos;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Sets the datagram size. If it grows, nothing has been sent or lost yet: the first window is
    /// counted in datagrams.
    pub(super) fn set_datagram(&mut self, size: u16) {
        self.datagram = u64::from(size);
        self.bytes = self.bytes.max(self.least());
    }
}
