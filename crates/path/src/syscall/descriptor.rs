//! Descriptors and how they are passed: sockets, socket pairs, `SCM_RIGHTS`, event counters.
//!
//! `socket` and `send_descriptors` do not allocate: a forked child calls them.

#![allow(unsafe_code)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::{check, check_length};

/// The largest number of descriptors in one message here.
pub(crate) const MAX_DESCRIPTORS: usize = 12;

/// Room for one control message of `MAX_DESCRIPTORS`, aligned as `cmsghdr` requires.
type Control = [u64; 2 + MAX_DESCRIPTORS / 2];

/// Opens a socket in the caller's network namespace. It stays there, even if its descriptor is sent
/// elsewhere.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes integers only.
    let descriptor = check(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: just opened, and not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Returns two connected sockets that keep message boundaries. When the last copy of one is closed,
/// the other reads an end of file.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes two descriptors into the array of two.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    // SAFETY: both were just opened, and are not owned elsewhere.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Makes an event counter: its descriptor is readable once it has been raised.
pub(crate) fn event() -> io::Result<OwnedFd> {
    // SAFETY: takes integers only.
    let descriptor = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: just opened, and not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Raises an event counter: from now on it is readable for all its watchers.
pub(crate) fn raise(event: BorrowedFd<'_>) -> io::Result<()> {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: pointer and length are those of one live array.
    let written = unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    check_length(written).map(drop)
}

/// Sends `bytes` together with copies of `descriptors`.
pub(crate) fn send_descriptors(
    line: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[RawFd],
) -> io::Result<()> {
    if descriptors.len() > MAX_DESCRIPTORS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut control: Control = [0; 2 + MAX_DESCRIPTORS / 2];
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let mut message = message(&mut part);
    if !descriptors.is_empty() {
        let length = size_of_val(descriptors) as u32;
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE and CMSG_LEN only compute; `control` has room for the maximum checked
        // above, so the first header and its data lie inside it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(length) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as _;
            let mut data = libc::CMSG_DATA(header);
            for descriptor in descriptors {
                data.cast::<RawFd>().write_unaligned(*descriptor);
                data = data.add(size_of::<RawFd>());
            }
        }
    }
    // SAFETY: `message` points at `bytes` and `control`, which live through the call.
    let sent = unsafe { libc::sendmsg(line.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    check_length(sent).map(drop)
}

/// Receives one message: returns its length in `bytes`, and its descriptors. A length of 0 is the
/// end of file.
pub(crate) fn receive_descriptors(
    line: BorrowedFd<'_>,
    bytes: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control: Control = [0; 2 + MAX_DESCRIPTORS / 2];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let mut message = message(&mut part);
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    let length = loop {
        // SAFETY: `message` points at `bytes` and `control`, which live through the call.
        let received =
            unsafe { libc::recvmsg(line.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        match check_length(received) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    Ok((length, take_descriptors(&message)))
}

/// Takes ownership of the descriptors in a received message.
fn take_descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut taken = Vec::new();
    // SAFETY: the kernel filled the control buffer that `message` points at and set its length; the
    // CMSG macros walk it within that length, and each number in an SCM_RIGHTS message is a
    // descriptor just opened for us alone.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_RIGHTS
        {
            return taken;
        }
        let count = ((*header).cmsg_len - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
        let mut data = libc::CMSG_DATA(header);
        for _ in 0..count {
            let descriptor = data.cast::<RawFd>().read_unaligned();
            taken.push(OwnedFd::from_raw_fd(descriptor));
            data = data.add(size_of::<RawFd>());
        }
    }
    taken
}

fn message(part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: `msghdr` is integers and pointers, for which zeroes (null) are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message
}
