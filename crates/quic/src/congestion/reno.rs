//! NewReno as QUIC has it. RFC 9002 §7.3.

use std::time::Duration;

use super::{Acknowledged, Controller, Lost, Window};
use crate::Time;

#[derive(Debug)]
pub(super) struct Reno {
    window: Window,
    /// Bytes acknowledged since the window last grew by a datagram.
    acknowledged: u64,
    before: Option<Window>,
}

impl Reno {
    pub(super) fn new(datagram: u16) -> Self {
        Self {
            window: Window::new(datagram),
            acknowledged: 0,
            before: None,
        }
    }

    fn reduce(&mut self, now: Time, sent: Time) -> bool {
        if self.window.is_recovering(sent) {
            return false;
        }
        self.before = Some(self.window.clone());
        self.window.reduce(now, self.window.bytes / 2);
        self.acknowledged = 0;
        true
    }
}

impl Controller for Reno {
    fn on_sent(&mut self, _now: Time, _bytes: u64, _in_flight_before: u64) {}

    fn on_acknowledged(&mut self, told: &Acknowledged) {
        if told.app_limited || self.window.is_recovering(told.sent) {
            return;
        }
        if self.is_slow_start() {
            self.window.slow_start(told);
            return;
        }
        self.acknowledged += told.bytes;
        while self.acknowledged >= self.window.bytes {
            self.acknowledged -= self.window.bytes;
            self.window.bytes += self.window.datagram;
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.reduce(lost.now, lost.sent);
        if lost.persistent {
            self.window.collapse();
            self.before = None;
        }
    }

    fn on_marked(&mut self, now: Time, sent: Time) {
        if self.reduce(now, sent) {
            self.before = None;
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.before.take() {
            self.window = before;
        }
    }

    fn window(&self) -> u64 {
        self.window.bytes
    }

    fn pacing_rate(&self, smoothed: Duration) -> u64 {
        self.window.pacing_rate(smoothed)
    }

    fn set_datagram(&mut self, size: u16) {
        self.window.set_datagram(size);
    }

    fn is_slow_start(&self) -> bool {
        self.window.is_slow_start()
    }
}
