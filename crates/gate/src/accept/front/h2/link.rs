//! A connection's bytes, and its state, which its streams share. The task of the connection reads
//! and writes; the streams' tasks wake it when they have something to send.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use roundtrip_wire::h2::{Arrival, Code, ConnectionError, Server, Tally};
use tokio::io::ReadBuf;

use crate::accept::front::signal::Signal;
use crate::accept::stream::Stream;
use crate::record::Limit;

/// The largest number of bytes that are read at once.
const READ_SIZE: usize = 16 * 1024;
/// The number of reads before other tasks get their turn.
const READS: usize = 8;

pub(super) type SharedServer = Rc<RefCell<Server>>;

pub(super) struct Link<IO> {
    stream: IO,
    server: SharedServer,
    confirmed: Rc<Signal>,
    is_flushed: bool,
}

/// An event on the connection.
pub(super) enum LinkEvent {
    Asked(Arrival),
    /// The client used too much.
    Excess(Limit),
    Over(Result<(), LinkError>),
}

/// Why a connection broke.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Client(#[from] ConnectionError),
}

impl<IO: Stream> Link<IO> {
    pub(super) fn new(stream: IO, server: SharedServer, confirmed: Rc<Signal>) -> Self {
        Self {
            stream,
            server,
            confirmed,
            is_flushed: true,
        }
    }

    /// Ends when the client has shown that it speaks HTTP/2.
    pub(super) async fn greeted(&mut self) -> Result<(), LinkError> {
        poll_fn(|cx| {
            while !self.server.borrow().is_greeted() {
                self.poll_write(cx)?;
                if ready!(self.poll_read(cx))? == 0 {
                    return Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Reads and writes until something happens. `exceeded` counts what the client does besides
    /// requests.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut exceeded: impl FnMut(Tally) -> Option<Limit>,
    ) -> Poll<LinkEvent> {
        self.server.borrow_mut().register(cx);
        for _ in 0..READS {
            if let Some(arrival) = self.server.borrow_mut().next_request() {
                return Poll::Ready(LinkEvent::Asked(arrival));
            }
            let tally = self.server.borrow_mut().take_tally();
            if let Some(limit) = exceeded(tally) {
                return Poll::Ready(LinkEvent::Excess(limit));
            }
            match self.poll_write(cx) {
                Ok(true) if self.server.borrow().is_over() => {
                    return Poll::Ready(LinkEvent::Over(Ok(())));
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(LinkEvent::Over(Err(error.into()))),
            }
            if !self.server.borrow().wants_bytes() {
                return Poll::Pending;
            }
            match ready!(self.poll_read(cx)) {
                Ok(0) => return Poll::Ready(LinkEvent::Over(Ok(()))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(LinkEvent::Over(Err(error))),
            }
        }
        // It is the turn of others.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Frees what an idle connection does not need.
    pub(super) fn rest(&mut self) {
        self.stream.rest();
        self.server.borrow_mut().shrink();
    }

    /// Writes pending bytes, and closes.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        poll_fn(|cx| {
            if !self.poll_write(cx)? {
                return Poll::Pending;
            }
            Pin::new(&mut self.stream).poll_shutdown(cx)
        })
        .await
    }

    /// Writes pending bytes. Returns whether all have been written.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut server = self.server.borrow_mut();
        while !server.pending().is_empty() {
            match Pin::new(&mut self.stream).poll_write(cx, server.pending()) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    self.is_flushed = false;
                    server.on_written(count);
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(false),
            }
        }
        if !self.is_flushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(flushed) => flushed?,
                Poll::Pending => return Ok(false),
            }
            self.is_flushed = true;
        }
        Ok(true)
    }

    /// Reads once. Returns the number of bytes, which is 0 at the end.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, LinkError>> {
        let mut room = [const { MaybeUninit::uninit() }; READ_SIZE];
        let mut buffer = ReadBuf::uninit(&mut room);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut buffer);
        // The next read returns the error.
        if !self.confirmed.is_given()
            && let Poll::Ready(Ok(())) = self.stream.poll_confirmed(cx)
        {
            self.confirmed.give();
        }
        ready!(read)?;
        let bytes = buffer.filled();
        self.server.borrow_mut().receive(bytes)?;
        Poll::Ready(Ok(bytes.len()))
    }
}

/// One stream, which is released when this is dropped.
pub(super) struct StreamHandle {
    pub(super) id: u32,
    pub(super) server: SharedServer,
}

impl StreamHandle {
    /// Ends when the stream has ended too early.
    pub(super) async fn reset(&self) -> Code {
        poll_fn(|cx| self.server.borrow_mut().poll_reset(self.id, cx)).await
    }

    /// Ends the stream without completing the answer.
    pub(super) fn cut(&self, code: Code) {
        self.server.borrow_mut().reset(self.id, code);
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        self.server.borrow_mut().release(self.id);
    }
}
