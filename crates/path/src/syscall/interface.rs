//! What is asked of an interface by `ioctl`: its offloads (ethtool) and its flags.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// Work that an interface may take over from the stack, or join up for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offload {
    /// Cut TCP super-segments.
    TcpSegmentation,
    /// Cut super-segments just above the interface.
    Segmentation,
    /// Join arriving segments.
    Receive,
    /// Finish the checksums of what leaves.
    ChecksumOut,
    /// Verify those of what arrives.
    ChecksumIn,
}

impl Offload {
    /// The `ETHTOOL_S…` command that sets it (linux/ethtool.h).
    fn command(self) -> u32 {
        match self {
            Self::TcpSegmentation => 0x1f,
            Self::Segmentation => 0x24,
            Self::Receive => 0x2c,
            Self::ChecksumOut => 0x17,
            Self::ChecksumIn => 0x15,
        }
    }
}

/// Switches an offload of the interface `name` off, in the namespace of `socket`.
pub(crate) fn switch_off(socket: BorrowedFd<'_>, name: &str, offload: Offload) -> io::Result<()> {
    let mut command = [offload.command(), 0]; // ethtool_value { cmd, data }
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = command.as_mut_ptr().cast();
    // SAFETY: `request` names the interface and points at an `ethtool_value`, both alive through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })
        .map(drop)
}

/// Whether the interface `name` is up and its wire connected, seen from the namespace of `socket`.
pub(crate) fn is_running(socket: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
    let mut request = request(name)?;
    // SAFETY: `request` names the interface and lives through the call.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFFLAGS as _,
            &raw mut request,
        )
    })?;
    // SAFETY: the kernel has just filled the flags.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(libc::c_int::from(flags) & libc::IFF_RUNNING != 0)
}

/// The number of the interface `name` in the namespace of `socket`.
pub(crate) fn index(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    let mut request = request(name)?;
    // SAFETY: `request` names the interface and lives through the call.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFINDEX as _,
            &raw mut request,
        )
    })?;
    // SAFETY: the kernel has just filled the index.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    u32::try_from(index).map_err(|_| io::ErrorKind::InvalidData.into())
}

pub(super) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` is integers and pointers, for which zeroes (null) are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

/// Gives a fresh TAP device its address on the wire and its MTU.
pub(crate) fn name_device(
    socket: BorrowedFd<'_>,
    name: &str,
    mac: [u8; 6],
    mtu: u16,
) -> io::Result<()> {
    let mut address = request(name)?;
    // SAFETY: `sockaddr` is integers, for which zeroes are valid.
    let mut hardware: libc::sockaddr = unsafe { std::mem::zeroed() };
    hardware.sa_family = libc::ARPHRD_ETHER;
    for (to, from) in hardware.sa_data.iter_mut().zip(mac) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    address.ifr_ifru.ifru_hwaddr = hardware;
    // SAFETY: `address` names the interface and lives through the call.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFHWADDR as _,
            &raw mut address,
        )
    })?;
    let mut length = request(name)?;
    length.ifr_ifru.ifru_mtu = mtu.into();
    // SAFETY: `length` names the interface and lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFMTU as _, &raw mut length) })
        .map(drop)
}
