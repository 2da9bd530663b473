//! Buffers for TLS bytes in transit. A stream holds one only while there is something in it.

use std::io::{self, Read};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::buffer_pool::{ROOM, keep_empty, keep_room, lend_empty, lend_room};

/// Bytes from the socket that have not been passed to TLS.
#[derive(Default)]
pub(super) struct Incoming {
    room: Vec<u8>,
    untaken: Range<usize>,
}

impl Incoming {
    pub(super) fn is_empty(&self) -> bool {
        self.untaken.is_empty()
    }

    pub(super) fn waiting(&self) -> &[u8] {
        self.room.get(self.untaken.clone()).unwrap_or_default()
    }

    /// Reads again. The earlier bytes must have been taken.
    pub(super) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut (impl AsyncRead + Unpin),
    ) -> Poll<io::Result<usize>> {
        let mut room = lend_room();
        let mut buffer = ReadBuf::new(room.get_mut(..ROOM).unwrap_or_default());
        let outcome = Pin::new(io).poll_read(cx, &mut buffer);
        self.untaken = 0..buffer.filled().len();
        self.room = room;
        if self.untaken.is_empty() {
            self.give_back();
        }
        ready!(outcome)?;
        Poll::Ready(Ok(self.untaken.len()))
    }

    fn give_back(&mut self) {
        keep_room(std::mem::take(&mut self.room));
    }
}

impl Read for Incoming {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.waiting().read(into)?;
        self.untaken.start += n;
        if self.untaken.is_empty() {
            self.give_back();
        }
        Ok(n)
    }
}

/// A reader that would block.
pub(super) struct EmptyReader;

impl Read for EmptyReader {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// Bytes that are ready for the socket.
#[derive(Default)]
pub(super) struct Outgoing(Vec<u8>);

impl Outgoing {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The buffer, to append to.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        if self.0.capacity() == 0 {
            self.0 = lend_empty();
        }
        &mut self.0
    }

    /// Writes until nothing is left.
    pub(super) fn poll_write_to(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        while !self.0.is_empty() {
            let n = ready!(Pin::new(&mut *io).poll_write(cx, &self.0))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.0.drain(..n);
        }
        self.give_back();
        Poll::Ready(Ok(()))
    }

    /// Drops the content.
    pub(super) fn give_back(&mut self) {
        keep_empty(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::buffer_pool::kept;

    #[test]
    fn a_buffer_is_held_only_while_it_is_not_empty() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut incoming = Incoming::default();
        let mut source: &[u8] = b"hello";
        assert!(matches!(
            incoming.poll_fill(&mut cx, &mut source),
            Poll::Ready(Ok(5))
        ));
        assert_eq!(
            (incoming.waiting(), incoming.room.len()),
            (b"hello".as_slice(), ROOM)
        );
        assert_eq!(incoming.read(&mut [0; 3]).unwrap(), 3);
        assert_eq!(incoming.waiting(), b"lo");
        assert_eq!(incoming.read(&mut [0; 3]).unwrap(), 2);
        assert_eq!(incoming.room.capacity(), 0);
        assert_eq!(kept(), (1, 0));

        let mut outgoing = Outgoing::default();
        outgoing.room().extend_from_slice(b"bye");
        let mut sink = Vec::new();
        assert!(outgoing.poll_write_to(&mut cx, &mut sink).is_ready());
        assert_eq!(
            (sink.as_slice(), outgoing.0.capacity()),
            (b"bye".as_slice(), 0)
        );
        assert_eq!(kept(), (1, 1));
    }
}
