//! A connection of quinn.

use std::pin::Pin;
use std::task::{Context, Waker};

use quinn::{VarInt, ZeroRttAccepted};
use roundtrip_wire::h3::Code;

use super::QuicCarrier;
use super::quinn_streams::QuinnStreams;

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

pub(super) fn varint(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or_default()
}
