//! QUIC's streams as the engine wants them. What it does not bound, drop or tell is bounded, dropped and told here: a frame
//! that it would gather whole however large it is; an answer that would seem whole where its exchange was given up; a client
//! that does not want the answer any more.

mod receiving;
mod sending;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use quinn::VarInt;

pub(super) use receiving::{Allowance, Receiving};
pub(super) use sending::{Ours, Sending};

/// On each of the client's streams that carries no request: settings and what else there is to say for as long as the
/// connection lives.
const ASIDE: usize = 1024 * 1024;

type Later<T> = Pin<Box<dyn Future<Output = T>>>;
type Soon<T> = Option<Later<Result<T, quinn::ConnectionError>>>;
type Both = (quinn::SendStream, quinn::RecvStream);

/// Of the stream that was accepted last: what the engine has no way to.
pub(super) struct Reins {
    pub(super) allowance: Allowance,
    pub(super) ours: Ours,
    /// Ends when the client wants no answer, or is gone.
    pub(super) stopped: Later<()>,
}

pub(super) struct Transport {
    opener: Opener,
    bidi: Soon<Both>,
    uni: Soon<quinn::RecvStream>,
    reins: Rc<RefCell<Option<Reins>>>,
}

impl Transport {
    pub(super) fn new(connection: quinn::Connection, reins: Rc<RefCell<Option<Reins>>>) -> Self {
        Self {
            opener: Opener {
                connection,
                bidi: None,
                uni: None,
            },
            bidi: None,
            uni: None,
            reins,
        }
    }
}

impl quic::Connection<Bytes> for Transport {
    type RecvStream = Receiving;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Receiving, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let accepting = self.uni.get_or_insert_with(|| {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_uni().await })
        });
        let accepted = ready!(accepting.as_mut().poll(cx));
        self.uni = None;
        let receiving = |stream| Receiving::new(stream, Allowance::of(ASIDE));
        Poll::Ready(accepted.map(receiving).map_err(lost))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidi, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let accepting = self.bidi.get_or_insert_with(|| {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_bi().await })
        });
        let accepted = ready!(accepting.as_mut().poll(cx));
        self.bidi = None;
        let (sending, receiving) = accepted.map_err(lost)?;
        let (allowance, ours) = (Allowance::of(0), Ours::default());
        let stopped = sending.stopped();
        *self.reins.borrow_mut() = Some(Reins {
            allowance: allowance.clone(),
            ours: ours.clone(),
            stopped: Box::pin(async move {
                let _ = stopped.await;
            }),
        });
        Poll::Ready(Ok(Bidi {
            sending: Sending::of_request(sending, ours),
            receiving: Receiving::new(receiving, allowance),
        }))
    }

    fn opener(&self) -> Opener {
        Opener {
            connection: self.opener.connection.clone(),
            bidi: None,
            uni: None,
        }
    }
}

impl quic::OpenStreams<Bytes> for Transport {
    type BidiStream = Bidi;
    type SendStream = Sending;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bidi, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Sending, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

pub(super) struct Opener {
    connection: quinn::Connection,
    bidi: Soon<Both>,
    uni: Soon<quinn::SendStream>,
}

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = Bidi;
    type SendStream = Sending;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bidi, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opening = self.bidi.get_or_insert_with(|| {
            let connection = connection.clone();
            Box::pin(async move { connection.open_bi().await })
        });
        let opened = ready!(opening.as_mut().poll(cx));
        self.bidi = None;
        let bidi = |(sending, receiving)| Bidi {
            sending: Sending::of_request(sending, Ours::default()),
            receiving: Receiving::new(receiving, Allowance::of(ASIDE)),
        };
        Poll::Ready(opened.map(bidi).map_err(stream_lost))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Sending, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opening = self.uni.get_or_insert_with(|| {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        let opened = ready!(opening.as_mut().poll(cx));
        self.uni = None;
        Poll::Ready(opened.map(Sending::aside).map_err(stream_lost))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(varint(code.value()), reason);
    }
}

pub(super) struct Bidi {
    sending: Sending,
    receiving: Receiving,
}

impl quic::BidiStream<Bytes> for Bidi {
    type SendStream = Sending;
    type RecvStream = Receiving;

    fn split(self) -> (Sending, Receiving) {
        (self.sending, self.receiving)
    }
}

impl quic::RecvStream for Bidi {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiving.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receiving.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.receiving.recv_id()
    }
}

impl quic::SendStream<Bytes> for Bidi {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_ready(cx)
    }

    fn send_data<T: Into<quic::WriteBuf<Bytes>>>(
        &mut self,
        data: T,
    ) -> Result<(), StreamErrorIncoming> {
        self.sending.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.sending.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.sending.send_id()
    }
}

fn lost(error: quinn::ConnectionError) -> ConnectionErrorIncoming {
    match error {
        quinn::ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose {
                error_code: close.error_code.into_inner(),
            }
        }
        quinn::ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn stream_lost(error: quinn::ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: lost(error),
    }
}

/// Codes and numbers of streams are varints to begin with.
fn varint(value: u64) -> VarInt {
    VarInt::from_u64(value).unwrap_or(VarInt::MAX)
}

fn id(id: quinn::StreamId) -> StreamId {
    let id = u64::from(VarInt::from(id));
    StreamId::try_from(id).unwrap_or_else(|_| unreachable!("QUIC's are no larger"))
}
