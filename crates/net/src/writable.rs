//! Waits until a socket is writable, although timestamps arrive in its error queue.
//!
//! The runtime treats an entry in the error queue as if the writing half were closed, and never
//! reverts that: a wait for writability would spin. So the socket is registered for reading, and a
//! second time for writing while a write has to wait; a registration that the runtime considers
//! closed is replaced.

use std::io;
use std::task::{Context, Poll, Waker};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sys;

/// The registration of a socket for writability, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Writable {
    watched: Option<AsyncFd<socket2::Socket>>,
    /// The task that was told to wait.
    waiting: Option<Waker>,
}

impl Writable {
    /// Ready when it is worth trying to write.
    pub(crate) fn poll(
        &mut self,
        socket: &socket2::Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let watched = match self.watched.take() {
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
            self.watched = Some(watched);
        }
        if is_closed.is_some() {
            self.waiting = None;
            return Poll::Ready(Ok(()));
        }
        self.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Drops the registration once a write has succeeded. A task that was told to wait is woken,
    /// because it may have put off other work (the `h2` crate does that, and writes again before it
    /// returns).
    pub(crate) fn forget(&mut self) {
        self.watched = None;
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn a_waiting_task_is_woken_even_if_a_later_write_succeeds_at_once() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        while (&near).write(&[0; 4096]).is_ok() {}
        let socket = socket2::Socket::from(std::os::fd::OwnedFd::from(near));
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut room = Writable::default();
        assert!(
            room.poll(&socket, &mut Context::from_waker(&waker))
                .is_pending()
        );
        // The owner writes again before the runtime notices that there is room.
        far.read_exact(&mut vec![0; 65_536]).unwrap();
        assert!(socket.send(&[0; 16]).is_ok());
        room.forget();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        room.forget();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }
}
