//! Changes an IP packet in place and updates its checksums incrementally (RFC 1624): a wrong
//! checksum stays wrong, so that a middlebox does not hide damage done by others.

use std::net::IpAddr;

use super::checksum::ChecksumDelta;
use super::layout::{Layout, TCP_HEADER, TransportLayout};
use super::option::NO_OPERATION;
use super::{Ecn, Flags, IpVersion, OptionValue, Options, Packet, TCP, TcpOption, UDP, field};
use crate::Result;

const IPV4_CHECKSUM: usize = 10;
/// The data offset has four bits, which leaves room for 60 bytes of header. RFC 9293 §3.1.
const MAX_OPTION_BYTES: usize = 40;

/// A packet to change. A change is made completely, or the packet stays as it was.
#[derive(Debug, PartialEq, Eq)]
pub struct PacketMut<'a> {
    bytes: &'a mut [u8],
    layout: Layout,
}

impl<'a> PacketMut<'a> {
    /// Like [`Packet::parse`].
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self> {
        let layout = Layout::parse(bytes)?;
        Ok(Self { bytes, layout })
    }

    pub fn view(&self) -> Packet<'_> {
        Packet::new(self.bytes, self.layout)
    }

    /// Returns whether the address was changed: it must be of the packet's IP version, and the
    /// packet must not be a fragment that splits the checksum.
    #[must_use]
    pub fn set_source(&mut self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.set_address(IpVersion::V4, 12, &address.octets()),
            IpAddr::V6(address) => self.set_address(IpVersion::V6, 8, &address.octets()),
        }
    }

    /// Like [`Self::set_source`]. A destination that is an intermediate stop of a routing header is
    /// not changed.
    #[must_use]
    pub fn set_destination(&mut self, address: IpAddr) -> bool {
        !self.layout.routed
            && match address {
                IpAddr::V4(address) => self.set_address(IpVersion::V4, 16, &address.octets()),
                IpAddr::V6(address) => self.set_address(IpVersion::V6, 24, &address.octets()),
            }
    }

    /// Returns whether the port was changed: only the first fragment of a TCP or UDP datagram has
    /// ports.
    #[must_use]
    pub fn set_source_port(&mut self, port: u16) -> bool {
        self.set_port(0, port)
    }

    /// Like [`Self::set_source_port`].
    #[must_use]
    pub fn set_destination_port(&mut self, port: u16) -> bool {
        self.set_port(2, port)
    }

    pub fn set_ecn(&mut self, ecn: Ecn) {
        let [first, second] = field(self.bytes, 0);
        // The traffic class of IPv6 is spread over two bytes: ECN is in the second, four bits up.
        // RFC 8200 §3.
        let second = match self.layout.version {
            IpVersion::V4 => second & 0xfc | ecn as u8,
            IpVersion::V6 => second & 0xcf | (ecn as u8) << 4,
        };
        self.overwrite_in_ip(0, &[first, second]);
    }

    /// Sets the time to live, or hop limit.
    pub fn set_hop_limit(&mut self, hops: u8) {
        let at = match self.layout.version {
            IpVersion::V4 => 8,
            IpVersion::V6 => 7,
        };
        self.overwrite_in_ip(at, &[hops]);
    }

    /// Returns whether the flags were changed: the packet must have a TCP segment.
    #[must_use]
    pub fn set_tcp_flags(&mut self, flags: Flags) -> bool {
        let is_tcp = self.is_tcp();
        if is_tcp {
            let at = self.layout.transport_at + 12;
            let bytes = flags.put_into(field(self.bytes, at));
            self.overwrite_in_transport(at, &bytes);
        }
        is_tcp
    }

    /// Changes the maximum segment size in the option of a SYN. Returns whether the packet has that
    /// option.
    #[must_use]
    pub fn set_maximum_segment_size(&mut self, size: u16) -> bool {
        let Some((options_at, options)) = self.options() else {
            return false;
        };
        let is_it =
            |option: &TcpOption<'_>| matches!(option.value, OptionValue::MaximumSegmentSize(_));
        let Some(option) = Options::new(options.get()).find(is_it) else {
            return false;
        };
        self.overwrite_in_transport(options_at + option.at + 2, &size.to_be_bytes());
        true
    }

    /// Overwrites the TCP options that are `unwanted` with padding. Returns their number.
    pub fn blank_options(&mut self, mut unwanted: impl FnMut(&TcpOption<'_>) -> bool) -> usize {
        let Some((options_at, options)) = self.options() else {
            return 0;
        };
        let padding = [NO_OPERATION; MAX_OPTION_BYTES];
        let mut count = 0;
        for option in Options::new(options.get()).filter(|option| unwanted(option)) {
            let padding = padding.get(..option.bytes.len()).unwrap_or_default();
            self.overwrite_in_transport(options_at + option.at, padding);
            count += 1;
        }
        count
    }

    /// Computes all checksums from scratch: for packets whose bytes were changed by other means, or
    /// whose sender left the checksums to its network interface. Returns whether the transport's
    /// checksum is now right, or absent by choice (UDP over IPv4).
    #[must_use]
    pub fn recompute_checksums(&mut self) -> bool {
        self.recompute_header_checksum();
        let Some(at) = self.layout.checksum_at else {
            return false;
        };
        let none_sent = self.layout.protocol == UDP && field(self.bytes, at) == [0, 0];
        if none_sent && self.layout.version == IpVersion::V4 {
            return true;
        }
        let old: [u8; 2] = field(self.bytes, at);
        self.write(at, &[0, 0]);
        let Some(sum) = self.view().transport_sum() else {
            self.write(at, &old);
            return false;
        };
        self.write_transport_checksum(at, !sum);
        true
    }

    /// Recomputes the header checksum of IPv4; IPv6 has none.
    pub(super) fn recompute_header_checksum(&mut self) {
        if self.layout.version == IpVersion::V4 {
            let [first] = field(self.bytes, 0);
            let length = usize::from(first & 0x0f) * 4;
            self.write(IPV4_CHECKSUM, &[0, 0]);
            let header = self.bytes.get(..length).unwrap_or_default();
            let checksum = !super::checksum::sum(header);
            self.write(IPV4_CHECKSUM, &checksum.to_be_bytes());
        }
    }

    fn set_address(&mut self, version: IpVersion, at: usize, address: &[u8]) -> bool {
        if self.layout.version != version || self.tears_checksum() {
            return false;
        }
        let change = self.overwrite_in_ip(at, address);
        if self.layout.has_pseudo_header() {
            self.transport_changed(change);
        }
        true
    }

    /// Whether a fragment ends before the checksum or begins inside it, as happens only in attacks
    /// (RFC 1858 §3).
    fn tears_checksum(&self) -> bool {
        let end_of_checksum = match self.layout.protocol {
            TCP => 18,
            _ => 8,
        };
        self.layout.has_pseudo_header()
            && self.layout.checksum_at.is_none()
            && usize::from(self.layout.fragment.offset) < end_of_checksum
    }

    fn set_port(&mut self, offset: usize, port: u16) -> bool {
        let has_ports =
            matches!(self.layout.protocol, TCP | UDP) && self.layout.checksum_at.is_some();
        if has_ports {
            let at = self.layout.transport_at + offset;
            self.overwrite_in_transport(at, &port.to_be_bytes());
        }
        has_ports
    }

    fn is_tcp(&self) -> bool {
        matches!(self.layout.transport, TransportLayout::Tcp { .. })
    }

    /// A copy of the options, so that the packet can be changed while they are read, and their
    /// position.
    fn options(&self) -> Option<(usize, OptionBytes)> {
        let TransportLayout::Tcp { payload_at } = self.layout.transport else {
            return None;
        };
        let at = self.layout.transport_at + TCP_HEADER;
        let options = self.bytes.get(at..payload_at)?;
        let mut copy = OptionBytes {
            bytes: [0; MAX_OPTION_BYTES],
            length: options.len(),
        };
        copy.bytes
            .get_mut(..options.len())?
            .copy_from_slice(options);
        Some((at, copy))
    }

    fn overwrite_in_ip(&mut self, at: usize, new: &[u8]) -> ChecksumDelta {
        let change = self.write(at, new);
        if self.layout.version == IpVersion::V4 {
            let checksum = u16::from_be_bytes(field(self.bytes, IPV4_CHECKSUM));
            self.write(IPV4_CHECKSUM, &change.apply(checksum).to_be_bytes());
        }
        change
    }

    fn overwrite_in_transport(&mut self, at: usize, new: &[u8]) {
        let change = self.write(at, new);
        self.transport_changed(change);
    }

    fn transport_changed(&mut self, change: ChecksumDelta) {
        let Some(at) = self.layout.checksum_at else {
            return;
        };
        let checksum = u16::from_be_bytes(field(self.bytes, at));
        // A datagram without a checksum stays without one. RFC 768.
        if checksum != 0 || self.layout.protocol != UDP {
            self.write_transport_checksum(at, change.apply(checksum));
        }
    }

    fn write_transport_checksum(&mut self, at: usize, checksum: u16) {
        let checksum = match checksum {
            // Zero would mean that there is no checksum; all ones has the same value. RFC 768.
            0 if self.layout.protocol == UDP => 0xffff,
            checksum => checksum,
        };
        self.write(at, &checksum.to_be_bytes());
    }

    fn write(&mut self, at: usize, new: &[u8]) -> ChecksumDelta {
        let Some(old) = self.bytes.get_mut(at..at + new.len()) else {
            return ChecksumDelta::default();
        };
        let change = ChecksumDelta::between(old, new, !at.is_multiple_of(2));
        old.copy_from_slice(new);
        change
    }
}

struct OptionBytes {
    bytes: [u8; MAX_OPTION_BYTES],
    length: usize,
}

impl OptionBytes {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
