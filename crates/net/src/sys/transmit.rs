//! The kernel's timestamps of data that a TCP socket sends, from the socket's error queue, for
//! `departures`.

use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::set_int;
use super::udp::ControlBuffer;

/// The event of a timestamp. `include/uapi/linux/errqueue.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimestampKind {
    /// The last byte of a write left TCP for the network device (`SCM_TSTAMP_SCHED`).
    Left,
    /// The peer acknowledged the last byte of a write (`SCM_TSTAMP_ACK`).
    Acknowledged,
}

const SCM_TSTAMP_SCHED: u32 = 1;
const SCM_TSTAMP_ACK: u32 = 2;

/// One timestamp, by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransmitStamp {
    pub(crate) stage: TimestampKind,
    /// The position of the last byte of the write, counted from the first byte after the request.
    /// The kernel counts with 32 bits.
    pub(crate) place: u32,
    pub(crate) at: Duration,
}

/// The byte where the kernel starts to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountOrigin {
    /// The next byte to be written. Linux 6.2 and later.
    Written,
    /// The first unacknowledged byte.
    Unacknowledged,
}

/// Requests timestamps of all data that is written from now on. The socket must be connected.
pub(crate) fn request(socket: &impl AsRawFd, counting: CountOrigin) -> io::Result<()> {
    let mut flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_TX_SCHED
        | libc::SOF_TIMESTAMPING_TX_ACK
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    if counting == CountOrigin::Written {
        flags |= libc::SOF_TIMESTAMPING_OPT_ID_TCP;
    }
    set_int(
        socket,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        flags.cast_signed(),
    )
}

/// Takes the next timestamp from the error queue; `None` if there is none. Does not touch the
/// socket's own error.
pub(crate) fn next(socket: &impl AsRawFd) -> Option<TransmitStamp> {
    // ICMP errors are not requested, so the queue has hardly any other entries.
    const MAX_OTHERS: usize = 16;
    for _ in 0..MAX_OTHERS {
        let mut control = ControlBuffer([0; 192]);
        // SAFETY: all-zero is a valid `msghdr`.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = control.0.len();
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: `message` points to one control area, alive and of the stated length, and to no
        // other buffer.
        let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
        if n < 0 {
            return None;
        }
        if let Some(stamp) = stamp_in(&message) {
            return Some(stamp);
        }
    }
    None
}

fn stamp_in(message: &libc::msghdr) -> Option<TransmitStamp> {
    let (mut at, mut of) = (None, None);
    // SAFETY: the kernel filled the control area and set its length; CMSG_FIRSTHDR and CMSG_NXTHDR
    // stay inside it. A `scm_timestamping` begins with the software timestamp.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                    let stamp = data.cast::<libc::timespec>().read_unaligned();
                    at = (stamp.tv_sec > 0)
                        .then(|| Duration::new(stamp.tv_sec as u64, stamp.tv_nsec as u32));
                }
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    of = Some(data.cast::<libc::sock_extended_err>().read_unaligned());
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    let of = of.filter(|of| of.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING)?;
    let stage = match of.ee_info {
        SCM_TSTAMP_SCHED => TimestampKind::Left,
        SCM_TSTAMP_ACK => TimestampKind::Acknowledged,
        _ => return None,
    };
    let place = of.ee_data;
    Some(TransmitStamp {
        stage,
        place,
        at: at?,
    })
}
