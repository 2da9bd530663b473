//! The size of datagrams: fixed, mirrored, or searched for. RFC 8899.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use crate::{DatagramSize, Time};

/// Every path of QUIC carries this size. RFC 9000 §14.1.
pub(crate) const BASE: u16 = 1200;
/// A size is too large when this many probes of it are lost. RFC 8899 §5.1.2.
const MAX_PROBES: u8 = 3;
/// The search ends when less than this can be gained.
const GAIN: u16 = 16;
/// How long until a larger size is tried again. RFC 8899 §5.1.1.
const RAISE: Duration = Duration::from_mins(10);
/// How long until the search starts again after a black hole.
const PAUSE: Duration = Duration::from_mins(1);
/// After this many losses in a row that hit only large datagrams, the path has stopped carrying
/// them.
const SUSPICIOUS: u8 = 3;

/// The datagram size of one path.
#[derive(Debug)]
pub(crate) struct Mtu {
    kind: DatagramSize,
    /// The size of the client's first datagram; only a server knows it. The path carried it, though
    /// in the other direction.
    first_seen: Option<u16>,
    /// The peer's max_udp_payload_size.
    peer_max: u64,
    /// The largest UDP payload that the interface carries.
    interface_max: u16,
    current: u16,
    /// The largest size that both the peer and the interface accept.
    limit: u16,
    /// The largest size that this search tries.
    ceiling: u16,
    search: MtuSearch,
    /// The probe in flight.
    probe: Option<u16>,
    /// How many probes of the current size were lost.
    lost_probes: u8,
    /// How many losses in a row hit only large datagrams.
    suspicions: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MtuSearch {
    Never,
    Running,
    /// The search has ended. It starts again after this time, counted from the next request for a
    /// probe.
    Rests(Duration),
    Until(Time),
}

impl Mtu {
    /// Makes the state for a path to `remote`, with a peer whose limits are not known yet.
    pub(crate) fn new(kind: DatagramSize, remote: IpAddr) -> Self {
        Self::with(kind, None, u64::from(u16::MAX), interface_max(remote))
    }

    fn with(
        kind: DatagramSize,
        first_seen: Option<u16>,
        peer_max: u64,
        interface_max: u16,
    ) -> Self {
        let limit = u16::try_from(peer_max)
            .unwrap_or(u16::MAX)
            .min(interface_max)
            .max(BASE);
        let (current, search) = match (kind, first_seen) {
            (DatagramSize::Fixed(size), _) | (DatagramSize::Mirror, Some(size)) => {
                (size.clamp(BASE, limit), MtuSearch::Never)
            }
            (DatagramSize::Discover, Some(size)) => (size.clamp(BASE, limit), MtuSearch::Running),
            (DatagramSize::Mirror | DatagramSize::Discover, None) => (BASE, MtuSearch::Running),
        };
        Self {
            kind,
            first_seen,
            peer_max,
            interface_max,
            current,
            limit,
            ceiling: limit,
            search,
            probe: None,
            lost_probes: 0,
            suspicions: 0,
        }
    }

    /// Starts again with the size of the client's first datagram.
    pub(crate) fn on_first_datagram(&mut self, size: u16) {
        *self = Self::with(self.kind, Some(size), self.peer_max, self.interface_max);
    }

    /// Starts again with the peer's max_udp_payload_size.
    pub(crate) fn on_peer_max(&mut self, peer_max: u64) {
        *self = Self::with(self.kind, self.first_seen, peer_max, self.interface_max);
    }

    /// Starts again on an unknown path. RFC 9000 §9.4.
    pub(crate) fn on_new_path(&mut self, remote: IpAddr) {
        let first_seen = match self.kind {
            DatagramSize::Discover => None,
            DatagramSize::Fixed(_) | DatagramSize::Mirror => self.first_seen,
        };
        *self = Self::with(self.kind, first_seen, self.peer_max, interface_max(remote));
    }

