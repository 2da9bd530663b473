//! Reads session tickets, which come in QUIC's handshake bytes: `roundtrip_tls` keeps them for later processes.

use roundtrip_quic::{HandshakeBytes, HandshakeObserver};
use roundtrip_tls::{Listening, TicketReader};

/// One connection's.
#[derive(Debug, Default)]
pub(super) struct Attentive(TicketReader);

impl Attentive {
    pub(super) fn ear() -> Box<dyn HandshakeObserver> {
        Box::new(Self::default())
    }
}

impl HandshakeObserver for Attentive {
    fn on_handshake_bytes(&mut self, reading: &mut HandshakeBytes<'_>) {
        let listening = Listening::begin();
        self.0.hear(reading.bytes());
        reading.read();
        listening.end(|| reading.certificates().map(<[_]>::to_vec));
    }
}
