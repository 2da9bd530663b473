//! Reads a request's body as HTTP/2.

use std::future::pending;
use std::io;
use std::rc::Rc;

use h2::RecvStream;

use crate::accept::front::signal::Signal;
use crate::forward::exchange::{ExchangeError, Source};
use crate::forward::h1::Trailers;
use crate::judge::request::BadRequestError;

pub(super) struct Body {
    stream: RecvStream,
    confirmed: Rc<Signal>,
    /// The length of the last piece. Once it has been passed on, the next read returns as much to
    /// the client's window.
    given: usize,
    trailers: Trailers,
}

impl Body {
    pub(super) fn new(stream: RecvStream, confirmed: Rc<Signal>) -> Self {
        Self {
            stream,
            confirmed,
            given: 0,
            trailers: Trailers::default(),
        }
    }
}

impl Source for Body {
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        loop {
            let window = self.stream.flow_control();
            // Capacity cannot be released for data that was not received.
            let _ = window.release_capacity(std::mem::take(&mut self.given));
            match self.stream.data().await {
                None => {
                    if let Some(fields) = self.stream.trailers().await.map_err(broken)? {
                        self.trailers =
                            Trailers::of(&fields).map_err(|_| BadRequestError::Chunk)?;
                    }
                    return Ok(false);
                }
                Some(Err(error)) => return Err(broken(error)),
                Some(Ok(data)) if data.is_empty() => {}
                Some(Ok(data)) => {
                    self.given = data.len();
                    into.extend_from_slice(&data);
                    return Ok(true);
                }
            }
        }
    }

    fn trailers(&mut self) -> Trailers {
        std::mem::take(&mut self.trailers)
    }

    /// RFC 8441 §5: the bytes come in DATA frames, as before.
    fn upgrade(&mut self) {}

    /// The future that runs the exchange sees the stream's end first.
    async fn gone(&mut self) {
        pending::<()>().await;
    }

    async fn confirmed(&mut self) -> Result<(), ExchangeError> {
        self.confirmed.wait().await;
        Ok(())
    }
}

fn broken(error: h2::Error) -> ExchangeError {
    ExchangeError::Client(io::Error::other(error))
}
