//! Parses an ICMP message of either version. RFC 792, RFC 4443.

use super::IpVersion;
use super::layout::ICMP_HEADER;

/// RFC 792, with code 4: fragmentation needed (RFC 1191 §4).
pub(super) const UNREACHABLE: u8 = 3;
pub(super) const FRAGMENTATION_NEEDED: u8 = 4;
/// RFC 4443 §3.2.
pub(super) const PACKET_TOO_BIG: u8 = 2;
/// RFC 792: source quench, redirect, time exceeded, parameter problem; RFC 4861 §4.5 has the
/// redirect of IPv6.
const SOURCE_QUENCH: u8 = 4;
const REDIRECT: u8 = 5;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER_PROBLEM: u8 = 12;
const REDIRECT_V6: u8 = 137;
/// RFC 4443 §2.1: the types of errors have a clear high bit.
const FIRST_INFORMATIONAL_V6: u8 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmp<'a> {
    version: IpVersion,
    header: &'a [u8; ICMP_HEADER],
    body: &'a [u8],
}

impl<'a> Icmp<'a> {
    pub(super) fn new(version: IpVersion, message: &'a [u8]) -> Option<Self> {
        let (header, body) = message.split_first_chunk()?;
        Some(Self {
            version,
            header,
            body,
        })
    }

    /// The field called type.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// The bytes after the first eight: in an error, the beginning of the packet that caused it.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Whether this is an error or a redirect, which must not be answered with an error. RFC 1812
    /// §4.3.2.7, RFC 4443 §2.4 (e).
    pub fn is_error(&self) -> bool {
        match self.version {
            IpVersion::V4 => matches!(
                self.kind(),
                UNREACHABLE | SOURCE_QUENCH | REDIRECT | TIME_EXCEEDED | PARAMETER_PROBLEM
            ),
            IpVersion::V6 => self.kind() < FIRST_INFORMATIONAL_V6 || self.kind() == REDIRECT_V6,
        }
    }

    /// The largest packet in bytes that the next link takes, from "fragmentation needed" or "packet
    /// too big"; 0 if an old router does not give it (RFC 1191 §4).
    pub fn next_hop_mtu(&self) -> Option<u32> {
        let [kind, code, _, _, a, b, c, d] = *self.header;
        match self.version {
            IpVersion::V4 if (kind, code) == (UNREACHABLE, FRAGMENTATION_NEEDED) => {
                Some(u32::from(u16::from_be_bytes([c, d])))
            }
            IpVersion::V6 if kind == PACKET_TOO_BIG => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        }
    }
}
