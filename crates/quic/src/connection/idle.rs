//! The idle timeout, and the PINGs that keep a connection alive. RFC 9000 §10.1.

use std::time::Duration;

use crate::{Time, Transport};

#[derive(Debug)]
pub(super) struct Idle {
    /// The shorter of the two sides' timeouts; zero: no timeout.
    timeout: Duration,
    keep_alive: Option<Duration>,
    /// The last sign of life: the arrival of a packet, or the sending of the first ack-eliciting
    /// packet after it.
    alive: Time,
    /// Whether an ack-eliciting packet was sent since the last arrival.
    asked_since_received: bool,
    /// When something that asks for an answer was last sent.
    last_sent: Time,
}

impl Idle {
    pub(super) fn new(now: Time, config: &Transport) -> Self {
        Self {
            timeout: config.idle_timeout,
            keep_alive: config.keep_alive,
            alive: now,
            asked_since_received: false,
            last_sent: now,
        }
    }

    /// The peer's max_idle_timeout; zero: none.
    pub(super) fn on_peer_timeout(&mut self, theirs: Duration) {
        if !theirs.is_zero() {
            self.timeout = if self.timeout.is_zero() {
                theirs
            } else {
                self.timeout.min(theirs)
            };
        }
    }

    #[inline]
    pub(super) fn on_received(&mut self, now: Time) {
        self.asked_since_received = false;
        self.alive = now;
    }

    /// Notes that something that asks for an answer was sent.
    #[inline]
    pub(super) fn on_eliciting_sent(&mut self, now: Time) {
        self.last_sent = now;
        // The first such packet after an arrival counts as a sign of life.
        if !self.asked_since_received {
            self.asked_since_received = true;
            self.alive = now;
        }
    }

    /// When the connection times out: after at least three times the probe timeout.
    pub(super) fn deadline(&self, pto: Duration) -> Option<Time> {
        (!self.timeout.is_zero()).then(|| self.alive.after(self.timeout.max(3 * pto)))
    }

    /// When to send a PING.
    pub(super) fn keep_alive_deadline(&self) -> Option<Time> {
        Some(self.last_sent.after(self.keep_alive?))
    }

    pub(super) fn on_keep_alive(&mut self, now: Time) {
        self.last_sent = now;
    }
}
