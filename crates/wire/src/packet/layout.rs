//! Finds the positions of everything in an IP packet, once: header, extension headers, transport.
//! RFC 791, RFC 8200.

use super::{ICMP, ICMPV6, TCP, UDP, field};
use crate::{Error, Result};

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
pub(super) const TCP_HEADER: usize = 20;
pub(super) const UDP_HEADER: usize = 8;
pub(super) const ICMP_HEADER: usize = 8;

/// Extension headers, with the numbers assigned by IANA. Headers that are not listed are not
/// parsed.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION_OPTIONS: u8 = 60;
/// The largest number of extension headers in a packet; RFC 8200 §4.1 lists five, one of them
/// twice.
const MAX_EXTENSIONS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IpVersion {
    V4,
    V6,
}

/// The position of a fragment in its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fragment {
    /// The fragment offset in bytes.
    pub offset: u16,
    pub more: bool,
    pub identification: u32,
}

impl Fragment {
    /// Whether this is a whole datagram, not a fragment.
    pub fn is_whole(self) -> bool {
        self.offset == 0 && !self.more
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransportLayout {
    Tcp {
        payload_at: usize,
    },
    Udp,
    Icmp,
    /// The packet is a later fragment, has a truncated or invalid header, or carries another
    /// protocol.
    Opaque,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) version: IpVersion,
    pub(super) protocol: u8,
    /// Where the transport begins: after the IP header, its options and extension headers.
    pub(super) transport_at: usize,
    /// Where the transport ends according to its header. That may be beyond the available bytes.
    pub(super) transport_end: usize,
    /// The length that the header declares.
    pub(super) declared: usize,
    pub(super) fragment: Fragment,
    pub(super) dont_fragment: bool,
    /// A routing header has addresses left, so the destination address is not the final one.
    /// Checksums cover the final one.
    pub(super) routed: bool,
    pub(super) transport: TransportLayout,
    /// The position of the checksum, if the transport is TCP, UDP or ICMP and this packet contains
    /// it.
    pub(super) checksum_at: Option<usize>,
}

impl Layout {
    /// Bytes after the packet, such as Ethernet's padding of short frames, are not part of it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut layout = match bytes.first().map(|first| first >> 4) {
            Some(4) => ipv4(bytes)?,
            Some(6) => ipv6(bytes)?,
            Some(_) => return Err(Error::malformed(WHAT, "its version is neither 4 nor 6")),
            None => return Err(cut_short(1, 0)),
        };
        layout.find_transport(bytes.get(..layout.declared).unwrap_or(bytes));
        Ok(layout)
    }

    fn find_transport(&mut self, bytes: &[u8]) {
        let at = self.transport_at;
        if self.fragment.offset > 0 {
            return;
        }
        let left = bytes.len().saturating_sub(at);
        let (checksum, transport) = match (self.protocol, self.version) {
            (TCP, _) => (16, tcp(bytes, at)),
            (UDP, _) => {
                let length = usize::from(u16::from_be_bytes(field(bytes, at + 4)));
                // A length of zero is allowed for a jumbogram. RFC 2675 §4.
                let is_right = length == 0 || length >= UDP_HEADER;
                if length >= UDP_HEADER && at + length <= self.declared {
                    self.transport_end = at + length;
                }
                let udp = (left >= UDP_HEADER && is_right).then_some(TransportLayout::Udp);
                (6, udp)
            }
            (ICMP, IpVersion::V4) | (ICMPV6, IpVersion::V6) => {
                (2, (left >= ICMP_HEADER).then_some(TransportLayout::Icmp))
            }
            _ => return,
        };
        self.transport = transport.unwrap_or(TransportLayout::Opaque);
        self.checksum_at = (left >= checksum + 2).then_some(at + checksum);
    }

    /// Whether the checksum covers the addresses, in this packet or in another fragment of its
    /// datagram.
    pub(super) fn has_pseudo_header(&self) -> bool {
        match self.version {
            IpVersion::V4 => matches!(self.protocol, TCP | UDP),
            IpVersion::V6 => matches!(self.protocol, TCP | UDP | ICMPV6),
        }
    }
}

const WHAT: &str = "IP packet";

