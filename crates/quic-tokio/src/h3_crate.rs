//! Connections and streams for the `h3` crate.
//!
//! `h3` gathers a frame whole, however large it is. So each stream has a read allowance, which its
//! owner renews: when it is used up, reading fails.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use roundtrip_quic::{CloseReason, Dir, StreamId};
use roundtrip_wire::qpack::{begin_section, write_line};

use crate::handle::ConnectionHandle;
use crate::wait::Wait;
use crate::wakers::Interest;
use crate::{Connection, RecvStream, RequestError, SectionLimits, SendStream, StreamError};

/// What may be read of a request until its owner sets another allowance: enough for a head.
const REQUEST_ALLOWANCE: u64 = 256 << 10;
/// What may be read of each unidirectional stream: settings, and whatever is sent there while the
/// connection lasts.
const UNI_ALLOWANCE: u64 = 1 << 20;
/// The type of a HEADERS frame. RFC 9114 §7.2.2.
const HEADERS: u8 = 1;

/// A connection that `h3` opens and accepts streams on, as a client or as a server.
pub struct H3Connection {
    opener: OpenStreams,
    accepting_bi: Wait,
    accepting_uni: Wait,
    /// Limits of requests, where they are checked.
    limits: Option<SectionLimits>,
}

/// Opens streams for `h3`.
pub struct OpenStreams {
    bi: Wait,
    uni: Wait,
}

/// A bidirectional stream for `h3`.
pub struct BidiStream {
    sending: H3SendStream,
    receiving: RecvStream,
}

/// The sending half of a stream for `h3`.
pub struct H3SendStream {
    stream: SendStream,
    /// What is being written, in parts: the head of a frame, and its content.
    writing: Option<WriteBuf<Bytes>>,
    part: Bytes,
}

impl H3Connection {
    pub fn new(connection: &Connection) -> Self {
        let handle = connection.handle();
        Self {
            opener: OpenStreams::new(handle),
            accepting_bi: Wait::new(handle, Interest::Accept(Dir::Bidi)),
            accepting_uni: Wait::new(handle, Interest::Accept(Dir::Uni)),
            limits: None,
        }
    }

    /// For a server: passes on no malformed request, and none beyond the limits.
    /// [`Connection::refusal`] says why one was not passed on.
    pub fn with_limits(connection: &Connection, limits: SectionLimits) -> Self {
        Self {
            limits: Some(limits),
            ..Self::new(connection)
        }
    }
}

/// What `h3` cannot do with a stream, by its id.
impl Connection {
    /// Sets how many more bytes may be read of a stream. A client's own streams have no limit until
    /// one is set.
    pub fn set_read_allowance(&self, stream: u64, allowance: u64) {
        self.handle().wakers(|wakers| {
            if let Some(receiver) = wakers.receiver(StreamId(stream)) {
                receiver.allowance = allowance;
            }
        });
    }

    /// Sets how many more bytes may be read of a stream that the peer opened, and makes an answer
    /// that is dropped before its end reset the stream.
    ///
    /// Until then such an answer ends the stream in order: `h3` refuses heads by itself, and drops
    /// what it has answered.
    pub fn take_over(&self, stream: u64, allowance: u64) {
        self.set_read_allowance(stream, allowance);
        self.handle().wakers(|wakers| {
            if let Some(sender) = wakers.sender(StreamId(stream)) {
                sender.reset_on_drop = true;
            }
        });
    }

    /// Is the stream's read allowance used up?
    pub fn is_allowance_spent(&self, stream: u64) -> bool {
        let spent = self.handle().wakers(|wakers| {
            let receiver = wakers.receiver(StreamId(stream));
            receiver.is_some_and(|receiver| receiver.allowance == 0)
        });
        spent.unwrap_or(false)
    }

    /// Why the request on a stream was not passed on, if it was not.
    pub fn refusal(&self, stream: u64) -> Option<RequestError> {
        self.handle()
            .wakers(|wakers| wakers.receiver(StreamId(stream))?.refused)?
    }

    /// Answers a request that was not passed on with a status and nothing more.
    pub fn respond(&self, stream: u64, status: u16) {
        let mut section = Vec::new();
        begin_section(&mut section);
        write_line(&mut section, b":status", status.to_string().as_bytes());
        let head = [HEADERS, section.len() as u8];
        let frame = [head.as_slice(), &section].concat();
        // Where there is no room for ten bytes, they are not worth waiting for.
        let _ = self.handle().update(|connection, _, _| {
            let written = connection.write(StreamId(stream), frame.into());
            written.and_then(|_| connection.finish(StreamId(stream)))
        });
    }
}

impl quic::Connection<Bytes> for H3Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let wait = &mut self.accepting_uni;
        let accepted = wait.poll_stream(cx).map_err(connection_error);
        accepted.map_ok(|id| RecvStream::new(wait.connection(), id, Some(UNI_ALLOWANCE)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let wait = &mut self.accepting_bi;
        let accepted = wait.poll_stream(cx).map_err(connection_error);
        accepted.map_ok(|id| {
            let mut stream = BidiStream::new(wait.connection(), id, false, Some(REQUEST_ALLOWANCE));
            if let Some(limits) = self.limits {
                stream.receiving.check_sections(limits);
            }
            stream
        })
    }

    fn opener(&self) -> OpenStreams {
        self.opener.clone()
    }
}

