//! The results of an acknowledgement or a timer, for the streams, the handshake and the connection.

use std::time::Duration;

use crate::sent::{Chunk, SentFrame};
use crate::space::Space;

/// Each connection keeps one, and clears it after reading it.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    /// Stream data that arrived: consecutive bytes of one stream are one run.
    pub(crate) acked: Vec<Chunk>,
    /// Stream data to be sent again. Some of it may still be acknowledged later.
    pub(crate) lost: Vec<Chunk>,
    pub(crate) acked_items: Vec<(Space, SentFrame)>,
    pub(crate) lost_items: Vec<(Space, SentFrame)>,
    /// The largest newly acknowledged packet number.
    pub(crate) newest: Option<u64>,
    /// Packets newly acknowledged.
    pub(crate) acked_packets: u64,
    /// The packets declared lost, if they are logged.
    pub(crate) lost_numbers: Option<Vec<(Space, u64)>>,
    /// Packets declared lost, and their bytes in flight.
    pub(crate) lost_packets: u64,
    pub(crate) lost_bytes: u64,
    /// The age of the oldest lost packet that asked for an acknowledgement.
    pub(crate) lost_after: Duration,
    /// Packets that had been declared lost but arrived.
    pub(crate) spurious: u64,
    /// The largest acknowledged datagram, 0 if there is none. For `Mtu::on_acked`.
    pub(crate) acked_size: u16,
    /// The smallest lost datagram, without path probes, if the losses began a congestion event. For
    /// `Mtu::on_lost`.
    pub(crate) lost_size: Option<u16>,
}

impl Feedback {
    pub(crate) fn clear(&mut self) {
        let mut before = std::mem::take(self);
        before.acked.clear();
        before.lost.clear();
        before.acked_items.clear();
        before.lost_items.clear();
        if let Some(numbers) = &mut before.lost_numbers {
            numbers.clear();
        }
        self.acked = before.acked;
        self.lost = before.lost;
        self.acked_items = before.acked_items;
        self.lost_items = before.lost_items;
        self.lost_numbers = before.lost_numbers;
    }

    #[cfg(test)]
    pub(crate) fn newly_acked(&self) -> bool {
        self.newest.is_some()
    }
}
