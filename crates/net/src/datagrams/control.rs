//! Encodes and decodes the control messages of datagrams and the kernel's form of addresses, in
//! host byte order unless stated otherwise. cmsg(3), ip(7), ipv6(7), udp(7).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use crate::sys::udp::ControlBuffer;

/// `cmsghdr`: length including the header (one word), level (4), type (4). Values and messages are
/// padded to words.
const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

/// The ECN bits of the TOS byte and the traffic class (RFC 3168 §5).
const ECN: u8 = 0b11;

/// The control messages of a send.
pub(super) struct SendControl {
    control: ControlBuffer,
    filled: usize,
}

impl SendControl {
    pub(super) fn new() -> Self {
        Self {
            control: ControlBuffer([0; 192]),
            filled: 0,
        }
    }

    pub(super) fn parts(&self) -> (&ControlBuffer, usize) {
        (&self.control, self.filled)
    }

    /// Makes the kernel split the bytes into datagrams of this length.
    pub(super) fn segment(&mut self, length: u16) {
        self.push(libc::SOL_UDP, libc::UDP_SEGMENT, &length.to_ne_bytes());
    }

    pub(super) fn ecn(&mut self, bits: u8, to: IpAddr) {
        let value = i32::from(bits & ECN).to_ne_bytes();
        match to.to_canonical() {
            IpAddr::V4(_) => self.push(libc::IPPROTO_IP, libc::IP_TOS, &value),
            IpAddr::V6(_) => self.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value),
        }
    }

    pub(super) fn from(&mut self, address: IpAddr) {
        match address.to_canonical() {
            // `in_pktinfo`: interface (4), source (4), destination (4).
            IpAddr::V4(address) => {
                let mut value = [0; 12];
                value[4..8].copy_from_slice(&address.octets());
                self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &value);
            }
            // `in6_pktinfo`: source (16), interface (4).
            IpAddr::V6(address) => {
                let mut value = [0; 20];
                value[..16].copy_from_slice(&address.octets());
                self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &value);
            }
        }
    }

    /// Appends one message. The buffer has room for all messages together, as the test shows.
    fn push(&mut self, level: i32, kind: i32, value: &[u8]) {
        let length = HEADER + value.len();
        let padded = length.next_multiple_of(WORD);
        let Some(room) = self.control.0.get_mut(self.filled..self.filled + padded) else {
            debug_assert!(false, "control messages overflow");
            return;
        };
        room[..WORD].copy_from_slice(&length.to_ne_bytes());
        room[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        room[WORD + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
        room[HEADER..length].copy_from_slice(value);
        self.filled += padded;
    }
}

/// The control messages of a run of datagrams that arrived.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceivedControl {
    pub(crate) to: Option<IpAddr>,
    pub(crate) ecn: u8,
    /// The length of each datagram except the last, if the kernel has coalesced several.
    pub(crate) stride: Option<usize>,
    /// The time when the first datagram arrived, by `CLOCK_REALTIME`.
    pub(crate) stamp: Option<Duration>,
    /// The time to live, or hop limit, if the socket asks for it.
    pub(crate) hops: Option<u8>,
    /// What the error queue holds about a datagram that was sent.
    pub(crate) error: Option<SendError>,
}

/// An ICMP error that a datagram caused. `struct sock_extended_err` of ip(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendError {
    pub(crate) kind: u8,
    pub(crate) code: u8,
    /// The host or router that sent the error.
    pub(crate) by: Option<IpAddr>,
}

impl ReceivedControl {
    pub(crate) fn read(mut control: &[u8]) -> Self {
        let mut incoming = Self::default();
        while let Some((message, rest)) = next(control) {
            incoming.learn(&message);
            control = rest;
        }
        incoming
    }

    fn learn(&mut self, message: &ControlMessage<'_>) {
        let value = message.value;
        match (message.level, message.kind) {
            (libc::IPPROTO_IP, libc::IP_TOS) => {
                self.ecn = value.first().map_or(0, |tos| tos & ECN);
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                self.ecn = int(value).map_or(0, |class| class.to_le_bytes()[0] & ECN);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                self.to = array::<4>(value, 8).map(|octets| Ipv4Addr::from(octets).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                self.to = array::<16>(value, 0).map(|octets| Ipv6Addr::from(octets).into());
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                let stride = int(value).and_then(|stride| usize::try_from(stride).ok());
                self.stride = stride.filter(|stride| *stride > 0);
            }
            // `timespec`: seconds (8), nanoseconds (8).
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                self.stamp = array(value, 0).zip(array(value, 8)).map(|(s, ns)| {
                    let nanos = u32::try_from(u64::from_ne_bytes(ns)).unwrap_or_default();
                    Duration::new(u64::from_ne_bytes(s), nanos.min(999_999_999))
                });
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                self.hops = int(value).and_then(|hops| u8::try_from(hops).ok());
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                self.error = SendError::read(value);
            }
            _ => {}
        }
    }
}

