//! Reads a request's body as HTTP/2.

use std::future::{pending, poll_fn};
use std::io;
use std::rc::Rc;

use super::link::StreamHandle;
use crate::accept::front::signal::Signal;
use crate::forward::exchange::{ExchangeError, PIECE, Source};
use crate::forward::h1::Trailers;
use crate::judge::request::BadRequestError;

pub(super) struct Body<'a> {
    stream: &'a StreamHandle,
    confirmed: Rc<Signal>,
    /// The length of the last piece. Once it has been passed on, the next read returns that many
    /// bytes to the client's window.
    given: usize,
    trailers: Trailers,
}

impl<'a> Body<'a> {
    pub(super) fn new(stream: &'a StreamHandle, confirmed: Rc<Signal>) -> Self {
        Self {
            stream,
            confirmed,
            given: 0,
            trailers: Trailers::default(),
        }
    }
}

impl Source for Body<'_> {
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        let StreamHandle { id, server } = self.stream;
        server
            .borrow_mut()
            .consume(*id, std::mem::take(&mut self.given));
        let read = poll_fn(|cx| server.borrow_mut().poll_read(*id, into, PIECE, cx)).await;
        if let Some(length) = read.map_err(|gone| ExchangeError::Client(io::Error::other(gone)))? {
            self.given = length;
            return Ok(true);
        }
        if let Some(section) = server.borrow_mut().take_trailers(*id) {
            let trailers = Trailers::from_lines(section.lines());
            self.trailers = trailers.map_err(|_| BadRequestError::Chunk)?;
        }
        Ok(false)
    }

    fn trailers(&mut self) -> Trailers {
        std::mem::take(&mut self.trailers)
    }

    /// Does nothing: the bytes still come in DATA frames. RFC 8441 §5.
    fn upgrade(&mut self) {}

    /// Does nothing: the future that runs the exchange sees the stream's end first.
    async fn gone(&mut self) {
        pending::<()>().await;
    }

    async fn confirmed(&mut self) -> Result<(), ExchangeError> {
        self.confirmed.wait().await;
        Ok(())
    }
}
