//! Waits until a socket is writable, although timestamps arrive in its error queue.
//!
//! The runtime treats an entry in the error queue as if the writing half were closed, and never
//! reverts that: a wait for writability would spin. So the socket is registered for reading, and a
//! second time for writing while a write has to wait; a registration that the runtime considers
//! closed is replaced.

use std::io;
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sys;

/// The registration for writing, while there is one.
#[derive(Debug, Default)]
pub(crate) struct Room(Option<AsyncFd<socket2::Socket>>);

impl Room {
    /// Ready when it is worth trying to write.
    pub(crate) fn poll(
        &mut self,
        socket: &socket2::Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let watched = match self.0.take() {
            Some(watched) => watched,
            None => sys::register(socket.try_clone()?, Interest::WRITABLE)?,
        };
        let is_closed = match watched.poll_write_ready(cx) {
            Poll::Pending => None,
            Poll::Ready(guard) => {
                let mut guard = guard?;
                let is_closed = guard.ready().is_write_closed();
                guard.clear_ready();
                Some(is_closed)
            }
        };
        if is_closed != Some(true) {
            self.0 = Some(watched);
        }
        is_closed.map_or(Poll::Pending, |_| Poll::Ready(Ok(())))
    }

    /// Drops the registration when no write waits any more.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}
