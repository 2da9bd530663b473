//! Waits for datagrams, for room to send, and for other threads, with microsecond precision
//! (`ppoll`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::sys;

/// The largest number of descriptors that one call waits for.
pub const MAX_WATCHED: usize = 16;

const NOBODY: libc::pollfd = libc::pollfd {
    fd: -1,
    events: 0,
    revents: 0,
};

/// Ends the wait of another thread. Clones wake the same waiter.
#[derive(Debug, Clone)]
pub struct Waker {
    event: Arc<File>,
}

impl Waker {
    pub fn new() -> io::Result<Self> {
        let event = Arc::new(sys::udp::event()?.into());
        Ok(Self { event })
    }

    /// Ends the current wait, or else the next one. Several calls before the next wait end only
    /// that one.
    pub fn wake(&self) {
        // Fails only after 2⁶⁴ − 2 calls that were not consumed: then the waiter wakes anyway.
        let _ = (&*self.event).write(&1_u64.to_ne_bytes());
    }

    /// Whether [`Waker::wake`] was called since the last call of this function. Only for callers
    /// that watch the descriptor themselves: [`Datagrams::wait_with`](super::Datagrams::wait_with)
    /// has already reset it.
    pub fn hear(&self) -> bool {
        (&*self.event).read(&mut [0; 8]).is_ok()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// The reason why a wait ended; all `false` after the timeout or a signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitOutcome {
    /// There is something to receive, or an error to report.
    pub datagrams: bool,
    /// There is room to send.
    pub room: bool,
    /// The [`Waker`] was used.
    pub woken: bool,
}

/// A descriptor, and the event to wait for.
#[derive(Debug)]
pub struct WatchedDescriptor<'a> {
    descriptor: BorrowedFd<'a>,
    writes: bool,
    is_ready: bool,
}

impl<'a> WatchedDescriptor<'a> {
    /// Waits until the descriptor is readable.
    pub fn for_reading(descriptor: &'a impl AsFd) -> Self {
        Self::new(descriptor.as_fd(), false)
    }

    /// Waits until the descriptor is writable.
    pub fn for_writing(descriptor: &'a impl AsFd) -> Self {
        Self::new(descriptor.as_fd(), true)
    }

    fn new(descriptor: BorrowedFd<'a>, writes: bool) -> Self {
        Self {
            descriptor,
            writes,
            is_ready: false,
        }
    }

    /// Whether the descriptor was ready when the last wait ended. After an error or a hang-up it
    /// counts as readable and writable.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn events(&self) -> libc::c_short {
        if self.writes {
            libc::POLLOUT
        } else {
            libc::POLLIN
        }
    }
}

/// Waits until one of the descriptors is ready, and returns how many are: 0 after the timeout
/// (`None`: no timeout) or a signal. More than [`MAX_WATCHED`] are `InvalidInput`.
pub fn wait_for_any(
    watched: &mut [WatchedDescriptor<'_>],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let mut places = [NOBODY; MAX_WATCHED];
    let places = places
        .get_mut(..watched.len())
        .ok_or(io::ErrorKind::InvalidInput)?;
    for (place, one) in places.iter_mut().zip(&*watched) {
        place.fd = one.descriptor.as_raw_fd();
        place.events = one.events();
    }
    let ready = sys::udp::poll(places, timeout)?;
    for (place, one) in places.iter().zip(watched) {
        one.is_ready = place.revents != 0;
    }
    Ok(ready)
}

pub(super) fn wait(
    socket: BorrowedFd<'_>,
    room: bool,
    waker: Option<&Waker>,
    timeout: Option<Duration>,
) -> io::Result<WaitOutcome> {
    let mut places = [NOBODY; 2];
    let [of_socket, of_waker] = &mut places;
    of_socket.fd = socket.as_raw_fd();
    of_socket.events = libc::POLLIN | if room { libc::POLLOUT } else { 0 };
    if let Some(waker) = waker {
        of_waker.fd = waker.event.as_raw_fd();
        of_waker.events = libc::POLLIN;
    }
    sys::udp::poll(&mut places, timeout)?;
    let [of_socket, of_waker] = places;
    Ok(WaitOutcome {
        datagrams: of_socket.revents & !libc::POLLOUT != 0,
        room: of_socket.revents & libc::POLLOUT != 0,
        woken: of_waker.revents != 0 && waker.is_some_and(Waker::hear),
    })
}
