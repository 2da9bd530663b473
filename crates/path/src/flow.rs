//! Identifies the connection that a packet belongs to, and stores a box's state for each
//! connection: in a bounded table whose entries expire.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_wire::packet::{Flags, ICMP, ICMPV6, Packet, TCP, Tcp, UDP};

use crate::direction::Direction;

/// The size of a table: more connections than any experiment opens; beyond it, the oldest are
/// dropped.
pub(crate) const MAX_FLOWS: usize = 4096;

/// ICMP types of echo requests and replies (RFC 792, RFC 4443 §4).
const ECHO_V4: [u8; 2] = [8, 0];
const ECHO_V6: [u8; 2] = [128, 129];

/// Both ends of a TCP connection, a UDP exchange or a series of pings. The identifier of a ping
/// takes the place of both ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    pub(crate) protocol: u8,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
}

impl Flow {
    /// The flow of a packet; `None` if it has no ports: later fragments, ICMP errors, other
    /// protocols.
    pub(crate) fn from_packet(packet: &Packet<'_>, way: Direction) -> Option<Self> {
        let protocol = packet.protocol();
        let (from, to) = match protocol {
            TCP | UDP => packet.ports()?,
            ICMP | ICMPV6 => echo_identifier(packet).map(|number| (number, number))?,
            _ => return None,
        };
        let source = SocketAddr::new(packet.source(), from);
        let destination = SocketAddr::new(packet.destination(), to);
        let (client, server) = match way {
            Direction::Up => (source, destination),
            Direction::Down => (destination, source),
        };
        Some(Self {
            protocol,
            client,
            server,
        })
    }

    pub(crate) fn has_ports(&self) -> bool {
        matches!(self.protocol, TCP | UDP)
    }
}

fn echo_identifier(packet: &Packet<'_>) -> Option<u16> {
    let kinds = match packet.protocol() {
        ICMP => ECHO_V4,
        _ => ECHO_V6,
    };
    packet.icmp().filter(|icmp| kinds.contains(&icmp.kind()))?;
    let [high, low] = packet.payload().get(4..)?.first_chunk().copied()?;
    Some(u16::from_be_bytes([high, low]))
}

/// Whether the segment requests a connection: SYN without ACK.
pub(crate) fn is_syn(segment: &Tcp<'_>) -> bool {
    segment.flags().contains(Flags::SYN) && !segment.flags().contains(Flags::ACK)
}

/// A box's state for each connection while its packets keep coming.
#[derive(Debug)]
pub(crate) struct FlowTable<T> {
    entries: HashMap<Flow, FlowEntry<T>>,
    most: usize,
}

#[derive(Debug)]
struct FlowEntry<T> {
    value: T,
    seen: Duration,
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            most: MAX_FLOWS,
        }
    }
}

impl<T> FlowTable<T> {
    /// The entry of a flow, unless the flow was silent for longer than `life`. Counts as activity.
    pub(crate) fn seen(&mut self, flow: &Flow, at: Duration, life: Duration) -> Option<&mut T> {
        let entry = self.entries.get_mut(flow)?;
        if at.saturating_sub(entry.seen) > life {
            self.entries.remove(flow);
            return None;
        }
        let entry = self.entries.get_mut(flow)?;
        entry.seen = entry.seen.max(at);
        Some(&mut entry.value)
    }

    pub(crate) fn remember(&mut self, flow: Flow, value: T, at: Duration) {
        if self.entries.len() >= self.most && !self.entries.contains_key(&flow) {
            self.forget_oldest();
        }
        self.entries.insert(flow, FlowEntry { value, seen: at });
    }

    /// Like [`Self::seen`], and removes the entry.
    pub(crate) fn take(&mut self, flow: &Flow, at: Duration, life: Duration) -> Option<T> {
        self.seen(flow, at, life)?;
        self.forget(flow)
    }

    pub(crate) fn forget(&mut self, flow: &Flow) -> Option<T> {
        self.entries.remove(flow).map(|entry| entry.value)
    }

    /// Removes an eighth of the entries at once, so that one search serves many insertions.
    fn forget_oldest(&mut self) {
        let mut times: Vec<Duration> = self.entries.values().map(|entry| entry.seen).collect();
        let (_, limit, _) = times.select_nth_unstable(self.most / 8);
        let limit = *limit;
        self.entries.retain(|_, entry| entry.seen > limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(port: u16) -> Flow {
        Flow {
            protocol: TCP,
            client: ([198, 18, 0, 1], port).into(),
            server: ([198, 18, 0, 2], 443).into(),
        }
    }

    const LIFE: Duration = Duration::from_secs(10);

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_flow_is_known_until_it_was_silent_too_long() {
        let mut flows = FlowTable::default();
        flows.remember(flow(1), 'a', s(0));
        assert_eq!(flows.seen(&flow(1), s(10), LIFE), Some(&mut 'a'));
        assert_eq!(flows.seen(&flow(2), s(10), LIFE), None);
        // Time may run back a little: the flow was already seen at 10 s.
        assert_eq!(flows.seen(&flow(1), s(9), LIFE), Some(&mut 'a'));
        assert_eq!(flows.seen(&flow(1), s(20), LIFE), Some(&mut 'a'));
        assert_eq!(flows.seen(&flow(1), s(31), LIFE), None);
        assert_eq!(flows.seen(&flow(1), s(31), LIFE), None);
    }

    #[test]
    fn the_table_is_bounded_and_the_oldest_go_first() {
        let mut flows = FlowTable {
            most: 16,
            ..FlowTable::default()
        };
        for port in 0..100 {
            flows.remember(flow(port), port, s(port.into()));
            assert!(flows.entries.len() <= 16);
        }
        assert_eq!(flows.seen(&flow(99), s(99), LIFE), Some(&mut 99));
        assert_eq!(flows.seen(&flow(0), s(99), s(1000)), None);
    }
}
