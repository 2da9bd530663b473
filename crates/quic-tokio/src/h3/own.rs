//! HTTP/3 over our own engine.

use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_quic::Dir;
use roundtrip_wire::h3::Code;

use super::{H3Receiving, H3Sending, H3Transport};
use crate::wait::Wait;
use crate::wakers::Interest;
use crate::{Connection, RecvStream, SendStream, StreamError};

/// Accepts and opens the streams of a [`Connection`] for HTTP/3. Nothing else may accept streams in
/// the meantime.
pub struct ConnectionStreams {
    accepting_bi: Wait,
    accepting_uni: Wait,
    opening_uni: Wait,
}

impl ConnectionStreams {
    pub fn new(connection: &Connection) -> Self {
        let wait = |interest| Wait::new(connection.handle(), interest);
        Self {
            accepting_bi: wait(Interest::Accept(Dir::Bidi)),
            accepting_uni: wait(Interest::Accept(Dir::Uni)),
            opening_uni: wait(Interest::Open(Dir::Uni)),
        }
    }
}

impl H3Transport for ConnectionStreams {
    type Sending = SendStream;
    type Receiving = RecvStream;

    fn poll_accept_bi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), StreamError>> {
        let accepted = self.accepting_bi.poll_stream(cx);
        let connection = self.accepting_bi.connection();
        let accepted = accepted.map_ok(|id| {
            let sending = SendStream::new(connection, id);
            (sending, RecvStream::new(connection, id))
        });
        accepted.map_err(StreamError::from)
    }

    fn poll_accept_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<RecvStream, StreamError>> {
        let accepted = self.accepting_uni.poll_stream(cx);
        let connection = self.accepting_uni.connection();
        let accepted = accepted.map_ok(|id| RecvStream::new(connection, id));
        accepted.map_err(StreamError::from)
    }

    fn poll_open_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream, StreamError>> {
        let opened = self.opening_uni.poll_stream(cx);
        let connection = self.opening_uni.connection();
        let opened = opened.map_ok(|id| SendStream::new(connection, id));
        opened.map_err(StreamError::from)
    }

    fn close(&self, code: Code, why: &str) {
        let connection = self.accepting_bi.connection();
        connection.close(code.value(), why.as_bytes());
    }
}

impl H3Sending for SendStream {
    fn id(&self) -> u64 {
        Self::id(self)
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<Result<(), StreamError>> {
        Self::poll_write(self, cx, bytes)
    }

    fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Self::poll_stopped(self, cx)
    }

    fn finish(&mut self) -> Result<(), StreamError> {
        Self::finish(self)
    }

    fn reset(&mut self, code: Code) {
        // Nothing is left to reset on a stream that has ended.
        let _ = Self::reset(self, code.value());
    }
}

impl H3Receiving for RecvStream {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        self.poll_read_some(cx, most, |_| (1, usize::MAX))
    }

    fn poll_read_wanted(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        wanted: impl Fn(&[u8]) -> (usize, usize),
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        self.poll_read_some(cx, most, wanted)
    }

    fn stop(&mut self, code: Code) {
        Self::stop(self, code.value());
    }

    fn close(&self, code: Code, why: &str) {
        self.close_connection(code.value(), why.as_bytes());
    }
}
