//! The transport of HTTP/3: quinn, or our own engine. The rest of the server does not know which.

mod quinn_streams;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use quinn::{VarInt, ZeroRttAccepted};
use roundtrip_quic_tokio::{Connection, ConnectionStreams, H3Transport};
use roundtrip_wire::h3::Code;

use quinn_streams::QuinnStreams;

/// A QUIC connection.
pub(crate) trait QuicCarrier: Send + 'static {
    type Transport: H3Transport<Sending: Send + 'static, Receiving: Send + 'static> + Send + 'static;

    fn transport(&self) -> Self::Transport;

    /// Whether the handshake is complete. Before that, what arrives may be a replay.
    fn is_confirmed(&mut self) -> bool;

    fn close(&self, code: Code);

    /// Waits until the connection is closed.
    fn closed(&self) -> impl Future<Output = ()> + Send;
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
    type Transport = QuinnStreams;

    fn transport(&self) -> QuinnStreams {
        QuinnStreams::new(&self.connection)
    }

    fn is_confirmed(&mut self) -> bool {
        self.confirmation.is_complete()
    }

    fn close(&self, code: Code) {
        self.connection.close(varint(code), b"");
    }

    async fn closed(&self) {
        self.connection.closed().await;
    }
}

fn varint(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or_default()
}

pub(crate) struct OwnCarrier(Connection);

impl OwnCarrier {
    pub(crate) fn new(link: Connection) -> Self {
        Self(link)
    }
}

impl QuicCarrier for OwnCarrier {
    type Transport = ConnectionStreams;

    fn transport(&self) -> ConnectionStreams {
        ConnectionStreams::new(&self.0)
    }

    fn is_confirmed(&mut self) -> bool {
        self.0.is_connected()
    }

    fn close(&self, code: Code) {
        self.0.close(code.value(), b"");
    }

    async fn closed(&self) {
        self.0.closed().await;
    }
}
