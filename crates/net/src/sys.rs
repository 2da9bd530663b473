//! System calls that the standard library and `socket2` do not offer, for TCP; those for datagrams
//! and threads are in the submodules. The crate's only `unsafe` code is here.

#![allow(unsafe_code)]

pub(crate) mod alarm;
pub(crate) mod background;
pub(crate) mod thread;
pub(crate) mod transmit;
pub(crate) mod udp;

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

const READABLE_OR_URGENT: Interest = Interest::READABLE.add(Interest::PRIORITY);

/// The part of the kernel's `struct tcp_info`, as of Linux 6.2, that is read here. An older kernel
/// leaves the end unchanged. `include/uapi/linux/tcp.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawTcpInfo {
    pub(crate) state: u8,
    pub(crate) ca_state: u8,
    pub(crate) retransmits: u8,
    pub(crate) probes: u8,
    pub(crate) backoff: u8,
    pub(crate) options: u8,
    pub(crate) wscale: u8,
    /// Bit 0: application limited; bits 1–2: why fast open failed.
    pub(crate) flags: u8,
    pub(crate) rto: u32,
    pub(crate) ato: u32,
    pub(crate) snd_mss: u32,
    pub(crate) rcv_mss: u32,
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    pub(crate) fackets: u32,
    pub(crate) last_data_sent: u32,
    pub(crate) last_ack_sent: u32,
    pub(crate) last_data_recv: u32,
    pub(crate) last_ack_recv: u32,
    pub(crate) pmtu: u32,
    pub(crate) rcv_ssthresh: u32,
    pub(crate) rtt: u32,
    pub(crate) rttvar: u32,
    pub(crate) snd_ssthresh: u32,
    pub(crate) snd_cwnd: u32,
    pub(crate) advmss: u32,
    pub(crate) reordering: u32,
    pub(crate) rcv_rtt: u32,
    pub(crate) rcv_space: u32,
    pub(crate) total_retrans: u32,
    pub(crate) pacing_rate: u64,
    pub(crate) max_pacing_rate: u64,
    pub(crate) bytes_acked: u64,
    pub(crate) bytes_received: u64,
    pub(crate) segs_out: u32,
    pub(crate) segs_in: u32,
    pub(crate) notsent_bytes: u32,
    pub(crate) min_rtt: u32,
    pub(crate) data_segs_in: u32,
    pub(crate) data_segs_out: u32,
    pub(crate) delivery_rate: u64,
    pub(crate) busy_time: u64,
    /// The time in microseconds.
    pub(crate) rwnd_limited: u64,
    pub(crate) sndbuf_limited: u64,
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_retrans: u64,
    pub(crate) dsack_dups: u32,
    pub(crate) reord_seen: u32,
    pub(crate) rcv_ooopack: u32,
    pub(crate) snd_wnd: u32,
    /// The receive window; `u32::MAX` if the kernel does not report it.
    pub(crate) rcv_wnd: u32,
    /// The structure's length is a multiple of 8.
    pub(crate) rehash: u32,
}

impl RawTcpInfo {
    /// Reads the structure as far as `bytes` contain it.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut info = Self {
            rcv_wnd: u32::MAX,
            ..Self::default()
        };
        let length = bytes.len().min(mem::size_of::<Self>());
        // SAFETY: `length` bytes can be read and written, the two do not overlap, and every pattern
        // of bytes is a valid `RawTcpInfo`, which holds plain integers.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut info).cast::<u8>(), length);
        }
        info
    }
}

pub(crate) fn tcp_info(socket: &impl AsRawFd) -> io::Result<RawTcpInfo> {
    let mut info = RawTcpInfo {
        rcv_wnd: u32::MAX,
        ..RawTcpInfo::default()
    };
    let mut length = mem::size_of::<RawTcpInfo>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `info`; the kernel writes at most `length` bytes
    // of plain integers.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if outcome == 0 {
        Ok(info)
    } else {
        Err(io::Error::last_os_error())
    }
}

pub(crate) fn congestion_control(socket: &impl AsRawFd) -> io::Result<String> {
    let mut name = [0u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `name`; the kernel writes at most `length` bytes.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(name
        .iter()
        .take_while(|b| **b != 0)
        .map(|b| char::from(*b))
        .collect())
}

/// `TCP_FASTOPEN_CONNECT`: if a cookie is known, `connect` returns at once, and the first write
/// leaves in the SYN.
pub(crate) fn set_fast_open_connect(socket: &impl AsRawFd) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, 1)
}

/// `TCP_FASTOPEN`: lets a listening socket accept data in SYNs, with at most this many connections
/// pending.
pub(crate) fn set_fast_open_queue(socket: &impl AsRawFd, length: u32) -> io::Result<()> {
    let length = libc::c_int::try_from(length).unwrap_or(libc::c_int::MAX);
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, length)
}

