//! Fast UDP: several datagrams leave in one call and are segmented by the kernel or the device
//! (`UDP_SEGMENT`); several runs, coalesced by either (`UDP_GRO`), arrive in one call. Nothing is
//! allocated on the way.
//!
//! Each datagram carries its ECN bits and its destination address. Datagrams are never fragmented;
//! one that is longer than the MTU is an error ([`is_too_long`]). The caller decides what datagrams
//! mean and when to send them.

pub(crate) mod control;
mod dispatch;
mod readiness;
mod receive_buffers;

use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use socket2::SockRef;

use crate::{listen_udp, sys};
use control::SendControl;

pub use dispatch::is_too_long;
pub use readiness::{MAX_WATCHED, WaitOutcome, Waker, WatchedDescriptor, wait_for_any};
pub use receive_buffers::{DatagramRun, MAX_SLOTS, ReceiveBuffers};

/// The largest number of datagrams in one [`Parcel`] (`UDP_MAX_SEGMENTS` of kernels before 6.9).
pub const MAX_SEGMENTS: usize = 64;
/// The largest number of bytes in one [`Parcel`]: an IPv4 packet without its header and the UDP
/// header.
pub const MAX_PARCEL_BYTES: usize = 65_507;

/// The size of the socket buffers to ask for, in bytes; the system can grant less.
const BUFFER_BYTES: libc::c_int = 4 << 20;
const ON: libc::c_int = 1;

/// Datagrams for one peer that leave in one call.
#[derive(Debug, Clone, Copy)]
pub struct Parcel<'a> {
    /// The destination, of the same address family as the socket.
    pub to: SocketAddr,
    /// The local address to send from; `None` lets the routing table choose. A connected socket has
    /// only one.
    pub from: Option<IpAddr>,
    /// The two bits of RFC 3168 §5: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// The length of each datagram except the last, which can be shorter.
    pub segment: usize,
    pub bytes: &'a [u8],
}

impl Parcel<'_> {
    /// The number of datagrams.
    fn count(&self) -> usize {
        self.bytes.len().div_ceil(self.segment.max(1)).max(1)
    }
}

/// Counts system calls, and the datagrams and bytes they carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounters {
    pub sends: u64,
    pub receives: u64,
    pub waits: u64,
    /// Datagrams that the kernel accepted.
    pub datagrams_out: u64,
    pub datagrams_in: u64,
    /// Runs of datagrams that were longer than a slot, and were dropped.
    pub truncated: u64,
}

/// A UDP socket that never blocks. Only one thread may use it at a time.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    segments: Cell<usize>,
    joins: bool,
    /// The connected peer, if any.
    peer: Option<SocketAddr>,
    /// The last error that reported an unreachable peer.
    unreachable: Cell<Option<io::ErrorKind>>,
    calls: Cell<CallCounters>,
}

