//! Observes session tickets, which come in QUIC's handshake bytes: `roundtrip_tls` stores them for
//! later processes.

use roundtrip_quic::{HandshakeObserver, Reading};
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
    fn hear(&mut self, reading: &mut Reading<'_>) {
        let interception = Interception::begin();
        self.0.read(reading.bytes());
        reading.read();
        interception.end(|| reading.certificates().map(<[_]>::to_vec));
    }
}