/// `TCP_FASTOPEN_KEY`: the key of a listener's cookies. Listeners with the same key accept each
/// other's cookies.
pub(crate) fn set_fast_open_key(socket: &impl AsRawFd, key: &[u8; 16]) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `key`, which outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_FASTOPEN_KEY,
            key.as_ptr().cast(),
            key.len() as libc::socklen_t,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `TCP_DEFER_ACCEPT`: connections are ready to be accepted once data has arrived, or after this
/// many seconds.
pub(crate) fn set_defer_accept(socket: &impl AsRawFd, seconds: u32) -> io::Result<()> {
    let seconds = libc::c_int::try_from(seconds).unwrap_or(libc::c_int::MAX);
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, seconds)
}

/// Duplicates a descriptor that another program opened. Programs that this process starts inherit
/// neither of the two.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: these calls take no pointers, and the new descriptor has no other owner.
    unsafe {
        let copy = libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0);
        if copy < 0 || libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// Returns memory that the allocator keeps, although nothing uses it, to the kernel.
pub fn return_free_memory() {
    // SAFETY: the call takes no pointers, and touches only memory that nothing uses.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Requests kernel timestamps of arriving data.
pub(crate) fn set_receive_stamps(socket: &impl AsRawFd) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

pub(crate) fn set_int(
    socket: &impl AsRawFd,
    level: i32,
    option: i32,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            mem::size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
pub(crate) fn int(socket: &impl AsRawFd, level: i32, option: i32) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`; the kernel writes at most `length`
    // bytes.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    if outcome == 0 {
        Ok(value)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The memory of received data that has not been read, in bytes with the kernel's overhead: in the
/// receive queue, behind a gap, and in the error queue. `None` before Linux 4.12.
pub(crate) fn received_memory(socket: &impl AsRawFd) -> Option<u32> {
    /// `include/uapi/asm-generic/socket.h`.
    const SO_MEMINFO: libc::c_int = 55;
    let mut memory = [0u32; libc::SK_MEMINFO_DROPS as usize + 1];
    let mut length = mem::size_of_val(&memory) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `memory`; the kernel writes at most `length`
    // bytes of plain integers.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            memory.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (outcome == 0).then_some(memory[libc::SK_MEMINFO_RMEM_ALLOC as usize])
}

/// Registers a socket with the runtime.
pub(crate) fn register(
    socket: socket2::Socket,
    interest: Interest,
) -> io::Result<AsyncFd<socket2::Socket>> {
    // SAFETY: `socket` owns its descriptor, keeps the same one for its whole life, and is moved
    // into the result.
    unsafe { AsyncFd::register_with_interest(socket, interest) }.map_err(io::Error::from)
}

/// Registers a descriptor with the runtime, for reading; a socket's error also counts as readable,
/// if it is urgent (`SO_SELECT_ERR_QUEUE`).
pub(crate) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: it is owned, moved into the result, and stays the same there: `Watch` does not give
    // access to it.
    unsafe { AsyncFd::register_with_interest(descriptor, READABLE_OR_URGENT) }
        .map_err(io::Error::from)
}

/// A buffer with the alignment of control messages.
#[repr(C, align(8))]
struct StampBuffer([u8; 64]);

/// Receives into `buffer`; returns the length, and the kernel's timestamp of the last segment, if
/// any.
pub(crate) fn receive(
    socket: &impl AsRawFd,
    buffer: &mut [u8],
    peek: bool,
) -> io::Result<(usize, Option<Duration>)> {
    let mut control = StampBuffer([0; 64]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all-zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = control.0.len();
    let flags = if peek { libc::MSG_PEEK } else { 0 } | libc::MSG_DONTWAIT;
    // SAFETY: `message` points to one buffer and one control area, both alive and of the stated
    // lengths.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    if n < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((n as usize, stamp_in(&message)))
}

fn stamp_in(message: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel filled the control area and set its length; CMSG_FIRSTHDR and CMSG_NXTHDR
    // stay inside it.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET
                && (*header).cmsg_type == libc::SCM_TIMESTAMPNS
            {
                let stamp = libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return (stamp.tv_sec > 0)
                    .then(|| Duration::new(stamp.tv_sec as u64, stamp.tv_nsec as u32));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

pub(crate) fn realtime() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the call to fill; CLOCK_REALTIME always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The width of a terminal in columns; `None` if the descriptor is not a terminal.
pub fn terminal_width(stream: &impl AsRawFd) -> Option<usize> {
    window(stream)
        .map(|size| size.ws_col.into())
        .filter(|n| *n > 0)
}

/// The height of a terminal in lines; `None` if the stream is not a terminal.
pub fn terminal_height(stream: &impl AsRawFd) -> Option<usize> {
    window(stream)
        .map(|size| size.ws_row.into())
        .filter(|n| *n > 0)
}

fn window(stream: &impl AsRawFd) -> Option<libc::winsize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `size` is a valid winsize for the call to fill.
    let outcome = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (outcome == 0).then_some(size)
}