impl quic::OpenStreams<Bytes> for H3Connection {
    type BidiStream = BidiStream;
    type SendStream = H3SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3SendStream, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

impl OpenStreams {
    fn new(connection: &ConnectionHandle) -> Self {
        Self {
            bi: Wait::new(connection, Interest::Open(Dir::Bidi)),
            uni: Wait::new(connection, Interest::Open(Dir::Uni)),
        }
    }
}

impl Clone for OpenStreams {
    fn clone(&self) -> Self {
        Self::new(self.bi.connection())
    }
}

impl quic::OpenStreams<Bytes> for OpenStreams {
    type BidiStream = BidiStream;
    type SendStream = H3SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let opened = self.bi.poll_stream(cx).map_err(connection_lost);
        opened.map_ok(|id| BidiStream::new(self.bi.connection(), id, true, None))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3SendStream, StreamErrorIncoming>> {
        let opened = self.uni.poll_stream(cx).map_err(connection_lost);
        opened.map_ok(|id| {
            let mut stream = SendStream::new(self.uni.connection(), id, true);
            // Control streams must not end before the connection does. RFC 9114 §6.2.1.
            stream.leave_open();
            H3SendStream::new(stream)
        })
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.bi.connection().close(code.value(), reason);
    }
}

impl BidiStream {
    fn new(
        connection: &ConnectionHandle,
        id: StreamId,
        reset_on_drop: bool,
        allowance: Option<u64>,
    ) -> Self {
        Self {
            sending: H3SendStream::new(SendStream::new(connection, id, reset_on_drop)),
            receiving: RecvStream::new(connection, id, allowance),
        }
    }
}

impl quic::BidiStream<Bytes> for BidiStream {
    type SendStream = H3SendStream;
    type RecvStream = RecvStream;

    fn split(self) -> (H3SendStream, RecvStream) {
        (self.sending, self.receiving)
    }
}

impl quic::RecvStream for BidiStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiving.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receiving.stop(code);
    }

    fn recv_id(&self) -> quic::StreamId {
        self.receiving.recv_id()
    }
}

impl quic::SendStream<Bytes> for BidiStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sending.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.sending.reset(code);
    }

    fn send_id(&self) -> quic::StreamId {
        self.sending.send_id()
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.poll_read(cx).map_err(stream_error)
    }

    fn stop_sending(&mut self, code: u64) {
        self.stop(code);
    }

    fn recv_id(&self) -> quic::StreamId {
        id(self.id())
    }
}

impl H3SendStream {
    fn new(stream: SendStream) -> Self {
        Self {
            stream,
            writing: None,
            part: Bytes::new(),
        }
    }
}

impl quic::SendStream<Bytes> for H3SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        loop {
            if !self.part.is_empty() {
                std::task::ready!(self.stream.poll_write(cx, &mut self.part))
                    .map_err(stream_error)?;
            }
            let Some(data) = self
                .writing
                .as_mut()
                .filter(|data| WriteBuf::has_remaining(data))
            else {
                self.writing = None;
                return Poll::Ready(Ok(()));
            };
            self.part = Bytes::copy_from_slice(data.chunk());
            data.advance(self.part.len());
        }
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            let busy = std::io::Error::other("the stream still writes");
            return Err(StreamErrorIncoming::Unknown(Box::new(busy)));
        }
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        std::task::ready!(self.poll_ready(cx))?;
        Poll::Ready(self.stream.finish().map_err(stream_error))
    }

    fn reset(&mut self, code: u64) {
        // Of a stream that has ended, nothing is left to be reset.
        let _ = self.stream.reset(code);
    }

    fn send_id(&self) -> quic::StreamId {
        id(self.stream.id())
    }
}

fn connection_error(reason: CloseReason) -> ConnectionErrorIncoming {
    match reason {
        CloseReason::Application { code, .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: code }
        }
        CloseReason::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn connection_lost(reason: CloseReason) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: connection_error(reason),
    }
}

fn stream_error(error: StreamError) -> StreamErrorIncoming {
    match error {
        StreamError::Stopped(error_code) | StreamError::Reset(error_code) => {
            StreamErrorIncoming::StreamTerminated { error_code }
        }
        StreamError::TooMuch => StreamErrorIncoming::StreamTerminated {
            error_code: Code::H3_EXCESSIVE_LOAD.value(),
        },
        StreamError::Refused(_) => StreamErrorIncoming::StreamTerminated {
            error_code: Code::H3_MESSAGE_ERROR.value(),
        },
        StreamError::ConnectionLost(reason) => connection_lost(reason),
        StreamError::Ended => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

fn id(id: u64) -> quic::StreamId {
    quic::StreamId::try_from(id).unwrap_or_else(|_| unreachable!("QUIC's are no larger"))
}
