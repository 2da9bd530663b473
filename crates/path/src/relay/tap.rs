//! The relay's end of a wire, where it reads and writes frames: a packet socket, or the descriptor
//! of a TAP device.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::syscall::packet::{self, BATCH, FrameArrival};
use crate::syscall::tun;

#[derive(Debug)]
pub(crate) enum Tap {
    /// A packet socket at one end of a veth pair.
    Socket(OwnedFd),
    Device(OwnedFd),
}

impl Tap {
    pub(super) fn receive(
        &self,
        buffers: &mut [Vec<u8>],
        arrivals: &mut [FrameArrival; BATCH],
    ) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => packet::receive(socket.as_fd(), buffers, arrivals),
            Self::Device(device) => tun::receive(device.as_fd(), buffers, arrivals),
        }
    }

    pub(super) fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => packet::send(socket.as_fd(), frames),
            Self::Device(device) => tun::send(device.as_fd(), frames),
        }
    }

    /// The number of frames lost since the last call because they were not fetched in time. Always
    /// 0 for a TAP device, which does not report it.
    pub(super) fn take_missed(&self) -> u64 {
        match self {
            Self::Socket(socket) => packet::take_missed(socket.as_fd()).unwrap_or(0),
            Self::Device(_) => 0,
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Socket(tap) | Self::Device(tap) => tap.as_fd(),
        }
    }
}
