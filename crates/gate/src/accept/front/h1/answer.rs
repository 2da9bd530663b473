//! Writes an answer as HTTP/1.1: with `Content-Length`, in chunks, or until the connection ends.

use std::io;

use roundtrip_wire::http1::write_field;
use tokio::io::AsyncWriteExt;

use crate::accept::stream::Stream;
use crate::forward::exchange::{Sink, TcpMeter};
use crate::forward::h1::{Response, ResponseBody, Trailers, write_chunk, write_last_chunk};
use crate::forward::split::Writing;
use crate::judge::ForwardedRequest;
use crate::judge::request::{Field, Version};

pub(super) struct Answer<'h, 'a, IO> {
    to: Writing<'h, 'a, IO>,
    /// Bytes that wait to be written.
    out: &'a mut Vec<u8>,
    version: Version,
    keep_alive: bool,
    /// The client gets chunks, because the backend does not announce the length.
    chunks: bool,
    /// Whether the client can tell where the answer ends.
    ends: bool,
    /// The client accepts trailers. RFC 9110 §6.5.1.
    takes_trailers: bool,
    trailers: Trailers,
}

impl<'h, 'a, IO: Stream> Answer<'h, 'a, IO> {
    pub(super) fn new(
        to: Writing<'h, 'a, IO>,
        out: &'a mut Vec<u8>,
        asked: &ForwardedRequest,
    ) -> Self {
        out.clear();
        Self {
            to,
            out,
            version: asked.version,
            keep_alive: asked.keep_alive,
            chunks: false,
            ends: true,
            takes_trailers: asked.takes_trailers,
            trailers: Trailers::default(),
        }
    }

    /// A writer for gate's own answers.
    pub(super) fn own_answer(to: Writing<'h, 'a, IO>, out: &'a mut Vec<u8>, stays: bool) -> Self {
        out.clear();
        Self {
            to,
            out,
            version: Version::H11,
            keep_alive: stays,
            chunks: false,
            ends: true,
            takes_trailers: false,
            trailers: Trailers::default(),
        }
    }

    /// Whether another request may follow.
    pub(super) fn stays(&self) -> bool {
        self.keep_alive && self.ends
    }

    /// Whether the client sees where the answer ends, or that it is incomplete.
    pub(super) fn ends(&self) -> bool {
        self.ends
    }

    fn line(&mut self, name: &str, value: &[u8]) {
        write_field(name.as_bytes(), value, self.out);
    }
}

impl<IO: Stream> Sink for Answer<'_, '_, IO> {
    fn head(&mut self, response: &Response<'_>, body: ResponseBody, more: &[Field<'_>]) {
        let is_final = response.status >= 200;
        let unsized_body = matches!(body, ResponseBody::Chunked | ResponseBody::UntilClose);
        let switches = response.status == 101;
        self.chunks = unsized_body && !switches && self.version != Version::H10;
        self.ends = self.chunks || !unsized_body;
        self.out.extend_from_slice(b"HTTP/1.1 ");
        self.out.extend_from_slice(&digits(response.status));
        self.out.push(b' ');
        self.out.extend_from_slice(response.reason.as_bytes());
        self.out.extend_from_slice(b"\r\n");
        let takes_trailers = self.takes_trailers;
        // RFC 9110 §6.6.2: `Trailer` describes what this client gets.
        let passes =
            |field: &&Field<'_>| takes_trailers || !field.name.eq_ignore_ascii_case("trailer");
        response.write(response.end_to_end().filter(passes), self.out);
        for field in more {
            self.line(field.name, field.value);
        }
        if self.chunks {
            self.line("Transfer-Encoding", b"chunked");
        }
        let names_protocols = switches || response.status == 426;
        if names_protocols {
            for protocol in response.values("upgrade") {
                self.line("Upgrade", protocol);
            }
        }
        match (names_protocols, is_final && !self.stays()) {
            (true, false) => self.line("Connection", b"upgrade"),
            (true, true) => self.line("Connection", b"close, upgrade"),
            (false, true) => self.line("Connection", b"close"),
            (false, false) if self.version == Version::H10 => {
                self.line("Connection", b"keep-alive");
            }
            (false, false) => {}
        }
        self.out.extend_from_slice(b"\r\n");
    }

    fn push(&mut self, data: &[u8]) {
        if self.chunks {
            write_chunk(self.out, data);
        } else {
            self.out.extend_from_slice(data);
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        if !self.out.is_empty() {
            self.to.write_all(self.out).await?;
            self.out.clear();
        }
        self.to.flush().await
    }

    fn trailers(&mut self, trailers: &Trailers) {
        if self.takes_trailers {
            self.trailers.clone_from(trailers);
        }
    }

    async fn end(&mut self) -> io::Result<()> {
        if self.chunks {
            write_last_chunk(self.out, &self.trailers);
        }
        self.flush().await
    }

    fn meter(&self) -> Option<TcpMeter> {
        self.to.stream().meter()
    }

    fn takes_interim(&self) -> bool {
        self.version != Version::H10
    }
}

/// The three digits of a status.
fn digits(status: u16) -> [u8; 3] {
    [status / 100, status / 10, status].map(|n| b'0' + (n % 10) as u8)
}
