//! Packet sockets: whole Ethernet frames in and out of one interface, timestamped by the kernel on
//! arrival.
//!
//! Each frame is preceded by a `virtio_net_hdr` (`PACKET_VNET_HDR`), which describes the work that
//! the sending stack left undone.

#![allow(unsafe_code)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{check, descriptor};

/// Receive buffer in bytes: room for a burst that arrives while the relay is not scheduled.
const RECEIVE_BUFFER: libc::c_int = 16 << 20;

const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Opens a packet socket that receives nothing yet. Does not allocate: a forked child calls it.
pub(crate) fn open() -> io::Result<OwnedFd> {
    descriptor::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)
}

/// Makes the socket receive everything that arrives on one interface from the wire, and send on
/// that interface without any queue.
pub(crate) fn bind(socket: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    // A buffer above the host's limit needs a capability; old kernels require it in the first user
    // namespace.
    if set(
        socket,
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        RECEIVE_BUFFER,
    )
    .is_err()
    {
        set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER)?;
    }
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    set(socket, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
    set(socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
    set(socket, libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1)?;
    // SAFETY: `sockaddr_ll` is integers, for which zeroes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: pointer and length are those of one live `sockaddr_ll`.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// The largest number of frames that one call fetches or sends.
pub(crate) const BATCH: usize = 64;

/// Length and kernel timestamp (realtime clock) of a received frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameArrival {
    pub(crate) length: usize,
    pub(crate) stamp: Option<Duration>,
}

/// Fetches frames that have arrived, header first, one for each buffer and at most [`BATCH`];
/// returns their number, or `WouldBlock` if there are none.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffers: &mut [Vec<u8>],
    arrivals: &mut [FrameArrival; BATCH],
) -> io::Result<usize> {
    let mut control = [[0_u64; 8]; BATCH];
    // SAFETY: both are integers and pointers, for which zeroes (null) are valid.
    let (mut parts, mut messages) = unsafe {
        (
            std::mem::zeroed::<[libc::iovec; BATCH]>(),
            std::mem::zeroed::<[libc::mmsghdr; BATCH]>(),
        )
    };
    let mut count = 0;
    for (((buffer, part), message), control) in buffers
        .iter_mut()
        .zip(&mut parts)
        .zip(&mut messages)
        .zip(&mut control)
    {
        part.iov_base = buffer.as_mut_ptr().cast();
        part.iov_len = buffer.len();
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = control.as_mut_ptr().cast();
        message.msg_hdr.msg_controllen = size_of_val(control) as _;
        count += 1;
    }
    // SAFETY: the first `count` messages point at buffers and control blocks that live through the
    // call.
    let received = check(unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    })?;
    let received = usize::try_from(received).unwrap_or(0);
    for (arrival, message) in arrivals.iter_mut().zip(&messages).take(received) {
        *arrival = FrameArrival {
            length: message.msg_len as usize,
            stamp: stamp(&message.msg_hdr),
        };
    }
    Ok(received)
}

/// Sends at most [`BATCH`] frames, header first, and returns how many have left.
pub(crate) fn send<'a>(
    socket: BorrowedFd<'_>,
    frames: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    // SAFETY: both are integers and pointers, for which zeroes (null) are valid.
    let (mut parts, mut messages) = unsafe {
        (
            std::mem::zeroed::<[libc::iovec; BATCH]>(),
            std::mem::zeroed::<[libc::mmsghdr; BATCH]>(),
        )
    };
    let mut count = 0;
    for ((frame, part), message) in frames.zip(&mut parts).zip(&mut messages) {
        part.iov_base = frame.as_ptr().cast_mut().cast();
        part.iov_len = frame.len();
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    // SAFETY: the first `count` messages point at frames that live through the call and are only
    // read.
    let sent = check(unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT as _,
        )
    })?;
    Ok(usize::try_from(sent).unwrap_or(0))
}

/// The number of frames that the kernel has dropped since the last call because they were not
/// fetched in time.
pub(crate) fn take_missed(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut statistics = [0_u32; 2]; // tpacket_stats: packets, drops
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the array, which lives through the
    // call.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            PACKET_STATISTICS,
            statistics.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok(statistics[1].into())
}

fn stamp(message: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel filled the control buffer that `message` points at and set its length; the
    // CMSG macros walk it within that length, and a SCM_TIMESTAMPNS message holds one `timespec`.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET
                && (*header).cmsg_type == libc::SCM_TIMESTAMPNS
            {
                let time = libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

fn set(socket: BorrowedFd<'_>, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: pointer and length are those of one live integer.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    })
    .map(drop)
}
