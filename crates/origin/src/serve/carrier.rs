//! The transport of HTTP/3: our own engine, or quinn. The rest of the server does not know which.

#[cfg(feature = "peers")]
mod quinn;
#[cfg(feature = "peers")]
mod quinn_streams;

use std::future::Future;

use roundtrip_quic_tokio::{Connection, ConnectionStreams, H3Transport};
use roundtrip_wire::h3::Code;

#[cfg(feature = "peers")]
pub(crate) use self::quinn::{Confirmation, QuinnCarrier};

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
