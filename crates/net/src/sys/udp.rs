//! The system calls of datagrams: many segments sent by one call, many datagrams received by one,
//! and waits with microsecond precision. `datagrams::control` encodes and decodes the control
//! messages.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use socket2::SockAddr;

/// A buffer for control messages, aligned like their headers. It has room for all messages of a
/// datagram of either family, and for a timestamp with its description.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct ControlBuffer(pub(crate) [u8; 192]);

/// An address buffer that is large enough and aligned for `sockaddr_in` and `sockaddr_in6`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct AddressBuffer([u8; 32]);

/// One `sendmsg`, without an address on a connected socket; `control` is the filled length of the
/// control buffer.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    to: Option<&SockAddr>,
    bytes: &[u8],
    (control, filled): (&ControlBuffer, usize),
) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all-zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    if let Some(to) = to {
        message.msg_name = to.as_ptr().cast_mut().cast();
        message.msg_namelen = to.len();
    }
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if filled > 0 {
        message.msg_control = control.0.as_ptr().cast_mut().cast();
        message.msg_controllen = filled.min(control.0.len());
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: address, bytes and control area are alive and of the stated lengths; sending only
    // reads them.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Removes the oldest entry of the socket's error queue; false if there is none.
pub(crate) fn drop_queued_error(socket: BorrowedFd<'_>) -> bool {
    // SAFETY: all-zero is a valid `msghdr`. Without buffers the kernel writes only its flags.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: `message` is alive, and has no buffers.
    unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) >= 0 }
}

/// The results that `recvmmsg` writes beside the bytes of each message; created once and reused.
pub(crate) struct ReceiveSlots {
    headers: Box<[libc::mmsghdr]>,
    parts: Box<[libc::iovec]>,
    names: Box<[AddressBuffer]>,
    controls: Box<[ControlBuffer]>,
}

// SAFETY: its pointers are rewritten before each call that uses them, and not used between calls.
unsafe impl Send for ReceiveSlots {}

/// A received message, without its bytes.
pub(crate) struct FilledSlot<'a> {
    /// A `sockaddr` as the kernel writes it.
    pub(crate) name: &'a [u8],
    pub(crate) control: &'a [u8],
    pub(crate) length: usize,
    /// Whether bytes or control messages did not fit.
    pub(crate) truncated: bool,
}

impl ReceiveSlots {
    pub(crate) fn new(count: usize) -> Self {
        // SAFETY: all-zero is a valid `mmsghdr` and a valid `iovec`: integers, and pointers that
        // can be null.
        let (header, part) = unsafe { (mem::zeroed(), mem::zeroed()) };
        Self {
            headers: vec![header; count].into(),
            parts: vec![part; count].into(),
            names: vec![AddressBuffer([0; 32]); count].into(),
            controls: vec![ControlBuffer([0; 192]); count].into(),
        }
    }

    /// One `recvmmsg` with these flags into slots of `size` bytes. Returns how many were filled.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        bytes: &mut [u8],
        size: usize,
        flags: libc::c_int,
    ) -> io::Result<usize> {
        let pieces = bytes.chunks_exact_mut(size);
        let count = pieces.len().min(self.headers.len());
        let rest = self.parts.iter_mut().zip(&mut self.names);
        let rest = rest.zip(&mut self.controls);
        for ((piece, header), ((part, name), control)) in pieces.zip(&mut self.headers).zip(rest) {
            part.iov_base = piece.as_mut_ptr().cast();
            part.iov_len = piece.len();
            let message = &mut header.msg_hdr;
            message.msg_name = (&raw mut *name).cast();
            message.msg_namelen = mem::size_of::<AddressBuffer>() as libc::socklen_t;
            message.msg_iov = &raw mut *part;
            message.msg_iovlen = 1;
            message.msg_control = (&raw mut *control).cast();
            message.msg_controllen = mem::size_of::<ControlBuffer>();
            message.msg_flags = 0;
            header.msg_len = 0;
        }
        // SAFETY: the first `count` headers point to an address, a piece and a control area each,
        // all alive, distinct and of the stated lengths.
        let filled = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                (libc::MSG_DONTWAIT | flags) as _,
                ptr::null_mut(),
            )
        };
        usize::try_from(filled).map_err(|_| io::Error::last_os_error())
    }

    /// The results of the last call, in order; only as many as it returned are meaningful.
    pub(crate) fn envelopes(&self) -> impl Iterator<Item = FilledSlot<'_>> {
        let beside = self.names.iter().zip(&self.controls);
        let lost = libc::MSG_TRUNC | libc::MSG_CTRUNC;
        self.headers
            .iter()
            .zip(beside)
            .map(move |(header, (name, control))| {
                let message = &header.msg_hdr;
                let name_length = message.msg_namelen as usize;
                let control_length = message.msg_controllen;
                FilledSlot {
                    name: name.0.get(..name_length).unwrap_or_default(),
                    control: control.0.get(..control_length).unwrap_or_default(),
                    length: header.msg_len as usize,
                    truncated: message.msg_flags & lost != 0,
                }
            })
    }
}

/// Waits until one of them is ready, the timeout has passed (`None`: no timeout), or a signal
/// arrived. Returns how many are ready.
pub(crate) fn poll(watched: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<usize> {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: pointer and length are those of `watched`; the timeout is null or alive; no signal
    // mask is given.
    let ready = unsafe {
        libc::ppoll(
            watched.as_mut_ptr(),
            watched.len() as libc::nfds_t,
            timeout,
            ptr::null(),
        )
    };
    usize::try_from(ready).or_else(|_| {
        let error = io::Error::last_os_error();
        match error.kind() {
            // The kernel has not written `revents`.
            io::ErrorKind::Interrupted => {
                for one in watched {
                    one.revents = 0;
                }
                Ok(0)
            }
            _ => Err(error),
        }
    })
}

/// A counter whose descriptor is readable while it is not 0.
pub(crate) fn event() -> io::Result<OwnedFd> {
    // SAFETY: takes integers only.
    let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and not owned by anything else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
