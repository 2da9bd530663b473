//! Observes session tickets, which come in QUIC's handshake bytes: `roundtrip_tls` stores them for
//! later processes.

use roundtrip_quic::{HandshakeBytes, HandshakeObserver};
use roundtrip_tls::{Interception, TicketReader};

/// The observer of one connection.
#[derive(Debug, Default)]
pub(super) struct TicketObserver(TicketReader);

impl TicketObserver {
    pub(super) fn boxed() -> Box<dyn HandshakeObserver> {
        Box::new(Self::default())
    }
}

impl HandshakeObserver for TicketObserver {
    fn on_handshake_bytes(&mut self, reading: &mut HandshakeBytes<'_>) {
        let interception = Interception::begin();
        self.0.read(reading.bytes());
        reading.read();
        interception.end(|| reading.certificates().map(<[_]>::to_vec));
    }
}
