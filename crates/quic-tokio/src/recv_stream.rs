//! The receiving half of a stream.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_quic::{Connection, Peek, ReadError, StreamId};

use crate::connection_wakers::ConnectionWakers;
use crate::handle::ConnectionHandle;
use crate::sections::Sections;
use crate::{RequestError, SectionLimits, StreamError};

/// The most that one read returns.
const MAX_CHUNK: usize = 256 << 10;
/// The code that stops a stream which is dropped before its end. RFC 9114 §8.1.
const H3_NO_ERROR: u64 = 0x100;
/// The code that stops a stream whose request is malformed. RFC 9114 §8.1.
const H3_MESSAGE_ERROR: u64 = 0x10e;

/// The receiving half of a stream. Dropped before its end was read, the peer is asked to stop
/// sending.
pub struct RecvStream {
    connection: ConnectionHandle,
    id: StreamId,
    /// Its end was read, or it was stopped.
    is_ended: bool,
    /// Checks the field sections of a request before they are returned.
    sections: Option<Box<Sections>>,
}

impl RecvStream {
    /// `allowance` bounds how much may be read until the allowance is set again.
    pub(crate) fn new(connection: &ConnectionHandle, id: StreamId, allowance: Option<u64>) -> Self {
        connection.wakers(|wakers| wakers.add_receiver(id, allowance.unwrap_or(u64::MAX)));
        Self {
            connection: connection.clone(),
            id,
            is_ended: false,
            sections: None,
        }
    }

    /// Returns from now on only what belongs to a request with valid field sections.
    pub(crate) fn check_sections(&mut self, limits: SectionLimits) {
        self.sections = Some(Box::new(Sections::new(limits)));
    }

    pub fn id(&self) -> u64 {
        self.id.0
    }

    /// Reads the next bytes, at least one. `None` is the end.
    pub async fn read_chunk(&mut self) -> Result<Option<Bytes>, StreamError> {
        poll_fn(|cx| self.poll_read(cx)).await
    }

    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        loop {
            if let Some(error) = self.sections.as_ref().and_then(|s| s.refused()) {
                self.refuse(error);
                return Poll::Ready(Err(error.into()));
            }
            let read = match self.poll_next(cx) {
                Poll::Ready(read) => read?,
                Poll::Pending => return Poll::Pending,
            };
            let Some(sections) = &mut self.sections else {
                return Poll::Ready(Ok(read));
            };
            let Some(bytes) = read else {
                let rest = Some(sections.rest()).filter(|rest| !rest.is_empty());
                return Poll::Ready(Ok(rest));
            };
            let passed = sections.take(bytes);
            // An error in trailers is returned by the read that gets as far.
            if let Some(error) = sections.refused_at_once() {
                self.refuse(error);
            }
            if !passed.is_empty() {
                return Poll::Ready(Ok(Some(passed)));
            }
        }
    }

    /// The next bytes, unchecked.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        self.poll_read_some(cx, MAX_CHUNK)
    }

    /// Closes the connection that the stream belongs to.
    pub(crate) fn close_connection(&self, code: u64, why: &[u8]) {
        self.connection.close(code, why);
    }

    /// Reads the next bytes, at least one and at most `most`. `None` is the end.
    pub(crate) fn poll_read_some(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        if self.is_ended {
            return Poll::Ready(Ok(None));
        }
        let id = self.id;
        let polled = match self
            .connection
            .update(|c, wakers, _| read(c, wakers, id, cx, most))
        {
            Ok(polled) => polled,
            Err(reason) => Poll::Ready(Err(reason.into())),
        };
        if let Poll::Ready(Ok(None) | Err(StreamError::Reset(_) | StreamError::Ended)) = &polled {
            self.is_ended = true;
        }
        polled
    }

    fn refuse(&mut self, error: RequestError) {
        let id = self.id;
        self.connection.wakers(|wakers| {
            if let Some(receiver) = wakers.receiver(id) {
                receiver.refused = Some(error);
            }
        });
        match error.connection_code() {
            Some(code) => self.connection.close(code, b""),
            None if error.can_be_answered() => {}
            None => self.stop(H3_MESSAGE_ERROR),
        }
    }

    /// Asks the peer to stop sending.
    pub fn stop(&mut self, code: u64) {
        if !self.is_ended {
            self.is_ended = true;
            let id = self.id;
            // In a connection that is over, nothing more comes.
            let _ = self.connection.update(|c, _, _| c.stop(id, code));
        }
    }
}

fn read(
    connection: &mut Connection,
    wakers: &mut ConnectionWakers,
    id: StreamId,
    cx: &Context<'_>,
    longest: usize,
) -> Poll<Result<Option<Bytes>, StreamError>> {
    let Some(receiver) = wakers.receiver(id) else {
        return Poll::Ready(Err(StreamError::Ended));
    };
    // Half of it at a time: an allowance for a frame and its content must not be used up by a read
    // that finds both.
    let most = usize::try_from(receiver.allowance.div_ceil(2)).unwrap_or(usize::MAX);
    let bytes = match connection.peek(id) {
        Ok(Peek::Bytes(_)) if most == 0 => return Poll::Ready(Err(StreamError::TooMuch)),
        Ok(Peek::Bytes(bytes)) => {
            let length = bytes.len().min(longest).min(most);
            Bytes::copy_from_slice(bytes.get(..length).unwrap_or_default())
        }
        Ok(Peek::Blocked) => {
            receiver.wait(cx);
            return Poll::Pending;
        }
        Ok(Peek::End) => return Poll::Ready(Ok(None)),
        Err(ReadError::Reset(code)) => return Poll::Ready(Err(StreamError::Reset(code))),
        Err(ReadError::Unknown) => return Poll::Ready(Err(StreamError::Ended)),
    };
    if receiver.allowance != u64::MAX {
        receiver.allowance -= bytes.len() as u64;
    }
    connection.consume(id, bytes.len());
    Poll::Ready(Ok(Some(bytes)))
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        self.stop(H3_NO_ERROR);
        let id = self.id;
        self.connection.wakers(|wakers| wakers.remove_receiver(id));
    }
}

impl fmt::Debug for RecvStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecvStream").field(&self.id.0).finish()
    }
}
