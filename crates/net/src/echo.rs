//! Asks a host for an echo by ICMP. RFC 792, RFC 4443 §4.
//!
//! A ping socket needs no privilege, only a group that `net.ipv4.ping_group_range` names. Where
//! there is none, a raw socket takes its place, which needs `CAP_NET_RAW`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use roundtrip_wire::packet::{Echo, IpVersion, Packet};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::datagrams::control::{ReceivedControl, SendError, address};
use crate::random_dns_id;
use crate::sys;
use crate::sys::udp::ReceiveSlots;

/// The largest IP packet, in bytes.
const MAX_PACKET: usize = 65_535;
const WOKEN_BY: Interest = Interest::READABLE.add(Interest::ERROR);
const ON: libc::c_int = 1;

/// The options of an echo.
#[derive(Debug, Clone, Copy)]
pub struct EchoOptions {
    pub from: Option<IpAddr>,
    /// The time to live, or hop limit; the system's if `None`.
    pub hops: Option<u8>,
    /// Forbids fragmentation of the request, whatever is known about the path. IPv6 routers never
    /// do.
    pub unfragmented: bool,
}

/// A reply that repeats its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoReply {
    pub took: Duration,
    /// The remaining time to live, or hop limit, of the reply.
    pub hops: Option<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum EchoError {
    #[error(
        "this process may open neither a ping socket (its group is not in net.ipv4.ping_group_range) \
         nor a raw socket (it lacks CAP_NET_RAW)"
    )]
    Forbidden,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{what}{}", .by.map(|by| format!(", says {by}")).unwrap_or_default())]
    Refused { what: String, by: Option<IpAddr> },
}

/// A socket for echoes of one host.
pub struct EchoSocket {
    socket: AsyncFd<Socket>,
    version: IpVersion,
    peer: SocketAddr,
    /// The identifier of our requests; on a ping socket the kernel chooses it, and passes on only
    /// the replies that have it.
    identifier: Option<u16>,
}