impl Datagrams {
    /// Binds to an address. An IPv6 address means IPv6 only.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::from_socket(listen_udp(address, false)?)
    }

    /// Takes over a socket that is already bound (for example one of several that share an
    /// address), and connected if it should receive from one peer only.
    pub fn from_socket(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        ask_for_buffers(&socket);
        if socket.local_addr()?.is_ipv6() {
            prepare_v6(&socket)?;
            // A dual-stack socket: set the options for packets over IPv4 as well.
            let _ = prepare_v4(&socket);
        } else {
            prepare_v4(&socket)?;
        }
        let joins = sys::set_int(&socket, libc::SOL_UDP, libc::UDP_GRO, ON).is_ok();
        Ok(Self {
            peer: socket.peer_addr().ok(),
            socket,
            segments: Cell::new(MAX_SEGMENTS),
            joins,
            unreachable: Cell::default(),
            calls: Cell::default(),
        })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Enables kernel timestamps of arriving datagrams: see [`DatagramRun::moment`].
    pub fn stamp(&self) -> io::Result<()> {
        sys::set_receive_stamps(&self.socket)
    }

    /// Connects to one peer: from then on, only its datagrams arrive, and the kernel looks up the
    /// route once.
    pub fn connect(&mut self, peer: SocketAddr) -> io::Result<()> {
        self.socket.connect(peer)?;
        self.peer = Some(peer);
        Ok(())
    }

    /// Enables [`Datagrams::take_unreachable`] for a connected socket, and for all ICMP messages:
    /// otherwise the kernel reports only those that RFC 1122 §4.1.3.3 calls hard errors, and wakes
    /// no waiter.
    pub fn hear_unreachable(&self) -> io::Result<()> {
        if self.peer.is_none() {
            return Ok(());
        }
        let local = self.socket.local_addr()?;
        let (level, option) = if local.is_ipv6() {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        } else {
            (libc::IPPROTO_IP, libc::IP_RECVERR)
        };
        sys::set_int(&self.socket, level, option, ON)?;
        let urgent = libc::SO_SELECT_ERR_QUEUE;
        sys::set_int(&self.socket, libc::SOL_SOCKET, urgent, ON)
    }

    /// The error of ICMP or the routing table about the connected peer since the last call, if any.
    /// Anyone on the path, or who guesses the ports, can forge such a message.
    pub fn take_unreachable(&self) -> Option<io::ErrorKind> {
        self.unreachable.take()
    }

    /// The largest number of datagrams per call: [`MAX_SEGMENTS`], or 1 after the kernel has
    /// refused to segment.
    pub fn segments(&self) -> usize {
        self.segments.get()
    }

    /// Whether the kernel coalesces arriving datagrams (`UDP_GRO`).
    pub fn joins(&self) -> bool {
        self.joins
    }

    /// The sizes of the receive and the send buffer in bytes, including the kernel's own overhead.
    pub fn buffers(&self) -> io::Result<(usize, usize)> {
        let socket = SockRef::from(&self.socket);
        Ok((socket.recv_buffer_size()?, socket.send_buffer_size()?))
    }

    pub fn calls(&self) -> CallCounters {
        self.calls.get()
    }

    /// Sends a parcel with one `sendmsg`. Bytes beyond the segment length are split into further
    /// datagrams. If the kernel or the device has refused that once, each datagram is sent
    /// separately, now and in later calls (see [`Datagrams::segments`]).
    ///
    /// `WouldBlock` means that nothing was sent because there is no room. If the room runs out
    /// between separate datagrams, the rest is dropped, and the result is false. A datagram longer
    /// than the MTU is an error for which [`is_too_long`] holds. Too many segments or bytes are
    /// `InvalidInput`. ICMP errors about earlier datagrams are not errors of this call: see
    /// [`Datagrams::take_unreachable`].
    pub fn send(&self, parcel: &Parcel<'_>) -> io::Result<bool> {
        let is_known = self.peer == Some(parcel.to);
        let to = (!is_known).then(|| parcel.to.into());
        let call = |bytes: &[u8], segment: Option<u16>| {
            let mut outgoing = SendControl::new();
            if let Some(length) = segment {
                outgoing.segment(length);
            }
            if parcel.ecn != 0 {
                outgoing.ecn(parcel.ecn, parcel.to.ip());
            }
            if let Some(from) = parcel.from.filter(|_| !is_known) {
                outgoing.from(from);
            }
            self.count(|calls| calls.sends += 1);
            let sent = sys::udp::send(self.as_fd(), to.as_ref(), bytes, outgoing.parts());
            sent.inspect_err(|error| self.hear(error))
        };
        let sent = dispatch::dispatch(parcel, &self.segments, call)?;
        self.count(|calls| calls.datagrams_out += sent as u64);
        Ok(sent == parcel.count())
    }

    /// Receives everything available with one `recvmmsg`, and returns how many runs of datagrams
    /// `receive_buffers` now holds: at most its slots, and 0 if everything had to be dropped.
    /// `WouldBlock` means that nothing was available.
    pub fn receive(&self, intake: &mut ReceiveBuffers) -> io::Result<usize> {
        let taken = dispatch::attempt(|| {
            self.count(|calls| calls.receives += 1);
            let filled = intake.fill(self.as_fd());
            filled.inspect_err(|error| self.hear(error))
        })?;
        self.count(|calls| {
            calls.datagrams_in += taken.datagrams;
            calls.truncated += taken.truncated;
        });
        Ok(taken.runs)
    }

    /// Waits for datagrams. Returns `false` after the timeout or a signal.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        Ok(self.wait_with(false, None, timeout)?.datagrams)
    }

    /// Waits for datagrams, for room to send if `writable` is set, or for a [`Waker`].
    ///
    /// The kernel's timers can be late by the thread's slack (prctl(2), `PR_SET_TIMERSLACK`), 50 µs
    /// by default.
    pub fn wait_with(
        &self,
        room: bool,
        waker: Option<&Waker>,
        timeout: Option<Duration>,
    ) -> io::Result<WaitOutcome> {
        self.count(|calls| calls.waits += 1);
        readiness::wait(self.as_fd(), room, waker, timeout)
    }

    /// Notes an error about the connected peer.
    fn hear(&self, error: &io::Error) {
        let about_peer = dispatch::unreachable(error).filter(|_| self.peer.is_some());
        if about_peer.is_some() {
            self.unreachable.set(about_peer);
        }
        // An error about an earlier datagram has an entry in the error queue.
        if error.kind() != io::ErrorKind::WouldBlock {
            sys::udp::drop_queued_error(self.as_fd());
        }
    }

    fn count(&self, change: impl FnOnce(&mut CallCounters)) {
        let mut calls = self.calls.get();
        change(&mut calls);
        self.calls.set(calls);
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Datagrams {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Asks for larger buffers; `SO_…BUFFORCE` exceeds the system's limit if the process has that
/// right.
fn ask_for_buffers(socket: &UdpSocket) {
    for (forced, plain) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        if sys::set_int(socket, libc::SOL_SOCKET, forced, BUFFER_BYTES).is_err() {
            let _ = sys::set_int(socket, libc::SOL_SOCKET, plain, BUFFER_BYTES);
        }
    }
}

/// Forbids fragmentation and ignores ICMP messages about the MTU, because anyone can forge them.
fn prepare_v4(socket: &UdpSocket) -> io::Result<()> {
    let (level, probe) = (libc::IPPROTO_IP, libc::IP_PMTUDISC_PROBE);
    sys::set_int(socket, level, libc::IP_MTU_DISCOVER, probe)?;
    sys::set_int(socket, level, libc::IP_RECVTOS, ON)?;
    sys::set_int(socket, level, libc::IP_PKTINFO, ON)
}

fn prepare_v6(socket: &UdpSocket) -> io::Result<()> {
    let (level, probe) = (libc::IPPROTO_IPV6, libc::IPV6_PMTUDISC_PROBE);
    sys::set_int(socket, level, libc::IPV6_MTU_DISCOVER, probe)?;
    sys::set_int(socket, level, libc::IPV6_RECVTCLASS, ON)?;
    sys::set_int(socket, level, libc::IPV6_RECVPKTINFO, ON)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 §14.2.1: with this setting, the kernel believes no ICMP message about the MTU, and
    /// never fragments.
    #[test]
    fn messages_about_the_mtu_are_not_believed() {
        let settings = [
            (
                "127.0.0.1:0",
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_PROBE,
            ),
            (
                "[::1]:0",
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
            ),
        ];
        for (address, level, option, probe) in settings {
            // A machine may lack IPv6.
            let Ok(socket) = UdpSocket::bind(address) else {
                continue;
            };
            let datagrams = Datagrams::from_socket(socket).unwrap();
            assert_eq!(sys::int(&datagrams, level, option).unwrap(), probe);
        }
    }
}
