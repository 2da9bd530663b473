//! Everything that time alone brings about.

use std::time::Duration;

use super::{Connection, State};
use crate::Time;
use crate::crypto::Level;
use crate::recovery::Timeout;
use crate::space::Space;

#[derive(Debug)]
pub(super) struct Timers {
    /// How long nothing may come: the shorter of what the two sides want; zero: for ever. RFC 9000 §10.1.
    pub(super) idle: Duration,
    /// When something came last, or when something was sent that asks for an answer, for the first time since.
    pub(super) alive: Time,
    /// Something that asks for an answer was sent since something came.
    pub(super) asked_since_received: bool,
    /// When something was sent that asks for an answer.
    pub(super) last_sent: Time,
    /// The end of closing or draining.
    pub(super) close: Option<Time>,
    /// A server forgets the keys of 0-RTT. RFC 9001 §4.9.3.
    pub(super) early_keys: Option<Time>,
}

impl Timers {
    pub(super) fn new(now: Time, idle: Duration) -> Self {
        Self {
            idle,
            alive: now,
            asked_since_received: false,
            last_sent: now,
            close: None,
            early_keys: None,
        }
    }
}

impl Connection {
    /// When `on_timeout` is to be called, or `transmit`: both, then.
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Open => {}
            State::Closing | State::Draining => return self.timers.close,
            State::Drained => return None,
        }
        // What must not be sent now makes nobody wait. RFC 9000 §8.1.
        let sends = self.paths.active.credit() >= super::LEAST_PACKET;
        [
            self.recovery.deadline(self.progress()),
            self.received[Space::Data.index()]
                .deadline()
                .filter(|_| sends),
            self.idle_deadline(),
            self.keep_alive_deadline(),
            self.recovery.paced().filter(|_| sends),
            self.timers.early_keys,
            self.old_keys_deadline(),
            self.paths.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub fn on_timeout(&mut self, now: Time) {
        self.clock = now;
        match self.state {
            State::Open => {}
            State::Closing | State::Draining => {
                if is_due(self.timers.close, now) {
                    self.state = State::Drained;
                }
                return;
            }
            State::Drained => return,
        }
        if is_due(self.idle_deadline(), now) {
            return self.time_out();
        }
        if is_due(self.recovery.deadline(self.progress()), now) {
            self.on_recovery_timeout(now);
        }
        if is_due(self.paths.deadline(), now) {
            self.on_path_timeout(now);
        }
        if is_due(self.keep_alive_deadline(), now) {
            self.control.ping = true;
            self.timers.last_sent = now;
        }
        if is_due(self.timers.early_keys, now) {
            self.timers.early_keys = None;
            self.crypto.discard(Level::Early);
        }
        self.recovery.forget_paced(now);
        self.crypto.forget_old_keys(now, 3 * self.recovery.pto());
    }

    fn on_recovery_timeout(&mut self, now: Time) {
        let progress = self.progress();
        let timeout =
            self.settle(|recovery, feedback| recovery.on_timeout(now, progress, feedback));
        self.stats.probe_timeouts += u64::from(matches!(timeout, Timeout::Probe { .. }));
    }

    #[inline]
    pub(super) fn restart_idle(&mut self, now: Time) {
        self.timers.alive = now;
    }

    /// At least three times the probe timeout. RFC 9000 §10.1.
    fn idle_deadline(&self) -> Option<Time> {
        let idle = self.timers.idle;
        (!idle.is_zero()).then(|| self.timers.alive.after(idle.max(3 * self.recovery.pto())))
    }

    /// RFC 9001 §6.5.
    fn old_keys_deadline(&self) -> Option<Time> {
        let since = self.crypto.old_keys_since()?;
        Some(since.after(3 * self.recovery.pto()))
    }

    fn keep_alive_deadline(&self) -> Option<Time> {
        let every = self.config.keep_alive?;
        let may = self.handshake.is_complete && !self.control.ping;
        may.then(|| self.timers.last_sent.after(every))
    }
}

fn is_due(deadline: Option<Time>, now: Time) -> bool {
    deadline.is_some_and(|deadline| deadline <= now)
}
