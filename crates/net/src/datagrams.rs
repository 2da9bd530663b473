//! UDP for who wants speed: a run of datagrams leaves by one call and is cut by the kernel or the device
//! (`UDP_SEGMENT`); several runs, joined by either (`UDP_GRO`), come by one. Nothing is allocated on the way.
//!
//! Each datagram tells its ECN bits and the address that it was sent to; none is ever fragmented, and what is longer
//! than the MTU is an error ([`is_too_long`]). What the datagrams mean, and when to send them, is the caller's.

mod control;
mod dispatch;
mod intake;
mod readiness;

use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use socket2::SockRef;

use crate::{listen_udp, sys};
use control::Outgoing;

pub use dispatch::is_too_long;
pub use intake::{Arrival, Intake, MOST_SLOTS};
pub use readiness::{MOST_WATCHED, Ready, Waker, Watched, wait_for_any};

/// Datagrams that one [`Parcel`] may have (`UDP_MAX_SEGMENTS` of kernels before 6.9).
pub const MOST_SEGMENTS: usize = 64;
/// Bytes that one [`Parcel`] may have: what an IPv4 packet holds beside its header and that of UDP.
pub const MOST_BYTES: usize = 65_507;

/// Asked for, each way; the system may give less.
const BUFFER: libc::c_int = 4 << 20;
const ON: libc::c_int = 1;

/// What leaves by one call.
#[derive(Debug, Clone, Copy)]
pub struct Parcel<'a> {
    /// Of the socket's own family.
    pub to: SocketAddr,
    /// The local address it leaves from; `None` leaves it to the routes. A connected socket has but one.
    pub from: Option<IpAddr>,
    /// The two bits of RFC 3168 §5: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// The length of each datagram but the last, which may be shorter.
    pub segment: usize,
    pub bytes: &'a [u8],
}

/// How often the kernel was called, and for how much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    pub sends: u64,
    pub receives: u64,
    pub waits: u64,
    /// Those that the kernel took.
    pub datagrams_out: u64,
    pub datagrams_in: u64,
    /// Runs of datagrams that came longer than a slot, and were dropped.
    pub truncated: u64,
}

/// A UDP socket that never blocks. For one thread at a time.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    segments: Cell<usize>,
    joins: bool,
    /// The only one it hears of.
    peer: Option<SocketAddr>,
    calls: Cell<Calls>,
}

impl Datagrams {
    /// IPv6 means IPv6 alone.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::from_socket(listen_udp(address, false)?)
    }

    /// Of a socket that is bound already, such as one of several that share an address, and connected, if it is to hear of
    /// one peer alone.
    pub fn from_socket(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        ask_for_buffers(&socket);
        if socket.local_addr()?.is_ipv6() {
            prepare_v6(&socket)?;
            // A socket for both: what it takes over IPv4 is told as the rest is.
            let _ = prepare_v4(&socket);
        } else {
            prepare_v4(&socket)?;
        }
        let joins = sys::set_int(&socket, libc::SOL_UDP, libc::UDP_GRO, ON).is_ok();
        Ok(Self {
            peer: socket.peer_addr().ok(),
            socket,
            segments: Cell::new(MOST_SEGMENTS),
            joins,
            calls: Cell::default(),
        })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// From now on the kernel stamps what arrives: see [`Arrival::moment`].
    pub fn stamp(&self) -> io::Result<()> {
        sys::set_receive_stamps(&self.socket)
    }

    /// Hears of this peer alone from now on. The kernel then looks for the way to it, and from it, only once.
    pub fn connect(&mut self, peer: SocketAddr) -> io::Result<()> {
        self.socket.connect(peer)?;
        self.peer = Some(peer);
        Ok(())
    }

    /// How many datagrams leave by one call: [`MOST_SEGMENTS`], or 1 once the kernel has refused to cut.
    pub fn segments(&self) -> usize {
        self.segments.get()
    }

    /// Whether the kernel takes several datagrams for one where it can, before this socket sees them.
    pub fn joins(&self) -> bool {
        self.joins
    }

    /// The bytes that the kernel holds for this socket, to receive and to send; its own book-keeping counts as well.
    pub fn buffers(&self) -> io::Result<(usize, usize)> {
        let socket = SockRef::from(&self.socket);
        Ok((socket.recv_buffer_size()?, socket.send_buffer_size()?))
    }

    pub fn calls(&self) -> Calls {
        self.calls.get()
    }

    /// Sends by one `sendmsg`. Bytes longer than the segment are cut; once the kernel or the device has refused that,
    /// each datagram has a call of its own, here and in [`Datagrams::segments`].
    ///
    /// `WouldBlock`: nothing was sent, there is no room. Should room end in the midst of single datagrams, the rest
    /// counts as sent, and lost. A datagram that does not fit the MTU is an error for which [`is_too_long`] holds. More
    /// segments or bytes than the bounds are `InvalidInput`. What routers said of earlier datagrams (ICMP) is no error.
    pub fn send(&self, parcel: &Parcel<'_>) -> io::Result<()> {
        let is_known = self.peer == Some(parcel.to);
        let to = (!is_known).then(|| parcel.to.into());
        let call = |bytes: &[u8], segment: Option<u16>| {
            let mut outgoing = Outgoing::new();
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
            sys::udp::send(self.as_fd(), to.as_ref(), bytes, outgoing.parts())
        };
        let sent = dispatch::dispatch(parcel, &self.segments, call)?;
        self.count(|calls| calls.datagrams_out += sent as u64);
        Ok(())
    }

    /// Receives what is there by one `recvmmsg`, and returns how many runs of datagrams are in `intake` now: at most its
    /// slots, and 0 where what came had to be dropped. `WouldBlock`: nothing is there.
    pub fn receive(&self, intake: &mut Intake) -> io::Result<usize> {
        let taken = dispatch::attempt(|| {
            self.count(|calls| calls.receives += 1);
            intake.fill(self.as_fd())
        })?;
        self.count(|calls| {
            calls.datagrams_in += taken.datagrams;
            calls.truncated += taken.truncated;
        });
        Ok(taken.runs)
    }

    /// Waits until there is something to receive. `false`: the time is over, or a signal came.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        Ok(self.wait_with(false, None, timeout)?.datagrams)
    }

    /// Waits until there is something to receive, `room` to send if that is wanted, or somebody rings.
    ///
    /// The kernel's timers may be late by the thread's slack (prctl(2), `PR_SET_TIMERSLACK`), which is 50 µs if nobody
    /// has changed it.
    pub fn wait_with(
        &self,
        room: bool,
        waker: Option<&Waker>,
        timeout: Option<Duration>,
    ) -> io::Result<Ready> {
        self.count(|calls| calls.waits += 1);
        readiness::wait(self.as_fd(), room, waker, timeout)
    }

    fn count(&self, change: impl FnOnce(&mut Calls)) {
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

/// Beyond the system's limit for who may go there.
fn ask_for_buffers(socket: &UdpSocket) {
    for (forced, plain) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        if sys::set_int(socket, libc::SOL_SOCKET, forced, BUFFER).is_err() {
            let _ = sys::set_int(socket, libc::SOL_SOCKET, plain, BUFFER);
        }
    }
}

/// Don't fragment, and leave it to the caller to find the MTU: what ICMP says of it anybody may have sent.
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
