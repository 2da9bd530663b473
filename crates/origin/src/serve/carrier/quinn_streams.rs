//! quinn's streams, as HTTP/3 uses them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use quinn::{ReadError, WriteError};
use roundtrip_quic_tokio::{H3Receiving, H3Sending, H3Transport, StreamError};
use roundtrip_wire::h3::Code;

use super::quinn::varint;

/// The largest number of bytes that are read at once.
const MAX_PIECE: usize = 16 << 10;

type Opening<T> = Pin<Box<dyn Future<Output = Result<T, quinn::ConnectionError>> + Send>>;

/// Accepts and opens streams. quinn does that with futures, which are stored here from one poll to
/// the next.
pub(crate) struct QuinnStreams {
    connection: quinn::Connection,
    accepting_bi: Option<Opening<(quinn::SendStream, quinn::RecvStream)>>,
    accepting_uni: Option<Opening<quinn::RecvStream>>,
    opening_uni: Option<Opening<quinn::SendStream>>,
}

pub(crate) struct QuinnReceiving {
    connection: quinn::Connection,
    stream: quinn::RecvStream,
    room: BytesMut,
}

impl QuinnStreams {
    pub(super) fn new(connection: &quinn::Connection) -> Self {
        Self {
            connection: connection.clone(),
            accepting_bi: None,
            accepting_uni: None,
            opening_uni: None,
        }
    }

    fn receiving(&self, stream: quinn::RecvStream) -> QuinnReceiving {
        QuinnReceiving {
            connection: self.connection.clone(),
            stream,
            room: BytesMut::new(),
        }
    }
}

impl H3Transport for QuinnStreams {
    type Sending = QuinnSending;
    type Receiving = QuinnReceiving;

    fn poll_accept_bi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(QuinnSending, QuinnReceiving), StreamError>> {
        let connection = &self.connection;
        let accepted = ready!(poll_opening(cx, &mut self.accepting_bi, || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_bi().await })
        }));
        let (sending, receiving) = accepted?;
        Poll::Ready(Ok((QuinnSending::new(sending), self.receiving(receiving))))
    }

    fn poll_accept_uni(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<QuinnReceiving, StreamError>> {
        let connection = &self.connection;
        let accepted = ready!(poll_opening(cx, &mut self.accepting_uni, || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_uni().await })
        }));
        Poll::Ready(accepted.map(|stream| self.receiving(stream)))
    }

    fn poll_open_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<QuinnSending, StreamError>> {
        let connection = &self.connection;
        let opened = poll_opening(cx, &mut self.opening_uni, || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        opened.map_ok(QuinnSending::new)
    }

    fn close(&self, code: Code, why: &str) {
        self.connection.close(varint(code), why.as_bytes());
    }
}

fn poll_opening<T>(
    cx: &mut Context<'_>,
    place: &mut Option<Opening<T>>,
    begin: impl FnOnce() -> Opening<T>,
) -> Poll<Result<T, StreamError>> {
    let opened = ready!(place.get_or_insert_with(begin).as_mut().poll(cx));
    *place = None;
    Poll::Ready(opened.map_err(|_| StreamError::Ended))
}

type Stopping =
    Pin<Box<dyn Future<Output = Result<Option<quinn::VarInt>, quinn::StoppedError>> + Send>>;

pub(crate) struct QuinnSending {
    stream: quinn::SendStream,
    /// A future that ends when the peer has stopped the stream, or can no longer do so.
    stopping: Option<Stopping>,
    is_ended: bool,
}

impl QuinnSending {
    fn new(stream: quinn::SendStream) -> Self {
        Self {
            stopping: None,
            stream,
            is_ended: false,
        }
    }
}

impl H3Sending for QuinnSending {
    fn id(&self) -> u64 {
        self.stream.id().into()
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<Result<(), StreamError>> {
        while !bytes.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
            bytes.advance(written.map_err(|error| match error {
                WriteError::Stopped(code) => StreamError::Stopped(code.into()),
                _ => StreamError::Ended,
            })?);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let stopping = (self.stopping).get_or_insert_with(|| Box::pin(self.stream.stopped()));
        match ready!(stopping.as_mut().poll(cx)) {
            Ok(Some(_)) => {
                self.stopping = None;
                Poll::Ready(())
            }
            Ok(None) | Err(_) => {
                self.stopping = Some(Box::pin(std::future::pending()));
                Poll::Pending
            }
        }
    }

    fn finish(&mut self) -> Result<(), StreamError> {
        self.is_ended = true;
        self.stream.finish().map_err(|_| StreamError::Ended)
    }

    fn reset(&mut self, code: Code) {
        if !self.is_ended {
            self.is_ended = true;
            // Nothing is left to reset on a stream that was stopped.
            let _ = self.stream.reset(varint(code));
        }
    }
}

/// An incomplete answer must not look complete: quinn would end the stream normally.
impl Drop for QuinnSending {
    fn drop(&mut self) {
        self.reset(Code::H3_REQUEST_CANCELLED);
    }
}

impl H3Receiving for QuinnReceiving {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        self.room.resize(most.min(MAX_PIECE), 0);
        let length = ready!(self.stream.poll_read(cx, &mut self.room));
        let length = length.map_err(|error| match error {
            ReadError::Reset(code) => StreamError::Reset(code.into()),
            _ => StreamError::Ended,
        })?;
        let read = (length > 0).then(|| self.room.split_to(length).freeze());
        Poll::Ready(Ok(read))
    }

    fn stop(&mut self, code: Code) {
        // A stream that has ended need not be stopped.
        let _ = self.stream.stop(varint(code));
    }

    fn close(&self, code: Code, why: &str) {
        self.connection.close(varint(code), why.as_bytes());
    }
}
