//! TAP devices: an interface whose wire is a descriptor, with one frame for each read and write.
//!
//! `open` does not allocate: a forked child calls it.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::packet::{BATCH, FrameArrival};
use super::{check, check_length};

/// The constants of linux/if_tun.h.
const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
const TUNSETIFINDEX: libc::Ioctl = 0x4004_54da_u32 as libc::Ioctl;
const DEVICE: &CStr = c"/dev/net/tun";

/// Creates an interface of this name and index in the calling thread's network namespace. It is
/// removed when the descriptor is closed. Frames are preceded by a `virtio_net_hdr`, as with our
/// packet sockets.
pub(crate) fn open(name: &str, index: u32) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the name ends with a zero byte, as its type promises.
    let descriptor = check(unsafe { libc::open(DEVICE.as_ptr(), flags) })?;
    // SAFETY: just opened, and not owned elsewhere.
    let device = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the kernel reads one integer, which lives through the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFINDEX, &raw const index) })?;
    let mut request = super::interface::request(name)?;
    let kind = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = kind as libc::c_short;
    // SAFETY: `request` names the interface and lives through the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
    Ok(device)
}

/// Like [`super::packet::receive`], without timestamps.
pub(crate) fn receive(
    device: BorrowedFd<'_>,
    buffers: &mut [Vec<u8>],
    arrivals: &mut [FrameArrival; BATCH],
) -> io::Result<usize> {
    let mut count = 0;
    for (buffer, arrival) in buffers.iter_mut().zip(arrivals) {
        // SAFETY: pointer and length are those of one live slice.
        let read =
            unsafe { libc::read(device.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match check_length(read) {
            Ok(length) => {
                *arrival = FrameArrival {
                    length,
                    stamp: None,
                }
            }
            Err(error) if count == 0 => return Err(error),
            Err(_) => break,
        }
        count += 1;
    }
    Ok(count)
}

/// Like [`super::packet::send`].
pub(crate) fn send<'a>(
    device: BorrowedFd<'_>,
    frames: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    let mut count = 0;
    for frame in frames {
        // SAFETY: pointer and length are those of one live slice.
        let written =
            unsafe { libc::write(device.as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        match check_length(written) {
            Ok(_) => count += 1,
            Err(error) if count == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(count)
}
