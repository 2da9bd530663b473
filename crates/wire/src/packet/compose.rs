//! Builds a packet around a transport message: adds the IP header and fills in checksums.

use std::net::IpAddr;

use super::PacketMut;
use crate::{Error, Result};

const MAX_PACKET_LENGTH: usize = 65_535;

/// The contents of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpHeader {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    pub hop_limit: u8,
    /// Differentiated services and ECN.
    pub traffic_class: u8,
    /// IPv4 only: the packet may be fragmented, and its fragments share this number. RFC 6864 §4:
    /// packets that may not be fragmented need none.
    pub fragments_as: Option<u16>,
}

impl IpHeader {
    /// Makes a packet with 64 hops and traffic class 0, not to be fragmented.
    pub fn new(source: IpAddr, destination: IpAddr, protocol: u8) -> Self {
        Self {
            source,
            destination,
            protocol,
            hop_limit: 64,
            traffic_class: 0,
            fragments_as: None,
        }
    }
}

/// Builds a packet around a TCP segment, UDP datagram, ICMP message or anything else. Its checksum
/// is filled in, but a UDP checksum of zero over IPv4 stays.
pub fn compose(envelope: &IpHeader, transport: &[u8]) -> Result<Vec<u8>> {
    let mut packet = match (envelope.source, envelope.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let length = length(20 + transport.len())?;
            let (number, flags) = match envelope.fragments_as {
                Some(number) => (number, 0),
                None => (0, 0x4000_u16),
            };
            let mut packet = vec![0x45, envelope.traffic_class];
            packet.extend(length.to_be_bytes());
            packet.extend(number.to_be_bytes());
            packet.extend(flags.to_be_bytes());
            packet.extend([envelope.hop_limit, envelope.protocol, 0, 0]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
            packet
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let length = length(transport.len())?;
            let class = envelope.traffic_class;
            let mut packet = vec![0x60 | class >> 4, class << 4, 0, 0];
            packet.extend(length.to_be_bytes());
            packet.extend([envelope.protocol, envelope.hop_limit]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
            packet
        }
        _ => {
            return Err(Error::malformed(
                "IP packet",
                "its addresses are of two versions",
            ));
        }
    };
    packet.extend(transport);
    // `false` means that the transport has no checksum known here, so nothing is missing.
    let _ = PacketMut::parse(&mut packet)?.recompute_checksums();
    Ok(packet)
}

fn length(bytes: usize) -> Result<u16> {
    u16::try_from(bytes).map_err(|_| Error::TooLarge {
        what: "IP packet",
        limit: MAX_PACKET_LENGTH,
    })
}
