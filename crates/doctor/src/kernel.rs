//! Questions that only a system call answers. The crate's only `unsafe` is here.
//!
//! Each function asks whether the kernel lets *this* process do something, and undoes it: sockets
//! are closed, and namespaces are tried in a child that ends at once.
#![allow(unsafe_code)]

use std::fs::OpenOptions;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::{c_int, c_void, socklen_t};
use socket2::{Domain, Socket, Type};

/// `io_uring_setup(2)` takes 120 bytes of parameters; all zero asks for the default ring.
type IoUringParams = [u32; 30];

/// Exit codes of the child of [`unshare`]; larger than any errno.
const ALL_UNSHARED: i32 = 100_000;
const NETWORK_REFUSED: i32 = 50_000;

/// UDP segmentation: one `sendmsg` for many datagrams (`UDP_SEGMENT`, Linux 4.18).
pub(crate) fn try_udp_segmentation() -> io::Result<()> {
    set_option(&udp_socket()?, libc::SOL_UDP, libc::UDP_SEGMENT, 1200)
}

/// UDP coalescing: one `recvmsg` for many datagrams (`UDP_GRO`, Linux 5.0).
pub(crate) fn try_udp_coalescing() -> io::Result<()> {
    set_option(&udp_socket()?, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Software timestamps of sent and received packets (`SO_TIMESTAMPING`).
pub(crate) fn try_timestamping() -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
    let flags = c_int::try_from(flags).unwrap_or(0);
    set_option(
        &udp_socket()?,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        flags,
    )
}

/// A packet socket, as captures need it. Protocol 0 receives nothing.
pub(crate) fn try_packet_socket() -> io::Result<()> {
    Socket::new(Domain::PACKET, Type::RAW, None).map(drop)
}

/// The tunnel device, opened but not configured.
pub(crate) fn try_tunnel() -> io::Result<()> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map(drop)
}

/// An `io_uring` of one entry.
pub(crate) fn try_io_uring() -> io::Result<()> {
    let mut params: IoUringParams = [0; 30];
    // SAFETY: the kernel reads and writes the 120 bytes of `struct io_uring_params` behind the
    // pointer, which live until the call returns.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    let fd = c_int::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us; nothing else owns it.
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(())
}

/// Which namespaces a process can create.
#[derive(Debug)]
pub(crate) enum Unshared {
    /// A user namespace, and a network namespace in it.
    Both,
    /// A user namespace, but no network namespace in it.
    UserOnly(io::Error),
    /// The process could not even create a user namespace.
    Neither(io::Error),
}

/// Tries to create a user and a network namespace in a child, which ends before it would run a
/// program.
pub(crate) fn try_unshare() -> Unshared {
    let mut child = Command::new("/nonexistent");
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; the closure makes
    // system calls and builds an `io::Error` from a number, which does not allocate.
    unsafe { child.pre_exec(|| Err(io::Error::from_raw_os_error(unshare()))) };
    let code = match child.spawn() {
        Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
        // The closure always fails, so no program was started.
        Ok(_) => libc::EIO,
    };
    match code {
        ALL_UNSHARED => Unshared::Both,
        NETWORK_REFUSED.. => {
            Unshared::UserOnly(io::Error::from_raw_os_error(code - NETWORK_REFUSED))
        }
        _ => Unshared::Neither(io::Error::from_raw_os_error(code)),
    }
}

/// Makes two calls: `AppArmor` allows a process to create the user namespace and then denies it
/// capabilities there, which only the second call shows.
fn unshare() -> i32 {
    // SAFETY: `unshare` takes flags only and changes nothing but this process.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return last_errno();
    }
    // SAFETY: as above.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return NETWORK_REFUSED + last_errno();
    }
    ALL_UNSHARED
}

fn last_errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

fn udp_socket() -> io::Result<Socket> {
    // A machine may have only one of the two address families.
    Socket::new(Domain::IPV4, Type::DGRAM, None)
        .or_else(|_| Socket::new(Domain::IPV6, Type::DGRAM, None))
}

fn set_option(socket: &Socket, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let length = mem::size_of::<c_int>() as socklen_t;
    let pointer: *const c_void = (&raw const value).cast();
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns;
    // the descriptor is open as long as `socket` is borrowed.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_does_not_exist_is_refused() {
        let socket = udp_socket().unwrap();
        let error = set_option(&socket, libc::SOL_UDP, 0x7fff, 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
    }

    #[test]
    fn probing_leaves_this_process_in_its_namespaces() {
        let before = std::fs::read_link("/proc/self/ns/user").unwrap();
        let _ = try_unshare();
        assert_eq!(std::fs::read_link("/proc/self/ns/user").unwrap(), before);
    }

    #[test]
    fn a_refusal_is_an_errno_not_one_of_our_codes() {
        let error = match try_unshare() {
            Unshared::Both => return,
            Unshared::UserOnly(error) | Unshared::Neither(error) => error,
        };
        let errno = error.raw_os_error().unwrap();
        assert!((1..4096).contains(&errno), "{errno}");
    }
}
