//! Everything that happens because time has passed.

use super::{Connection, MIN_PACKET};
use crate::Time;
use crate::error::CloseReason;
use crate::recovery::Timeout;
use crate::space::Space;

impl Connection {
    /// When to call [`Connection::on_timeout`], and then [`Connection::transmit`].
    pub fn deadline(&self) -> Option<Time> {
        if !self.closing.is_open() {
            return self.closing.deadline();
        }
        // What must not be sent now sets no timer. RFC 9000 §8.1.
        let sends = self.paths.credit() >= MIN_PACKET;
        let pto = self.recovery.pto();
        [
            self.recovery.deadline(self.progress()),
            self.received[Space::Data.index()]
                .deadline()
                .filter(|_| sends),
            self.idle.deadline(pto),
            self.keep_alive_deadline(),
            self.streams.hole_deadline(),
            self.recovery.paced().filter(|_| sends),
            self.crypto.deadline(3 * pto),
            self.paths.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Handles every timer that has expired by `now`. Afterwards there may be something to poll and
    /// to transmit.
    pub fn on_timeout(&mut self, now: Time) {
        self.clock = now;
        if !self.closing.is_open() {
            return self.closing.on_timeout(now);
        }
        if is_due(self.idle.deadline(self.recovery.pto()), now) {
            return self.give_up(CloseReason::TimedOut);
        }
        if is_due(self.recovery.deadline(self.progress()), now) {
            let progress = self.progress();
            let timeout =
                self.settle(|recovery, feedback| recovery.on_timeout(now, progress, feedback));
            let is_probe = matches!(timeout, Timeout::Probe { .. });
            self.stats.probe_timeouts += u64::from(is_probe);
        }
        if is_due(self.paths.deadline(), now) {
            self.on_path_timeout(now);
        }
        if is_due(self.streams.hole_deadline(), now) {
            self.streams.give_up_holes(now, self.config.given_up_code);
        }
        if is_due(self.keep_alive_deadline(), now) {
            self.control.ping();
            self.idle.on_keep_alive(now);
        }
        self.recovery.forget_paced(now);
        self.crypto.on_timeout(now, 3 * self.recovery.pto());
    }

    /// A challenge got no answer. RFC 9000 §8.2.4 and §9.3.2.
    fn on_path_timeout(&mut self, now: Time) {
        let left = self.paths.remote();
        if let Some(moved) = self.paths.on_timeout(now) {
            self.remote_ids.move_to(left, self.paths.remote(), false);
            self.remote_ids.settle();
            self.recovery.set_blocked(false);
            if moved.left.is_some() {
                self.begin_on_path(moved.left);
            }
        }
    }

    /// When to send a PING. If one already waits, no other is sent.
    fn keep_alive_deadline(&self) -> Option<Time> {
        let may = self.handshake.is_complete() && !self.control.has_ping();
        self.idle.keep_alive_deadline().filter(|_| may)
    }
}

fn is_due(deadline: Option<Time>, now: Time) -> bool {
    deadline.is_some_and(|deadline| deadline <= now)
}
