//! Buffers of a server's stream. The stream holds one only while there is something in it.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::InsufficientSizeError;
use crate::buffer_pool::{ROOM, keep_room, lend_room};

/// Bytes from the socket that TLS has not processed.
#[derive(Default)]
pub(super) struct ReceivedRecords {
    room: Vec<u8>,
    held: Range<usize>,
}

impl ReceivedRecords {
    pub(super) fn holding(room: Vec<u8>) -> Self {
        let held = 0..room.len();
        Self { room, held }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        self.room.get_mut(self.held.clone()).unwrap_or_default()
    }

    /// The first bytes have been processed.
    pub(super) fn discard(&mut self, count: usize) {
        self.held.start = (self.held.start + count).min(self.held.end);
        if self.held.is_empty() {
            self.give_back();
        }
    }

    /// Reads more bytes and appends them; returns 0 at the end of the stream.
    pub(super) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut (impl AsyncRead + Unpin),
    ) -> Poll<io::Result<usize>> {
        if self.held.is_empty() {
            (self.room, self.held) = (lend_room(), 0..0);
        } else if self.held.end == self.room.len() {
            self.make_room()?;
        }
        let room = self.room.get_mut(self.held.end..).unwrap_or_default();
        let mut buffer = ReadBuf::new(room);
        let outcome = Pin::new(io).poll_read(cx, &mut buffer);
        let count = buffer.filled().len();
        self.held.end += count;
        if self.held.is_empty() {
            self.give_back();
        }
        ready!(outcome)?;
        Poll::Ready(Ok(count))
    }

    /// Moves the bytes to the beginning of a buffer with room behind them.
    fn make_room(&mut self) -> io::Result<()> {
        let count = self.held.len();
        if count >= ROOM {
            // TLS has no larger record, and joins handshake messages that are too long itself.
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut room = lend_room();
        let (start, held) = (room.get_mut(..count), self.room.get(self.held.clone()));
        if let (Some(start), Some(held)) = (start, held) {
            start.copy_from_slice(held);
        }
        keep_room(std::mem::replace(&mut self.room, room));
        self.held = 0..count;
        Ok(())
    }

    /// Drops the content.
    pub(super) fn give_back(&mut self) {
        self.held = 0..0;
        keep_room(std::mem::take(&mut self.room));
    }
}

impl Drop for ReceivedRecords {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Bytes that are ready for the socket.
#[derive(Default)]
pub(super) struct SentRecords {
    room: Vec<u8>,
    held: Range<usize>,
}

impl SentRecords {
    pub(super) fn bytes(&self) -> &[u8] {
        self.room.get(self.held.clone()).unwrap_or_default()
    }

    /// Appends what `write` writes. `write` first gets `guess` bytes of room; if it asks for more,
    /// it is called again with that much. It is an error if `write` fails without asking for more.
    pub(super) fn append(
        &mut self,
        guess: usize,
        mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<InsufficientSizeError>>,
    ) -> io::Result<()> {
        if self.held.is_empty() {
            self.give_back();
            self.room = lend_room();
        }
        // A buffer that is never empty must not grow.
        if self.held.start >= self.held.len() {
            self.room.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
        }
        let mut needed = guess;
        for _ in 0..2 {
            let end = self.held.end + needed;
            if self.room.len() < end {
                self.room.resize(end, 0);
            }
            match write(self.room.get_mut(self.held.end..).unwrap_or_default()) {
                Ok(count) => {
                    self.held.end += count;
                    return Ok(());
                }
                Err(Some(size)) => needed = size.required_size,
                Err(None) => break,
            }
        }
        Err(io::Error::other("TLS cannot encrypt any more"))
    }

    /// Writes until nothing is left.
    pub(super) fn poll_write_to(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let count = ready!(Pin::new(&mut *io).poll_write(cx, self.bytes()))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.held.start += count;
        }
        self.give_back();
        Poll::Ready(Ok(()))
    }

    /// Drops the content.
    pub(super) fn give_back(&mut self) {
        self.held = 0..0;
        keep_room(std::mem::take(&mut self.room));
    }
}

impl Drop for SentRecords {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Decrypted bytes that have not been read yet.
#[derive(Default)]
pub(super) struct Plaintext {
    bytes: Vec<u8>,
    /// The number of bytes that have been read.
    read: usize,
}

impl Plaintext {
    /// Gives decrypted bytes to a reader, and keeps those for which it has no room.
    pub(super) fn deliver(&mut self, bytes: &[u8], into: Option<&mut ReadBuf<'_>>) {
        let mut rest = bytes;
        if let Some(into) = into.filter(|_| self.bytes.is_empty()) {
            let (fits, later) = bytes.split_at(bytes.len().min(into.remaining()));
            into.put_slice(fits);
            rest = later;
        }
        self.bytes.extend_from_slice(rest);
    }

    /// Reads stored bytes; returns `false` if there are none.
    pub(super) fn read(&mut self, into: &mut ReadBuf<'_>) -> bool {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
        let count = rest.len().min(into.remaining());
        into.put_slice(rest.get(..count).unwrap_or_default());
        self.read += count;
        if self.read == self.bytes.len() {
            *self = Self::default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::buffer_pool::kept;

    fn fill(incoming: &mut ReceivedRecords, mut source: &[u8]) -> io::Result<usize> {
        let mut cx = Context::from_waker(Waker::noop());
        match incoming.poll_fill(&mut cx, &mut source) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    #[test]
    fn a_buffer_is_held_only_while_it_is_not_empty() {
        let mut incoming = ReceivedRecords::holding(b"abc".to_vec());
        incoming.discard(2);
        assert_eq!(fill(&mut incoming, b"de").unwrap(), 2);
        assert_eq!(incoming.bytes(), b"cde");
        incoming.discard(3);
        assert_eq!(incoming.room.capacity(), 0);
        assert_eq!(fill(&mut incoming, b"").unwrap(), 0);
        assert_eq!(incoming.room.capacity(), 0);
        let before = kept();

        let mut outgoing = SentRecords::default();
        let write = |room: &mut [u8]| {
            room[..3].copy_from_slice(b"bye");
            Ok(3)
        };
        outgoing.append(3, write).unwrap();
        outgoing.append(3, write).unwrap();
        let mut sink = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(outgoing.poll_write_to(&mut cx, &mut sink).is_ready());
        assert_eq!(
            (sink.as_slice(), outgoing.room.capacity()),
            (&b"byebye"[..], 0)
        );
        assert_eq!(kept(), before);
    }

    #[test]
    fn records_larger_than_any_are_refused() {
        let mut incoming = ReceivedRecords::default();
        let mut count = 0;
        while let Ok(more) = fill(&mut incoming, &[7; 5000]) {
            count += more;
        }
        assert_eq!(count, ROOM);
        incoming.discard(1);
        assert_eq!(fill(&mut incoming, &[7; 5000]).unwrap(), 1);
    }

    #[test]
    fn plaintext_waits_in_order() {
        let mut plain = Plaintext::default();
        let mut room = [0; 4];
        let mut into = ReadBuf::new(&mut room);
        plain.deliver(b"abcdef", Some(&mut into));
        assert_eq!(into.filled(), b"abcd");
        plain.deliver(b"gh", Some(&mut into));
        for expected in [&b"efgh"[..], b""] {
            into.clear();
            assert_eq!(plain.read(&mut into), !expected.is_empty());
            assert_eq!(into.filled(), expected);
        }
        assert_eq!(plain.bytes.capacity(), 0);
    }
}
