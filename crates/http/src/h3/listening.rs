//! An ear for session tickets, which come in QUIC's handshake bytes: `roundtrip_tls` keeps them for later processes.

use roundtrip_quic::{Ear, Reading};
use roundtrip_tls::{Listening, TicketReader};

/// One connection's.
#[derive(Debug, Default)]
pub(super) struct Attentive(TicketReader);

impl Attentive {
    pub(super) fn ear() -> Box<dyn Ear> {
        Box::new(Self::default())
    }
}

impl Ear for Attentive {
    fn hear(&mut self, reading: &mut Reading<'_>) {
        let listening = Listening::begin();
        self.0.hear(reading.bytes());
        reading.read();
        listening.end(|| reading.certificates().map(<[_]>::to_vec));
    }
}
