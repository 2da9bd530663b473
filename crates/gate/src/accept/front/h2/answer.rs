//! Writes an answer as HTTP/2: a head, and data as far as the client's windows allow.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::HeaderMap;

use super::frames::Frames;
use crate::accept::front::streams::reply;
use crate::forward::exchange::Sink;
use crate::forward::h1::{Response, ResponseBody, Trailers};
use crate::judge::request::Field;

/// Writes the answer to the client. The exchange writes while another future watches for the
/// stream's end.
pub(super) struct ResponseWriter {
    state: RefCell<State>,
    frames: Rc<Frames>,
}

enum State {
    Asked(SendResponse<Bytes>),
    Answering(SendStream<Bytes>),
}

impl ResponseWriter {
    pub(super) fn new(respond: SendResponse<Bytes>, frames: Rc<Frames>) -> Self {
        Self {
            state: RefCell::new(State::Asked(respond)),
            frames,
        }
    }

    /// Ends when the client has reset the stream, caused the engine to do so, or is gone.
    pub(super) async fn reset(&self) {
        let reset = poll_fn(|cx| match &mut *self.state.borrow_mut() {
            State::Asked(respond) => respond.poll_reset(cx),
            State::Answering(stream) => stream.poll_reset(cx),
        });
        let _ = reset.await;
    }

    /// Ends the stream without completing the answer.
    pub(super) fn cut(&self, reason: Reason) {
        match &mut *self.state.borrow_mut() {
            State::Asked(respond) => respond.send_reset(reason),
            State::Answering(stream) => stream.send_reset(reason),
        }
    }

    fn send_head(&self, head: http::Response<()>, last: bool) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        let State::Asked(respond) = &mut *state else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if head.status().is_informational() {
            return respond.send_informational(head).map_err(io::Error::other);
        }
        let stream = respond.send_response(head, last);
        *state = State::Answering(stream.map_err(io::Error::other)?);
        Ok(())
    }

    fn send_data(&self, data: Bytes, last: bool) -> io::Result<()> {
        self.frames.sends(data.len());
        match &mut *self.state.borrow_mut() {
            State::Asked(_) => Err(io::ErrorKind::InvalidInput.into()),
            State::Answering(stream) => stream.send_data(data, last).map_err(io::Error::other),
        }
    }

    fn send_trailers(&self, trailers: HeaderMap) -> io::Result<()> {
        match &mut *self.state.borrow_mut() {
            State::Asked(_) => Err(io::ErrorKind::InvalidInput.into()),
            State::Answering(stream) => stream.send_trailers(trailers).map_err(io::Error::other),
        }
    }

    /// The part of `wanted` that the client's windows and the engine take now, in bytes.
    fn poll_room(&self, cx: &mut Context<'_>, wanted: usize) -> Poll<io::Result<usize>> {
        let mut state = self.state.borrow_mut();
        let State::Answering(stream) = &mut *state else {
            return Poll::Ready(Err(io::ErrorKind::InvalidInput.into()));
        };
        stream.reserve_capacity(wanted);
        loop {
            let room = stream.capacity();
            if room > 0 {
                return Poll::Ready(Ok(room.min(wanted)));
            }
            match ready!(stream.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
    }
}

pub(super) struct Answer<'a> {
    way: &'a ResponseWriter,
    /// The head that waits to be sent.
    head: Option<http::Response<()>>,
    out: BytesMut,
    trailers: Option<HeaderMap>,
    ended: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn new(way: &'a ResponseWriter) -> Self {
        Self {
            way,
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

    /// Sends what is buffered in as few frames as possible; if `last`, the last of them carries
    /// END_STREAM.
    async fn send(&mut self, last: bool) -> io::Result<()> {
        let trailers = self.trailers.take_if(|_| last);
        let last = last && trailers.is_none();
        if let Some(head) = self.head.take() {
            let is_all = last && self.out.is_empty();
            self.way.send_head(head, is_all)?;
            self.ended = is_all;
        }
        while !self.out.is_empty() {
            let wanted = self.out.len();
            let room = poll_fn(|cx| self.way.poll_room(cx, wanted)).await?;
            let data = self.out.split_to(room).freeze();
            let is_all = last && self.out.is_empty();
            self.way.send_data(data, is_all)?;
            self.ended = is_all;
        }
        if last && !self.ended {
            self.way.send_data(Bytes::new(), true)?;
            self.ended = true;
        }
        if let Some(trailers) = trailers {
            self.way.send_trailers(trailers)?;
            self.ended = true;
        }
        Ok(())
    }
}

impl Sink for Answer<'_> {
    fn head(&mut self, response: &Response<'_>, _: ResponseBody, more: &[Field<'_>]) {
        // An interim head was sent whole, or this would not be called.
        self.out.clear();
        self.head = Some(reply(response, more));
    }

    fn push(&mut self, data: &[u8]) {
        self.out.extend_from_slice(data);
    }

    /// The engine writes when its connection is polled; this wakes it.
    async fn flush(&mut self) -> io::Result<()> {
        self.send(false).await
    }

    fn trailers(&mut self, trailers: &Trailers) {
        self.trailers = (!trailers.is_empty()).then(|| trailers.map());
    }

    async fn end(&mut self) -> io::Result<()> {
        self.send(true).await
    }

    fn takes_interim(&self) -> bool {
        true
    }
}
