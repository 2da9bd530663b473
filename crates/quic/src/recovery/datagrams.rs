//! The size of datagrams: informs the search about acknowledgements and losses, and congestion
//! control about the size. RFC 8899.

use std::net::IpAddr;

use super::{Allowance, Feedback, Recovery};
use crate::Time;

impl Recovery {
    /// The current size of UDP payloads.
    #[inline]
    pub(crate) fn datagram(&self) -> u16 {
        self.mtu.current()
    }

    /// The client's first datagram was of that size: a server's path carries it, though in the
    /// other direction.
    pub(crate) fn on_first_datagram(&mut self, size: u16) {
        self.mtu.on_first_datagram(size);
        self.controller.set_datagram(self.mtu.current());
    }

    /// The peer's max_udp_payload_size.
    pub(crate) fn on_peer_max_datagram(&mut self, size: u64) {
        self.mtu.on_peer_max(size);
        self.controller.set_datagram(self.mtu.current());
    }

    /// Call this if the socket did not accept all of the newest burst. The rest is sent again once
    /// it counts as lost, which says nothing about the path.
    pub(crate) fn on_unsent(&mut self) {
        self.bursts.current_mut().is_withheld = true;
    }

    /// The system refused to send a datagram of that size.
    pub(crate) fn on_too_big(&mut self, size: u16) {
        self.mtu.too_big(size);
        self.controller.set_datagram(self.mtu.current());
    }

    pub(super) fn begin_search(&mut self, remote: IpAddr) {
        self.mtu.on_new_path(remote);
    }

    /// The size of the probe that leaves now, if one is due, congestion control permits it, and it
    /// is at most `room`. RFC 8899 §4.
    pub(crate) fn mtu_probe(&mut self, now: Time, room: usize) -> Option<u16> {
        let probe = self.mtu.probe(now)?;
        if usize::from(probe) > room {
            return None;
        }
        let allowance = self.allowance(now, probe, 1);
        matches!(allowance, Allowance::Packets(_)).then_some(probe)
    }

    pub(crate) fn on_mtu_probe_sent(&mut self, size: u16) {
        self.mtu.on_probe_sent(size);
    }

    pub(crate) fn on_mtu_probe_acked(&mut self, size: u16) {
        if self.mtu.on_probe_acked(size) {
            self.controller.set_datagram(self.mtu.current());
        }
    }

    pub(crate) fn on_mtu_probe_lost(&mut self, size: u16) {
        self.mtu.on_probe_lost(size);
    }

    /// Reads from `feedback` whether the path still carries large datagrams. Call it once for each
    /// acknowledgement and each timeout, after the items in it.
    pub(crate) fn on_sizes(&mut self, feedback: &Feedback) {
        if let Some(size) = feedback.lost_size
            && self.mtu.on_lost(size)
        {
            self.controller.set_datagram(self.mtu.current());
        }
        if feedback.acked_size > 0 {
            self.mtu.on_acked(feedback.acked_size);
        }
    }

    /// A probe timeout: nothing is acknowledged any more, and the size may be why.
    pub(super) fn suspect_size(&mut self, is_handshake_complete: bool) {
        let falls = if is_handshake_complete {
            self.mtu.on_probe_timeout(self.ptos_in_a_row)
        } else {
            self.mtu.on_handshake_timeout(self.ptos_in_a_row)
        };
        if falls {
            self.controller.set_datagram(self.mtu.current());
        }
    }
}