    /// The current size of datagrams.
    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    /// The size of a probe that should leave now. The largest is tried first, since it is usually
    /// right.
    pub(crate) fn probe(&mut self, now: Time) -> Option<u16> {
        match self.search {
            MtuSearch::Rests(span) => self.search = MtuSearch::Until(now.after(span)),
            MtuSearch::Until(time) if time <= now => {
                self.search = MtuSearch::Running;
                self.ceiling = self.limit;
            }
            _ => {}
        }
        if self.search != MtuSearch::Running || self.probe.is_some() {
            return None;
        }
        if self.ceiling.saturating_sub(self.current) < GAIN && self.ceiling < self.limit
            || self.ceiling <= self.current
        {
            self.search = MtuSearch::Until(now.after(RAISE));
            return None;
        }
        Some(self.candidate())
    }

    fn candidate(&self) -> u16 {
        if self.ceiling == self.limit {
            self.limit
        } else {
            self.current + (self.ceiling - self.current).div_ceil(2)
        }
    }

    pub(crate) fn on_probe_sent(&mut self, size: u16) {
        self.probe = Some(size);
    }

    /// Returns whether datagrams may now be larger.
    pub(crate) fn on_probe_acked(&mut self, size: u16) -> bool {
        if self.probe == Some(size) {
            self.probe = None;
            self.lost_probes = 0;
        }
        let grows = size > self.current && size <= self.limit && self.search == MtuSearch::Running;
        if grows {
            self.current = size;
            self.ceiling = self.ceiling.max(size);
            self.suspicions = 0;
        }
        grows
    }

    pub(crate) fn on_probe_lost(&mut self, size: u16) {
        if self.probe != Some(size) {
            return;
        }
        self.probe = None;
        self.lost_probes += 1;
        if self.lost_probes >= MAX_PROBES {
            self.lower_ceiling(size - 1);
        }
    }

    fn lower_ceiling(&mut self, ceiling: u16) {
        self.lost_probes = 0;
        self.ceiling = ceiling.clamp(BASE, self.ceiling.max(BASE));
    }

    /// Takes `Feedback::acked_size`, once for each acknowledgement, after `on_lost`.
    pub(crate) fn on_acked(&mut self, size: u16) {
        if size > BASE {
            self.suspicions = 0;
        }
    }

    /// Takes `Feedback::lost_size`, the size of the smallest lost packet, once for each congestion
    /// event. Returns whether the path has proved to be a black hole; `current` has then been
    /// reduced. RFC 8899 §4.3.
    pub(crate) fn on_lost(&mut self, size: u16) -> bool {
        if size <= BASE {
            return false;
        }
        self.suspicions += 1;
        self.suspicions >= SUSPICIOUS && self.fall()
    }

    /// Notes that nothing has been acknowledged for `in_a_row` timeouts
    /// (`Recovery::ptos_in_a_row`): the size of datagrams may be the reason. Returns the same as
    /// `on_lost`.
    pub(crate) fn on_probe_timeout(&mut self, in_a_row: u32) -> bool {
        in_a_row >= u32::from(SUSPICIOUS) && self.fall()
    }

    /// Like [`Self::on_probe_timeout`], during the handshake: the size that the search began with
    /// has not been shown to arrive.
    pub(crate) fn on_handshake_timeout(&mut self, in_a_row: u32) -> bool {
        if self.search != MtuSearch::Running {
            return self.on_probe_timeout(in_a_row);
        }
        let falls = self.fall();
        self.search = MtuSearch::Running;
        falls
    }

    fn fall(&mut self) -> bool {
        self.suspicions = 0;
        if self.current <= BASE {
            return false;
        }
        self.current = BASE;
        self.probe = None;
        if self.search != MtuSearch::Never {
            self.search = MtuSearch::Rests(PAUSE);
        }
        true
    }

    /// The system refused a datagram of this size. Returns whether `current` is now smaller.
    pub(crate) fn too_big(&mut self, size: u16) -> bool {
        if size <= BASE {
            return false;
        }
        self.limit = self.limit.min(size - 1);
        self.lower_ceiling(size - 1);
        if self.probe == Some(size) {
            self.probe = None;
        }
        let shrinks = self.current > self.limit;
        if shrinks {
            self.current = BASE;
            if self.search != MtuSearch::Never {
                self.search = MtuSearch::Running;
            }
        }
        shrinks
    }
}

/// The largest datagram that Ethernet carries: 1500 bytes, less the headers of IP and UDP.
fn interface_max(remote: IpAddr) -> u16 {
    match remote {
        IpAddr::V4(_) => 1472,
        IpAddr::V6(_) => 1452,
    }
}
