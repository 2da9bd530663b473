//! Parses an IP packet: its addresses, ports and contents, and whether its checksums are correct.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::checksum::{fold, sum};
use super::layout::{Layout, TransportLayout};
use super::{Fragment, Icmp, IpVersion, TCP, Tcp, UDP, Udp, field};
use crate::Result;

/// Explicit congestion notification in the IP header. RFC 3168 §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ecn {
    NotCapable = 0,
    /// ECT(1), which also marks low latency, low loss, scalable throughput (RFC 9331).
    Capable1 = 1,
    Capable0 = 2,
    CongestionExperienced = 3,
}

impl Ecn {
    const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::CongestionExperienced,
        }
    }
}

/// An IP packet, parsed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

impl<'a> Packet<'a> {
    /// Parses from the IP header on. A malformed transport header is not an error: its view is
    /// missing. Nor is a packet that was cut after its headers, as in captures.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Layout::parse(bytes).map(|layout| Self::new(bytes, layout))
    }

    pub(super) fn new(bytes: &'a [u8], layout: Layout) -> Self {
        Self {
            bytes: bytes.get(..layout.declared).unwrap_or(bytes),
            layout,
        }
    }

    /// The packet, without bytes that follow it in a frame.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn version(&self) -> IpVersion {
        self.layout.version
    }

    pub fn source(&self) -> IpAddr {
        match self.layout.version {
            IpVersion::V4 => Ipv4Addr::from(field::<4>(self.bytes, 12)).into(),
            IpVersion::V6 => Ipv6Addr::from(field::<16>(self.bytes, 8)).into(),
        }
    }

    pub fn destination(&self) -> IpAddr {
        match self.layout.version {
            IpVersion::V4 => Ipv4Addr::from(field::<4>(self.bytes, 16)).into(),
            IpVersion::V6 => Ipv6Addr::from(field::<16>(self.bytes, 24)).into(),
        }
    }

    /// The protocol after the last extension header that was understood.
    pub fn protocol(&self) -> u8 {
        self.layout.protocol
    }

    /// The length in bytes of the IP header, with its options or extension headers.
    pub fn header_length(&self) -> usize {
        self.layout.transport_at
    }

    /// The length in bytes of the whole packet, according to its header.
    pub fn declared_length(&self) -> usize {
        self.layout.declared
    }

    /// Whether all bytes of the packet are available.
    pub fn is_complete(&self) -> bool {
        self.bytes.len() == self.layout.declared
    }

    pub fn fragment(&self) -> Fragment {
        self.layout.fragment
    }

    /// Always true in IPv6, where only a packet's source may fragment it (RFC 8200 §5).
    pub fn dont_fragment(&self) -> bool {
        self.layout.dont_fragment
    }

    /// The time to live, or hop limit.
    pub fn hop_limit(&self) -> u8 {
        let [hops] = match self.layout.version {
            IpVersion::V4 => field(self.bytes, 8),
            IpVersion::V6 => field(self.bytes, 7),
        };
        hops
    }

    /// Differentiated services (six bits) and ECN (two).
    pub fn traffic_class(&self) -> u8 {
        let [first, second] = field(self.bytes, 0);
        match self.layout.version {
            IpVersion::V4 => second,
            IpVersion::V6 => first << 4 | second >> 4,
        }
    }

    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// The flow label of IPv6 (RFC 6437); zero if there is none.
    pub fn flow_label(&self) -> u32 {
        match self.layout.version {
            IpVersion::V4 => 0,
            IpVersion::V6 => u32::from_be_bytes(field(self.bytes, 0)) & 0x000f_ffff,
        }
    }

    /// The position of the bytes after the IP header.
    pub fn payload_range(&self) -> Range<usize> {
        self.layout.transport_at..self.bytes.len()
    }

    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.payload_range()).unwrap_or_default()
    }

    pub fn tcp(&self) -> Option<Tcp<'a>> {
        let TransportLayout::Tcp { payload_at } = self.layout.transport else {
            return None;
        };
        Tcp::new(
            self.bytes,
            self.layout.transport_at,
            payload_at,
            self.layout.declared,
        )
    }

    pub fn udp(&self) -> Option<Udp<'a>> {
        let is_udp = self.layout.transport == TransportLayout::Udp;
        let range = self.layout.transport_at..self.layout.transport_end.min(self.bytes.len());
        is_udp.then(|| Udp::new(self.bytes, range)).flatten()
    }

    pub fn icmp(&self) -> Option<Icmp<'a>> {
        let is_icmp = self.layout.transport == TransportLayout::Icmp;
        is_icmp
            .then(|| Icmp::new(self.layout.version, self.payload()))
            .flatten()
    }

    /// The source and destination port of TCP or UDP, even if only the first bytes of the header
    /// are available.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let has_ports =
            matches!(self.layout.protocol, TCP | UDP) && self.layout.fragment.offset == 0;
        let [a, b, c, d] = *self.payload().first_chunk::<4>().filter(|_| has_ports)?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// Whether the checksum of the IP header is right; always true in IPv6, which has none.
    pub fn header_checksum_is_right(&self) -> bool {
        let [first] = field(self.bytes, 0);
        let length = usize::from(first & 0x0f) * 4;
        self.layout.version == IpVersion::V6
            || self
                .bytes
                .get(..length)
                .is_some_and(|header| sum(header) == 0xffff)
    }

    /// Whether the checksum of TCP, UDP or ICMP is right. `None` if that is unknown: for a
    /// fragment, an incomplete packet, a packet with stops left in its routing header, another
    /// protocol, and UDP over IPv4 without a checksum (RFC 768).
    pub fn checksum_is_right(&self) -> Option<bool> {
        let at = self.layout.checksum_at?;
        let none_sent = self.layout.protocol == UDP && field(self.bytes, at) == [0, 0];
        if none_sent {
            // RFC 8200 §8.1: such a packet must be discarded in IPv6.
            return (self.layout.version == IpVersion::V6).then_some(false);
        }
        self.transport_sum().map(|sum| sum == 0xffff)
    }

    /// The sum over pseudo-header and transport, including the checksum.
    pub(super) fn transport_sum(&self) -> Option<u16> {
        let layout = &self.layout;
        let can_be_told = layout.fragment.is_whole() && !layout.routed && self.is_complete();
        let covered = layout.transport_at..layout.transport_end;
        let covered = self.bytes.get(covered).filter(|_| can_be_told)?;
        let mut total = u64::from(sum(covered));
        if layout.has_pseudo_header() {
            // RFC 9293 §3.1, RFC 768, RFC 8200 §8.1: addresses, protocol and length.
            let addresses = match layout.version {
                IpVersion::V4 => 12..20,
                IpVersion::V6 => 8..40,
            };
            let addresses = self.bytes.get(addresses).unwrap_or_default();
            total += u64::from(sum(addresses));
            total += u64::from(layout.protocol) + covered.len() as u64;
        }
        Some(fold(total))
    }
}
