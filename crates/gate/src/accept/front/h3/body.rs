//! Reads a request's body as HTTP/3.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use roundtrip_quic_tokio::{H3Error, MessagePart, MessageStream, RecvStream};

use crate::accept::front::signal::Signal;
use crate::forward::exchange::{ExchangeError, PIECE, Source};
use crate::forward::h1::Trailers;
use crate::judge::request::BadRequestError;

pub(super) struct Body {
    stream: MessageStream<RecvStream>,
    confirmed: Rc<Signal>,
    /// Bytes that were read before the exchange asked for them.
    first: Vec<u8>,
    ended: bool,
    /// What followed the bytes that were read last.
    outcome: Option<Result<bool, ExchangeError>>,
    trailers: Trailers,
}

impl Body {
    pub(super) fn new(stream: MessageStream<RecvStream>, confirmed: Rc<Signal>) -> Self {
        Self {
            stream,
            confirmed,
            first: Vec::new(),
            ended: false,
            outcome: None,
            trailers: Trailers::default(),
        }
    }

    /// Whether there is no body. `wait`: the head is probably the whole request, and its end may
    /// come in another packet.
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
        match begun {
            None => {}
            Some(Ok(more)) => self.ended = !more,
            // The reader of the body finds it again, and can answer.
            Some(Err(ExchangeError::Refused(BadRequestError::Length))) if !wait => {}
            Some(Err(error)) => return Err(error),
        }
        Ok(self.ended)
    }

    async fn read(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        poll_fn(|cx| self.poll_read(cx, into)).await
    }

    /// Joins all content that has arrived, up to a piece: a client may send each byte in a separate
    /// frame. Ready with `false` at the end.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<Result<bool, ExchangeError>> {
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(outcome);
        }
        let start = into.len();
        loop {
            let read = into.len() - start;
            if read >= PIECE {
                return Poll::Ready(Ok(true));
            }
            let part = match self.stream.poll_next(cx, PIECE - read) {
                Poll::Ready(part) => part,
                Poll::Pending if read > 0 => return Poll::Ready(Ok(true)),
                Poll::Pending => return Poll::Pending,
            };
            match part {
                Ok(Some(MessagePart::Data(data))) => into.extend_from_slice(&data),
                Ok(Some(MessagePart::Head(section) | MessagePart::Trailers(section))) => {
                    match Trailers::from_lines(section.lines()) {
                        Ok(trailers) => self.trailers = trailers,
                        Err(_) => return self.after(read, Err(BadRequestError::Chunk.into())),
                    }
                }
                Ok(None) => return self.after(read, Ok(false)),
                Err(error) => return self.after(read, Err(broken(error))),
            }
        }
    }

    /// The outcome that follows `read` bytes.
    fn after(
        &mut self,
        read: usize,
        outcome: Result<bool, ExchangeError>,
    ) -> Poll<Result<bool, ExchangeError>> {
        if read == 0 {
            return Poll::Ready(outcome);
        }
        self.outcome = Some(outcome);
        Poll::Ready(Ok(true))
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

    /// Does nothing: clients cannot request an upgrade. RFC 9114 §4.2.
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

fn broken(error: H3Error) -> ExchangeError {
    match error {
        H3Error::Message(error) => BadRequestError::from(error).into(),
        error => ExchangeError::Client(io::Error::other(error)),
    }
}