impl SendError {
    /// Error (4), origin (1), type (1), code (1), padding (9); then the address of the sender.
    fn read(value: &[u8]) -> Option<Self> {
        let [origin, kind, code] = array(value, 4)?;
        let is_icmp = [libc::SO_EE_ORIGIN_ICMP, libc::SO_EE_ORIGIN_ICMP6].contains(&origin);
        let by = value.get(16..).and_then(address);
        is_icmp.then_some(Self {
            kind,
            code,
            by: by.map(|by| by.ip()),
        })
    }
}

struct ControlMessage<'a> {
    level: i32,
    kind: i32,
    value: &'a [u8],
}

/// Splits off the first message.
fn next(control: &[u8]) -> Option<(ControlMessage<'_>, &[u8])> {
    let length = usize::from_ne_bytes(array(control, 0)?);
    let message = ControlMessage {
        level: int(control.get(WORD..)?)?,
        kind: int(control.get(WORD + 4..)?)?,
        value: control.get(HEADER..length)?,
    };
    let padded = length.next_multiple_of(WORD);
    Some((message, control.get(padded..).unwrap_or_default()))
}

/// Reads a `sockaddr_in` or `sockaddr_in6`; their ports and addresses are in network byte order.
pub(crate) fn address(name: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(array(name, 0)?);
    let port = u16::from_be_bytes(array(name, 2)?);
    match i32::from(family) {
        libc::AF_INET => {
            let octets: [u8; 4] = array(name, 4)?;
            Some((Ipv4Addr::from(octets), port).into())
        }
        libc::AF_INET6 => {
            let flow = u32::from_be_bytes(array(name, 4)?);
            let octets: [u8; 16] = array(name, 8)?;
            let scope = u32::from_ne_bytes(array(name, 24)?);
            Some(SocketAddrV6::new(octets.into(), port, flow, scope).into())
        }
        _ => None,
    }
}

fn int(bytes: &[u8]) -> Option<i32> {
    array(bytes, 0).map(i32::from_ne_bytes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

    #[test]
    fn all_messages_together_fit_and_are_decoded() {
        for (address, to) in [(V4, Ipv4Addr::UNSPECIFIED.into()), (V6, V6)] {
            let mut outgoing = SendControl::new();
            outgoing.segment(1200);
            outgoing.ecn(0b1111_1110, address);
            outgoing.from(address);
            let (control, filled) = outgoing.parts();
            // IPv4 has separate fields for the source of a send and the destination of an arrival;
            // IPv6 has one.
            let read = ReceivedControl::read(&control.0[..filled]);
            assert_eq!((read.ecn, read.to), (0b10, Some(to)));
            // The last padding can be missing, but no other byte.
            let cut = ReceivedControl::read(&control.0[..filled - 5]);
            assert_eq!((cut.ecn, cut.to), (0b10, None));
        }
    }

    #[test]
    fn a_mapped_address_is_converted_to_ipv4() {
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        let said = |address: IpAddr| {
            let mut outgoing = SendControl::new();
            outgoing.ecn(1, address);
            outgoing.from(address);
            outgoing.control.0
        };
        assert_eq!(said(mapped), said(V4));
    }

    #[test]
    fn broken_control_messages_do_not_panic() {
        let mut outgoing = SendControl::new();
        outgoing.ecn(3, V6);
        let whole = outgoing.control.0;
        for length in [0, 1, HEADER - 1, HEADER + 1, usize::MAX, usize::MAX - 8] {
            let mut broken = whole;
            broken[..WORD].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(
                ReceivedControl::read(&broken),
                ReceivedControl::default(),
                "{length}"
            );
        }
        for end in 0..HEADER + 4 {
            assert_eq!(
                ReceivedControl::read(&whole[..end]),
                ReceivedControl::default()
            );
        }
    }

    #[test]
    fn addresses_are_as_the_kernel_writes_them() {
        for text in ["192.0.2.1:443", "[2001:db8::1]:443", "[fe80::1%7]:1"] {
            let written: SocketAddr = text.parse().unwrap();
            let name = socket2::SockAddr::from(written);
            let mut bytes = vec![0; 28];
            match written {
                SocketAddr::V4(v4) => {
                    bytes[..2].copy_from_slice(&name.family().to_ne_bytes());
                    bytes[2..4].copy_from_slice(&v4.port().to_be_bytes());
                    bytes[4..8].copy_from_slice(&v4.ip().octets());
                }
                SocketAddr::V6(v6) => {
                    bytes[..2].copy_from_slice(&name.family().to_ne_bytes());
                    bytes[2..4].copy_from_slice(&v6.port().to_be_bytes());
                    bytes[8..24].copy_from_slice(&v6.ip().octets());
                    bytes[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
                }
            }
            assert_eq!(address(&bytes), Some(written));
            assert_eq!(address(&bytes[..7]), None);
        }
        assert_eq!(address(&[0; 28]), None);
    }
}
