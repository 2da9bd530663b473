//! Writes an answer as HTTP/3.

use std::io;

use bytes::{Bytes, BytesMut};
use h3::error::Code;
use h3::server::RequestStream;
use http::HeaderMap;
use roundtrip_quic_tokio::H3SendStream;

use crate::accept::front::streams::reply;
use crate::forward::exchange::{PIECE, Sink};
use crate::forward::h1::{Response, ResponseBody, Trailers};
use crate::judge::request::Field;

pub(super) struct Answer {
    stream: RequestStream<H3SendStream, Bytes>,
    /// The head that waits to be sent.
    head: Option<http::Response<()>>,
    out: BytesMut,
    trailers: Option<HeaderMap>,
    ended: bool,
}

impl Answer {
    pub(super) fn new(stream: RequestStream<H3SendStream, Bytes>) -> Self {
        Self {
            stream,
            head: None,
            out: BytesMut::new(),
            trailers: None,
            ended: false,
        }
    }

    /// Whether the answer is complete.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Ends the stream without completing the answer.
    pub(super) fn cut(&mut self, code: Code) {
        self.stream.stop_stream(code);
    }
}

impl Sink for Answer {
    fn head(&mut self, response: &Response<'_>, _: ResponseBody, more: &[Field<'_>]) {
        // An interim head was sent whole, or this would not be called.
        self.out.clear();
        self.head = Some(reply(response, more));
    }

    fn push(&mut self, data: &[u8]) {
        self.out.extend_from_slice(data);
    }

    /// QUIC puts what is there into its next packets.
    async fn flush(&mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            let sent = self.stream.send_response(head).await;
            sent.map_err(io::Error::other)?;
        }
        while !self.out.is_empty() {
            let data = self.out.split_to(PIECE.min(self.out.len())).freeze();
            self.stream
                .send_data(data)
                .await
                .map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn trailers(&mut self, trailers: &Trailers) {
        self.trailers = (!trailers.is_empty()).then(|| trailers.map());
    }

    async fn end(&mut self) -> io::Result<()> {
        self.flush().await?;
        if let Some(trailers) = self.trailers.take() {
            let sent = self.stream.send_trailers(trailers).await;
            sent.map_err(io::Error::other)?;
        }
        self.stream.finish().await.map_err(io::Error::other)?;
        self.ended = true;
        Ok(())
    }

    fn takes_interim(&self) -> bool {
        true
    }
}
