//! Streams as the `h3` crate wants them. A frame that it would gather whole, however large it is, is bounded here: by what may
//! be read of a stream until its owner allows more.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use roundtrip_quic::{CloseReason, Dir, StreamId};

use crate::connection::Turn;
use crate::wakers::Wish;
use crate::{Link, Receiving, SectionLimits, Sending, StreamError};

/// What is read of a request before somebody has seen its head, unless its owner allows another measure.
const HEAD: u64 = 256 << 10;
/// On each stream that carries no request: settings and what else there is to say for as long as the connection lives.
const ASIDE: u64 = 1 << 20;

/// A connection for `h3`.
pub struct Transport {
    opener: Opener,
    accepting_bidi: Turn,
    accepting_uni: Turn,
    /// Of requests.
    limits: Option<SectionLimits>,
}

/// Opens streams for `h3`.
pub struct Opener {
    bidi: Turn,
    uni: Turn,
}

/// A stream for `h3`: both its halves.
pub struct Stream {
    sending: Outgoing,
    receiving: Receiving,
}

/// The half that `h3` writes.
pub struct Outgoing {
    stream: Sending,
    /// What it is about to write, in parts: the head of a frame, and what is in it.
    writing: Option<WriteBuf<Bytes>>,
    part: Bytes,
}

impl Link {
    /// For a client or a server of HTTP/3.
    pub fn transport(&self) -> Transport {
        Transport {
            opener: Opener::new(self),
            accepting_bidi: Turn::new(self, Wish::Accept(Dir::Bidi)),
            accepting_uni: Turn::new(self, Wish::Accept(Dir::Uni)),
            limits: None,
        }
    }

    /// For a server that passes on no malformed request. Why one is not, [`Link::refusal`] says.
    pub fn checked_transport(&self, limits: SectionLimits) -> Transport {
        Transport {
            limits: Some(limits),
            ..self.transport()
        }
    }

    /// From now on so much more may be read of a stream of the peer's.
    pub fn allow(&self, stream: u64, allowance: u64) {
        self.note(|berth| {
            if let Some(receiver) = berth.receiver(StreamId(stream)) {
                receiver.allowance = allowance;
            }
        });
    }

    /// From now on a stream of the peer's is its owner's: so much more may be read of it, and to let go of the answer
    /// unfinished is to reset it. (Before, `h3` refuses heads by itself, and lets go of its answer for QUIC to end.)
    ///
    /// A client's streams are its owner's from the beginning, and of an answer may be read what there is, until this says
    /// less.
    pub fn entrust(&self, stream: u64, allowance: u64) {
        self.allow(stream, allowance);
        self.note(|berth| {
            if let Some(sender) = berth.sender(StreamId(stream)) {
                sender.cut = true;
            }
        });
    }

    /// Was all read that may be read of the stream?
    pub fn is_spent(&self, stream: u64) -> bool {
        let spent = self.note(|berth| {
            let receiver = berth.receiver(StreamId(stream));
            receiver.is_some_and(|receiver| receiver.allowance == 0)
        });
        spent.unwrap_or(false)
    }
}

impl quic::Connection<Bytes> for Transport {
    type RecvStream = Receiving;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        let turn = &mut self.accepting_uni;
        let accepted = turn.poll_stream(cx).map_err(lost);
        accepted.map_ok(|id| Receiving::new(turn.link(), id, Some(ASIDE)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        let turn = &mut self.accepting_bidi;
        let accepted = turn.poll_stream(cx).map_err(lost);
        accepted.map_ok(|id| {
            let mut stream = Stream::new(turn.link(), id, false, Some(HEAD));
            if let Some(limits) = self.limits {
                stream.receiving.check(limits);
            }
            stream
        })
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

impl quic::OpenStreams<Bytes> for Transport {
    type BidiStream = Stream;
    type SendStream = Outgoing;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stream, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Outgoing, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

impl Opener {
    fn new(link: &Link) -> Self {
        Self {
            bidi: Turn::new(link, Wish::Open(Dir::Bidi)),
            uni: Turn::new(link, Wish::Open(Dir::Uni)),
        }
    }
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self::new(self.bidi.link())
    }
}

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = Stream;
    type SendStream = Outgoing;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stream, StreamErrorIncoming>> {
        let opened = self.bidi.poll_stream(cx).map_err(stream_lost);
        opened.map_ok(|id| Stream::new(self.bidi.link(), id, true, None))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Outgoing, StreamErrorIncoming>> {
        let opened = self.uni.poll_stream(cx).map_err(stream_lost);
        opened.map_ok(|id| {
            let mut stream = Sending::new(self.uni.link(), id, true);
            // RFC 9114 §6.2.1: what is said there must not end before the connection does.
            stream.keep();
            Outgoing::new(stream)
        })
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.bidi.link().close(code.value(), reason);
    }
}

impl Stream {
    fn new(link: &Link, id: StreamId, cut: bool, allowance: Option<u64>) -> Self {
        Self {
            sending: Outgoing::new(Sending::new(link, id, cut)),
            receiving: Receiving::new(link, id, allowance),
        }
    }
}

impl quic::BidiStream<Bytes> for Stream {
    type SendStream = Outgoing;
    type RecvStream = Receiving;

    fn split(self) -> (Outgoing, Receiving) {
        (self.sending, self.receiving)
    }
}

impl quic::RecvStream for Stream {
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

impl quic::SendStream<Bytes> for Stream {
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

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.poll_read(cx).map_err(broken)
    }

    fn stop_sending(&mut self, code: u64) {
        self.stop(code);
    }

    fn recv_id(&self) -> quic::StreamId {
        id(self.id())
    }
}

impl Outgoing {
    fn new(stream: Sending) -> Self {
        Self {
            stream,
            writing: None,
            part: Bytes::new(),
        }
    }
}

impl quic::SendStream<Bytes> for Outgoing {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        loop {
            if !self.part.is_empty() {
                std::task::ready!(self.stream.poll_write(cx, &mut self.part)).map_err(broken)?;
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
        Poll::Ready(self.stream.finish().map_err(broken))
    }

    fn reset(&mut self, code: u64) {
        // Where it is over, nothing is left to be cut off.
        let _ = self.stream.reset(code);
    }

    fn send_id(&self) -> quic::StreamId {
        id(self.stream.id())
    }
}

fn lost(reason: CloseReason) -> ConnectionErrorIncoming {
    match reason {
        CloseReason::Application { code, .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: code }
        }
        CloseReason::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn stream_lost(reason: CloseReason) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: lost(reason),
    }
}

fn broken(error: StreamError) -> StreamErrorIncoming {
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
        StreamError::Closed(reason) => stream_lost(reason),
        StreamError::Over => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

fn id(id: u64) -> quic::StreamId {
    quic::StreamId::try_from(id).unwrap_or_else(|_| unreachable!("QUIC's are no larger"))
}
