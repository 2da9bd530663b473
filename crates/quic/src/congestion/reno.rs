//! NewReno as QUIC uses it. RFC 9002 §7.3.

use super::loss_based::Avoidance;
use super::{Acknowledged, Window};

#[derive(Debug, Clone, Default)]
pub(super) struct Reno {
    /// Bytes acknowledged since the window last grew by a datagram.
    acknowledged: u64,
}

impl Avoidance for Reno {
    fn grow(&mut self, window: &mut Window, told: &Acknowledged) {
        self.acknowledged += told.bytes;
        while self.acknowledged >= window.bytes {
            self.acknowledged -= window.bytes;
            window.bytes += window.datagram;
        }
    }

    fn on_app_limited(&mut self, _window: &Window, _told: &Acknowledged) {}

    fn reduce(&mut self, window: &Window) -> u64 {
        self.acknowledged = 0;
        window.bytes / 2
    }

    fn on_collapse(&mut self) {}

    fn undo(&mut self, _before: Self) {}
}
