//! System calls that the tests need.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

pub(crate) fn set(socket: &impl AsRawFd, level: i32, name: i32, value: i32) {
    // SAFETY: pointer and length are those of one live integer.
    let returned = unsafe {
        let length = size_of::<i32>() as libc::socklen_t;
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, name, value, length)
    };
    assert_eq!(returned, 0, "{}", io::Error::last_os_error());
}

/// Enters a new network namespace with a loopback of this MTU; `false` without the right to do so.
pub(crate) fn enter_network(mtu: i32) -> bool {
    // SAFETY: takes integers only, and affects only this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return false;
    }
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: `ifreq` is integers and pointers, for which zeroes (null) are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_mtu = mtu;
    ask(&socket, libc::SIOCSIFMTU as _, &mut request);
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    ask(&socket, libc::SIOCSIFFLAGS as _, &mut request);
    true
}

fn ask(socket: &impl AsRawFd, what: libc::Ioctl, request: &mut libc::ifreq) {
    // SAFETY: `request` names the interface and outlives the call.
    let returned = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut *request) };
    assert_eq!(returned, 0, "{}", io::Error::last_os_error());
}
