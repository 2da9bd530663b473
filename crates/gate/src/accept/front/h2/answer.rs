//! Writes an answer as HTTP/2: a head, and data as far as the client's windows allow.

use std::future::poll_fn;
use std::io;

use roundtrip_wire::h2::{StreamGoneError, write_line};
use roundtrip_wire::message::{Pair, is_sendable};

use super::frames::Frames;
use super::link::StreamHandle;
use crate::forward::exchange::Sink;
use crate::forward::h1::{Response, ResponseBody, Trailers};
use crate::judge::request::Field;

pub(super) struct Answer<'a> {
    stream: &'a StreamHandle,
    frames: &'a Frames,
    /// The encoded head that waits to be sent.
    head: Option<Head>,
    out: Vec<u8>,
    /// The encoded trailers.
    trailers: Option<Vec<u8>>,
    ended: bool,
}

struct Head {
    is_interim: bool,
    block: Vec<u8>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(stream: &'a StreamHandle, frames: &'a Frames) -> Self {
        Self {
            stream,
            frames,
            head: None,
            out: Vec::new(),
            trailers: None,
            ended: false,
        }
    }

    /// Whether the answer is complete.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Sends buffered bytes in as few frames as possible; if `last`, the last of them carries
    /// END_STREAM.
    async fn send(&mut self, last: bool) -> Result<(), StreamGoneError> {
        let StreamHandle { id, server } = self.stream;
        let trailers = self.trailers.take_if(|_| last);
        let last = last && trailers.is_none();
        if let Some(Head { is_interim, block }) = self.head.take() {
            poll_fn(|cx| server.borrow_mut().poll_ready(*id, cx)).await?;
            let mut server = server.borrow_mut();
            if is_interim {
                server.send_interim(*id, &block)?;
            } else {
                let is_all = last && self.out.is_empty();
                server.send_head(*id, &block, is_all)?;
                self.ended = is_all;
            }
        }
        let mut rest = self.out.as_slice();
        while !rest.is_empty() {
            let room = poll_fn(|cx| server.borrow_mut().poll_room(*id, rest.len(), cx)).await?;
            let (data, later) = rest.split_at(room.min(rest.len()));
            let is_all = last && later.is_empty();
            self.frames.sends(data.len());
            server.borrow_mut().send_data(*id, data, is_all)?;
            self.ended = is_all;
            rest = later;
        }
        self.out.clear();
        if last && !self.ended {
            server.borrow_mut().send_data(*id, &[], true)?;
            self.ended = true;
        }
        if let Some(block) = trailers {
            server.borrow_mut().send_trailers(*id, &block)?;
            self.ended = true;
        }
        Ok(())
    }
}

/// Encodes the lines that HTTP/2 may carry.
fn encode<'a>(lines: impl Iterator<Item = Pair<'a>>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in lines.filter(|line| is_sendable(*line)) {
        write_line(&mut block, name, value);
    }
    block
}

impl Sink for Answer<'_> {
    fn head(&mut self, response: &Response<'_>, _: ResponseBody, more: &[Field<'_>]) {
        // An interim head was sent whole, or this would not be called.
        self.out.clear();
        let status = response.status.to_string();
        let mut block = Vec::new();
        write_line(&mut block, b":status", status.as_bytes());
        let fields = response.end_to_end().chain(more);
        let fields = fields.map(|field| -> Pair<'_> { (field.name.as_bytes(), field.value) });
        block.append(&mut encode(fields));
        self.head = Some(Head {
            is_interim: response.status < 200,
            block,
        });
    }

    fn push(&mut self, data: &[u8]) {
        self.out.extend_from_slice(data);
    }

    /// The connection's task writes; this wakes it.
    async fn flush(&mut self) -> io::Result<()> {
        self.send(false).await.map_err(io::Error::other)
    }

    fn trailers(&mut self, trailers: &Trailers) {
        self.trailers = (!trailers.is_empty()).then(|| encode(trailers.lines()));
    }

    async fn end(&mut self) -> io::Result<()> {
        self.send(true).await.map_err(io::Error::other)
    }

    fn takes_interim(&self) -> bool {
        true
    }
}
