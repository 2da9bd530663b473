//! Reads a request's body as HTTP/3.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::{Buf, Bytes};
use h3::server::RequestStream;
use roundtrip_quic_tokio::{Connection, RecvStream};

use crate::accept::front::signal::Signal;
use crate::forward::exchange::{ExchangeError, PIECE, Source};
use crate::forward::h1::Trailers;
use crate::judge::request::BadRequestError;

pub(super) struct Body {
    stream: RequestStream<RecvStream, Bytes>,
    link: Connection,
    confirmed: Rc<Signal>,
    /// What was read before anybody asked for it.
    first: Vec<u8>,
    ended: bool,
    trailers: Trailers,
}

impl Body {
    pub(super) fn new(
        stream: RequestStream<RecvStream, Bytes>,
        link: Connection,
        confirmed: Rc<Signal>,
    ) -> Self {
        Self {
            stream,
            link,
            confirmed,
            first: Vec::new(),
            ended: false,
            trailers: Trailers::default(),
        }
    }

    /// Whether there is no body. `wait`: the head is probably all, and its end may come in another
    /// packet.
    pub(super) async fn is_ended(&mut self, wait: bool) -> Result<bool, ExchangeError> {
        let mut first = Vec::new();
        let begun = {
            let mut reading = pin!(self.read(&mut first));
            poll_fn(|cx| match reading.as_mut().poll(cx) {
                Poll::Pending if !wait => Poll::Ready(None),
                polled => polled.map(Some),
            })
            .await
        };
        self.first = first;
        if let Some(more) = begun {
            self.ended = !more?;
        }
        Ok(self.ended)
    }

    async fn read(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        let id = self.stream.id().into_inner();
        self.link.set_read_allowance(id, 2 * PIECE as u64);
        // The `h3` crate reports a frame without data as the end of the body; unless it is asked
        // once more, what follows would be lost. A second such frame in a row counts as an attack:
        // the engine ends the connection if there are no trailers.
        for _ in 0..2 {
            let data = self.stream.recv_data().await;
            let data = data.map_err(|error| broken(&self.link, id, error))?;
            let Some(mut data) = data else { continue };
            while data.has_remaining() {
                let piece = data.chunk();
                into.extend_from_slice(piece);
                let length = piece.len();
                data.advance(length);
            }
            return Ok(true);
        }
        let trailers = self.stream.recv_trailers().await;
        if let Some(fields) = trailers.map_err(|error| broken(&self.link, id, error))? {
            self.trailers = Trailers::of(&fields).map_err(|_| BadRequestError::Chunk)?;
        }
        Ok(false)
    }
}

impl Source for Body {
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        if !self.first.is_empty() {
            into.append(&mut self.first);
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        let more = self.read(into).await?;
        self.ended = !more;
        Ok(more)
    }

    fn trailers(&mut self) -> Trailers {
        std::mem::take(&mut self.trailers)
    }

    /// Nobody can ask for it: RFC 9114 §4.2.
    fn upgrade(&mut self) {}

    /// Whoever runs the exchange sees the stream's end first.
    async fn gone(&mut self) {
        pending::<()>().await;
    }

    async fn confirmed(&mut self) -> Result<(), ExchangeError> {
        self.confirmed.wait().await;
        Ok(())
    }
}

fn broken(link: &Connection, stream: u64, error: h3::error::StreamError) -> ExchangeError {
    match link.refusal(stream) {
        Some(error) => BadRequestError::from(error).into(),
        None => ExchangeError::Client(io::Error::other(error)),
    }
}
