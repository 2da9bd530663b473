//! Fragments: only the first one has ports, so the NAT remembers its translation for the others.

use std::collections::VecDeque;
use std::net::IpAddr;

use roundtrip_wire::packet::Packet;

/// The largest number of datagrams whose fragments can be in transit at a time.
const MAX_FRAGMENTED_DATAGRAMS: usize = 64;

/// The identifying fields of a datagram's fragments (RFC 791 §3.2, RFC 8200 §4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentKey {
    source: IpAddr,
    destination: IpAddr,
    identification: u32,
}

impl FragmentKey {
    pub(super) fn from_packet(packet: &Packet<'_>) -> Self {
        Self {
            source: packet.source(),
            destination: packet.destination(),
            identification: packet.fragment().identification,
        }
    }
}

/// The translated address of the client's side, by datagram.
#[derive(Debug, Default)]
pub(super) struct FragmentTable(VecDeque<(FragmentKey, IpAddr)>);

impl FragmentTable {
    pub(super) fn remember(&mut self, key: FragmentKey, address: IpAddr) {
        self.0.retain(|(known, _)| *known != key);
        if self.0.len() >= MAX_FRAGMENTED_DATAGRAMS {
            self.0.pop_front();
        }
        self.0.push_back((key, address));
    }

    pub(super) fn address(&self, key: FragmentKey) -> Option<IpAddr> {
        let found = self.0.iter().find(|(known, _)| *known == key)?;
        Some(found.1)
    }
}
