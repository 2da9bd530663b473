//! How long a connection lives without a sign of the peer, and when a PING keeps it alive. RFC 9000
//! §10.1.

use std::time::Duration;

use crate::{Time, Transport};

#[derive(Debug)]
pub(super) struct Idle {
    /// The shorter of what the two sides want; zero: for ever.
    timeout: Duration,
    keep_alive: Option<Duration>,
    /// When something came last, or when something was sent that asks for an answer, for the first
    /// time since.
    alive: Time,
    /// Something that asks for an answer was sent since something came.
    asked_since_received: bool,
    /// When something was sent that asks for an answer.
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

    /// The peer's max_idle_timeout; zero: it wants none.
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

    /// Something was sent that asks for an answer.
    #[inline]
    pub(super) fn on_eliciting_sent(&mut self, now: Time) {
        self.last_sent = now;
        // The first since something came counts as a sign of life.
        if !self.asked_since_received {
            self.asked_since_received = true;
            self.alive = now;
        }
    }

    /// At least three times the probe timeout.
    pub(super) fn deadline(&self, pto: Duration) -> Option<Time> {
        (!self.timeout.is_zero()).then(|| self.alive.after(self.timeout.max(3 * pto)))
    }

    /// When a PING is to be sent.
    pub(super) fn keep_alive_deadline(&self) -> Option<Time> {
        Some(self.last_sent.after(self.keep_alive?))
    }

    pub(super) fn on_keep_alive(&mut self, now: Time) {
        self.last_sent = now;
    }
}