fn cut_short(needed: usize, left: usize) -> Error {
    Error::CutShort {
        what: WHAT,
        needed,
        left,
    }
}

fn ipv4(bytes: &[u8]) -> Result<Layout> {
    let header = bytes
        .first_chunk::<IPV4_HEADER>()
        .ok_or_else(|| cut_short(IPV4_HEADER, bytes.len()))?;
    let length = usize::from(header[0] & 0x0f) * 4;
    // Segments over 64 KiB that never leave their machine declare no length.
    let declared = match usize::from(u16::from_be_bytes([header[2], header[3]])) {
        0 => bytes.len(),
        total => total,
    };
    if length < IPV4_HEADER {
        return Err(Error::malformed(
            WHAT,
            "its header is shorter than 20 bytes",
        ));
    }
    if bytes.len() < length {
        return Err(cut_short(length, bytes.len()));
    }
    if declared < length {
        return Err(Error::malformed(WHAT, "it is shorter than its header"));
    }
    let word = u16::from_be_bytes([header[6], header[7]]);
    Ok(Layout {
        version: IpVersion::V4,
        protocol: header[9],
        transport_at: length,
        transport_end: declared,
        declared,
        fragment: Fragment {
            offset: (word & 0x1fff) << 3,
            more: word & 0x2000 != 0,
            identification: u32::from(u16::from_be_bytes([header[4], header[5]])),
        },
        dont_fragment: word & 0x4000 != 0,
        routed: false,
        transport: TransportLayout::Opaque,
        checksum_at: None,
    })
}

fn ipv6(bytes: &[u8]) -> Result<Layout> {
    let header = bytes
        .first_chunk::<IPV6_HEADER>()
        .ok_or_else(|| cut_short(IPV6_HEADER, bytes.len()))?;
    let declared = match usize::from(u16::from_be_bytes([header[4], header[5]])) {
        // A jumbogram, or a segment that never leaves its machine. RFC 2675 §3.
        0 if header[6] != NO_NEXT_HEADER => bytes.len(),
        payload => IPV6_HEADER + payload,
    };
    let mut layout = Layout {
        version: IpVersion::V6,
        protocol: header[6],
        transport_at: IPV6_HEADER,
        transport_end: declared,
        declared,
        fragment: Fragment::default(),
        // RFC 8200 §5: only sources fragment packets.
        dont_fragment: true,
        routed: false,
        transport: TransportLayout::Opaque,
        checksum_at: None,
    };
    let bytes = bytes.get(..declared).unwrap_or(bytes);
    for _ in 0..=MAX_EXTENSIONS {
        if !step_over_extension(bytes, &mut layout)? {
            return Ok(layout);
        }
    }
    Err(Error::TooLarge {
        what: "the chain of IPv6 extension headers",
        limit: MAX_EXTENSIONS,
    })
}

/// Skips one extension header. Returns whether there was one.
fn step_over_extension(bytes: &[u8], layout: &mut Layout) -> Result<bool> {
    let kind = layout.protocol;
    if !matches!(kind, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS)
        || layout.fragment.offset > 0
    {
        return Ok(false);
    }
    let rest = bytes.get(layout.transport_at..).unwrap_or_default();
    let header = rest
        .first_chunk::<8>()
        .ok_or_else(|| cut_short(8, rest.len()))?;
    let mut length = 8;
    if kind == FRAGMENT {
        // RFC 8200 §4.5.
        let word = u16::from_be_bytes([header[2], header[3]]);
        layout.fragment = Fragment {
            offset: word & 0xfff8,
            more: word & 1 != 0,
            identification: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        };
    } else {
        length += usize::from(header[1]) * 8;
        layout.routed |= kind == ROUTING && header[3] > 0;
    }
    if rest.len() < length {
        return Err(cut_short(length, rest.len()));
    }
    layout.protocol = header[0];
    layout.transport_at += length;
    Ok(true)
}

fn tcp(bytes: &[u8], at: usize) -> Option<TransportLayout> {
    let length = usize::from(bytes.get(at + 12)? >> 4) * 4;
    let payload_at = at + length;
    (length >= TCP_HEADER && payload_at <= bytes.len())
        .then_some(TransportLayout::Tcp { payload_at })
}
