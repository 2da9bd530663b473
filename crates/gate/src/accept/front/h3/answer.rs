//! Writes an answer as HTTP/3.

use std::io;

use roundtrip_quic_tokio::{MessageSender, SendStream};
use roundtrip_wire::h3::Code;
use roundtrip_wire::message::{Pair, is_sendable};

use crate::forward::exchange::Sink;
use crate::forward::h1::{Response, ResponseBody, Trailers};
use crate::judge::request::Field;

pub(super) struct Answer {
    stream: MessageSender<SendStream>,
    trailers: Trailers,
    ended: bool,
}

impl Answer {
    pub(super) fn new(stream: MessageSender<SendStream>) -> Self {
        Self {
            stream,
            trailers: Trailers::default(),
            ended: false,
        }
    }

    /// Whether the answer is complete.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Ends the stream without completing the answer.
    pub(super) fn cut(&mut self, code: Code) {
        self.stream.reset(code);
    }
}

impl Sink for Answer {
    fn head(&mut self, response: &Response<'_>, _: ResponseBody, more: &[Field<'_>]) {
        // An interim head was sent whole, or this would not be called.
        self.stream.discard();
        let status = response.status.to_string();
        let fields = response.end_to_end().chain(more);
        let fields = fields.map(|field| -> Pair<'_> { (field.name.as_bytes(), field.value) });
        let lines = std::iter::once((b":status".as_slice(), status.as_bytes()));
        self.stream
            .section(lines.chain(fields.filter(|field| is_sendable(*field))));
    }

    fn push(&mut self, data: &[u8]) {
        self.stream.data(data);
    }

    /// QUIC puts the buffered bytes into its next packets.
    async fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().await.map_err(io::Error::other)
    }

    fn trailers(&mut self, trailers: &Trailers) {
        self.trailers = trailers.clone();
    }

    /// Sends a small answer in one write.
    async fn end(&mut self) -> io::Result<()> {
        if !self.trailers.is_empty() {
            let trailers = std::mem::take(&mut self.trailers);
            let lines = trailers.lines().filter(|line| is_sendable(*line));
            self.stream.section(lines);
        }
        self.stream.finish().await.map_err(io::Error::other)?;
        self.ended = true;
        Ok(())
    }

    fn takes_interim(&self) -> bool {
        true
    }
}
