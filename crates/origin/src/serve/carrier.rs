//! The transport of HTTP/3: quinn, or our own engine. The rest of the server does not know which.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use bytes::Bytes;
use h3::quic::{self, StreamId};
use quinn::{VarInt, ZeroRttAccepted};
use roundtrip_quic_tokio::{
    BidiStream, Connection, H3Connection, H3SendStream, OpenStreams, RecvStream,
};

/// A QUIC connection.
pub(crate) trait QuicCarrier: Send + 'static {
    type Bidi: quic::SendStream<Bytes> + quic::RecvStream + Send + 'static;
    type Sending: quic::SendStream<Bytes> + Send + 'static;
    type Receiving: quic::RecvStream + Send + 'static;
    type Opener: quic::OpenStreams<Bytes, BidiStream = Self::Bidi, SendStream = Self::Sending>
        + Send
        + 'static;
    type Transport: quic::Connection<
            Bytes,
            BidiStream = Self::Bidi,
            SendStream = Self::Sending,
            RecvStream = Self::Receiving,
            OpenStreams = Self::Opener,
        > + Send
        + 'static;
    type Control: StreamControl;

    fn transport(&self) -> Self::Transport;

    fn control(&self) -> Self::Control;

    /// Whether the handshake is complete. Before that, what arrives may be a replay.
    fn is_confirmed(&mut self) -> bool;

    fn close(&self, code: u64);

    /// Waits until the connection is closed.
    fn closed(&self) -> impl Future<Output = ()> + Send;
}

/// Controls a server's streams.
pub(crate) trait StreamControl: Clone + Send + 'static {
    /// Raises the read allowance of a stream by `allowance` bytes. From then on, the server has to
    /// finish its answer.
    fn entrust(&self, stream: impl FnOnce() -> StreamId, allowance: u64);
}

/// Whether the handshake is complete. Before that, what arrives may be a replay.
pub(crate) enum Confirmation {
    Awaited(ZeroRttAccepted),
    Complete,
}

impl Confirmation {
    pub(crate) fn is_complete(&mut self) -> bool {
        if let Self::Awaited(confirmed) = self {
            let mut idle = Context::from_waker(Waker::noop());
            if Pin::new(confirmed).poll(&mut idle).is_pending() {
                return false;
            }
            *self = Self::Complete;
        }
        true
    }
}

pub(crate) struct QuinnCarrier {
    connection: quinn::Connection,
    confirmation: Confirmation,
}

impl QuinnCarrier {
    pub(crate) fn new(connection: quinn::Connection, confirmation: Confirmation) -> Self {
        Self {
            connection,
            confirmation,
        }
    }
}

impl QuicCarrier for QuinnCarrier {
    type Bidi = h3_quinn::BidiStream<Bytes>;
    type Sending = h3_quinn::SendStream<Bytes>;
    type Receiving = h3_quinn::RecvStream;
    type Opener = h3_quinn::OpenStreams;
    type Transport = h3_quinn::Connection;
    type Control = ();

    fn transport(&self) -> h3_quinn::Connection {
        h3_quinn::Connection::new(self.connection.clone())
    }

    fn control(&self) {}

    fn is_confirmed(&mut self) -> bool {
        self.confirmation.is_complete()
    }

    fn close(&self, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or_default();
        self.connection.close(code, b"");
    }

    async fn closed(&self) {
        self.connection.closed().await;
    }
}

/// quinn has no limit by stream, and cannot tell the stream's ID during a read.
impl StreamControl for () {
    fn entrust(&self, _: impl FnOnce() -> StreamId, _: u64) {}
}

pub(crate) struct OwnCarrier(Connection);

impl OwnCarrier {
    pub(crate) fn new(link: Connection) -> Self {
        Self(link)
    }
}

impl QuicCarrier for OwnCarrier {
    type Bidi = BidiStream;
    type Sending = H3SendStream;
    type Receiving = RecvStream;
    type Opener = OpenStreams;
    type Transport = H3Connection;
    type Control = Connection;

    fn transport(&self) -> H3Connection {
        H3Connection::new(&self.0)
    }

    fn control(&self) -> Connection {
        self.0.clone()
    }

    fn is_confirmed(&mut self) -> bool {
        self.0.is_connected()
    }

    fn close(&self, code: u64) {
        self.0.close(code, b"");
    }

    async fn closed(&self) {
        self.0.closed().await;
    }
}

impl StreamControl for Connection {
    fn entrust(&self, stream: impl FnOnce() -> StreamId, allowance: u64) {
        self.take_over(stream().into_inner(), allowance);
    }
}