impl EchoSocket {
    pub fn open(peer: SocketAddr, options: &EchoOptions) -> Result<Self, EchoError> {
        let version = match peer {
            SocketAddr::V4(_) => IpVersion::V4,
            SocketAddr::V6(_) => IpVersion::V6,
        };
        let protocol = match version {
            IpVersion::V4 => Protocol::ICMPV4,
            IpVersion::V6 => Protocol::ICMPV6,
        };
        let domain = Domain::for_address(peer);
        let open = |kind| Socket::new(domain, kind, Some(protocol));
        let (socket, is_raw) = match open(Type::DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => match open(Type::RAW) {
                Ok(socket) => (socket, true),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(EchoError::Forbidden);
                }
                Err(error) => return Err(error.into()),
            },
        };
        socket.set_nonblocking(true)?;
        options.apply(&socket, version, is_raw)?;
        socket.connect(&peer.into())?;
        Ok(Self {
            socket: sys::register(socket, WOKEN_BY)?,
            version,
            peer,
            identifier: is_raw.then(random_dns_id),
        })
    }

    /// Sends one request, and waits for its reply or for an error that it caused.
    pub async fn ask(&self, payload: &[u8]) -> Result<EchoReply, EchoError> {
        let asked = Echo {
            identifier: self.identifier.unwrap_or_default(),
            sequence: random_dns_id(),
            payload,
        };
        let (began, left) = (Instant::now(), sys::realtime());
        self.socket.get_ref().send(&asked.request(self.version))?;
        let mut slots = ReceiveSlots::new(1);
        let mut buffer = vec![0; MAX_PACKET];
        loop {
            let mut guard = self.socket.ready(WOKEN_BY).await?;
            let descriptor = self.socket.as_fd();
            match slots.receive(descriptor, &mut buffer, MAX_PACKET, 0) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    guard.clear_ready();
                    continue;
                }
                Err(error) => return Err(self.explained(error, &mut slots, &mut buffer)),
            }
            let Some(slot) = slots.envelopes().next() else {
                continue;
            };
            let message = buffer.get(..slot.length).unwrap_or_default();
            let is_theirs = address(slot.name).is_some_and(|from| from.ip() == self.peer.ip());
            if is_theirs && self.answers(&asked, message) {
                let control = ReceivedControl::read(slot.control);
                let (took, arrived) = (began.elapsed(), control.stamp);
                // The kernel knows the arrival more exactly than a wake-up does; a clock that was
                // set meanwhile is of no use.
                let exact = arrived.and_then(|arrived| arrived.checked_sub(left));
                return Ok(EchoReply {
                    took: exact.filter(|exact| *exact <= took).unwrap_or(took),
                    hops: control.hops,
                });
            }
        }
    }

    fn answers(&self, asked: &Echo<'_>, message: &[u8]) -> bool {
        // A raw socket of IPv4 receives whole packets.
        let is_packet = self.identifier.is_some() && self.version == IpVersion::V4;
        let packet = is_packet.then(|| Packet::parse(message).ok()).flatten();
        let message = packet.as_ref().map_or(message, Packet::payload);
        let reply = Echo::from_reply(self.version, message);
        reply.is_some_and(|reply| {
            let is_ours = self.identifier.is_none_or(|own| own == reply.identifier);
            is_ours && (reply.sequence, reply.payload) == (asked.sequence, asked.payload)
        })
    }

    /// The ICMP error behind the error of a call, if the queue has one.
    fn explained(
        &self,
        error: io::Error,
        slots: &mut ReceiveSlots,
        buffer: &mut [u8],
    ) -> EchoError {
        let descriptor = self.socket.as_fd();
        let queued = slots.receive(descriptor, buffer, MAX_PACKET, libc::MSG_ERRQUEUE);
        let slot = queued.ok().and_then(|_| slots.envelopes().next());
        match slot.and_then(|slot| ReceivedControl::read(slot.control).error) {
            Some(SendError { kind, code, by }) => EchoError::Refused {
                what: words(self.version, kind, code),
                by,
            },
            None => error.into(),
        }
    }
}

/// RFC 792, RFC 4443 §3.
fn words(version: IpVersion, kind: u8, code: u8) -> String {
    match (version, kind) {
        (IpVersion::V4, 3) | (IpVersion::V6, 1) => {
            format!("the destination is unreachable (code {code})")
        }
        (IpVersion::V6, 2) => "the packet is too big".into(),
        (IpVersion::V4, 11) | (IpVersion::V6, 3) => "the time to live was exceeded".into(),
        _ => format!("ICMP error of type {kind}, code {code}"),
    }
}

impl EchoOptions {
    fn apply(&self, socket: &Socket, version: IpVersion, is_raw: bool) -> io::Result<()> {
        // Without timestamps, the time of the wake-up is used.
        let _ = sys::set_receive_stamps(socket);
        let hops = self.hops.map(libc::c_int::from);
        let (level, limit, tell, errors) = match version {
            IpVersion::V4 => (
                libc::IPPROTO_IP,
                libc::IP_TTL,
                libc::IP_RECVTTL,
                libc::IP_RECVERR,
            ),
            IpVersion::V6 => (
                libc::IPPROTO_IPV6,
                libc::IPV6_UNICAST_HOPS,
                libc::IPV6_RECVHOPLIMIT,
                libc::IPV6_RECVERR,
            ),
        };
        let _ = sys::set_int(socket, level, tell, ON);
        if !is_raw {
            // A raw socket also receives the errors that others caused.
            sys::set_int(socket, level, errors, ON)?;
        }
        if let Some(hops) = hops {
            sys::set_int(socket, level, limit, hops)?;
        }
        if self.unfragmented && version == IpVersion::V4 {
            let probe = libc::IP_PMTUDISC_PROBE;
            sys::set_int(socket, level, libc::IP_MTU_DISCOVER, probe)?;
        }
        if let Some(from) = self.from {
            socket.bind(&SocketAddr::new(from, 0).into())?;
        }
        Ok(())
    }
}
