//! The unencrypted content of the QUIC handshake: Retry, version negotiation, and both hellos
//! inside the Initials.

use roundtrip_model::TlsFacts;
use roundtrip_wire::quic::{
    CryptoStream, InitialKeys, LongKind, LongPacket, Packet, Packets, Side,
};
use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, ServerHello};

#[derive(Default)]
pub(super) struct ClearHandshake {
    pub(super) retry: bool,
    pub(super) version_negotiation: bool,
    keys: Option<InitialKeys>,
    client: CryptoStream,
    server: CryptoStream,
    /// Whether nothing more can be learnt: the server has sent 1-RTT packets.
    done: bool,
}

impl ClearHandshake {
    pub(super) fn sent(&mut self, datagram: &[u8]) {
        if self.done {
            return;
        }
        for packet in Packets::new(datagram).filter_map(Result::ok) {
            if let Packet::Long(long) = packet
                && long.kind == LongKind::Initial
            {
                // The first Initial, or the first after a Retry, makes the keys of both sides. RFC
                // 9001 §5.2.
                if self.keys.is_none() {
                    self.keys = InitialKeys::derive(long.version, &long.destination).ok();
                }
                self.open(Side::Client, &long);
            }
        }
    }

    pub(super) fn received(&mut self, datagram: &[u8]) {
        if self.done {
            return;
        }
        for packet in Packets::new(datagram).filter_map(Result::ok) {
            match packet {
                Packet::Retry(_) => {
                    self.retry = true;
                    self.keys = None;
                    self.client = CryptoStream::default();
                }
                Packet::VersionNegotiation { .. } => self.version_negotiation = true,
                Packet::Long(long) if long.kind == LongKind::Initial => {
                    self.open(Side::Server, &long);
                }
                Packet::Short { .. } => self.done = true,
                _ => {}
            }
        }
    }

    fn open(&mut self, side: Side, packet: &LongPacket<'_>) {
        let Some(opened) = self
            .keys
            .as_ref()
            .and_then(|keys| keys.open(side, packet, None).ok())
        else {
            return;
        };
        let stream = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        // Data out of bounds is refused elsewhere.
        let _ = stream.push_payload(&opened.payload);
    }

    /// Completes a handshake's facts with what the hellos say.
    pub(super) fn describe(&self, facts: &mut TlsFacts) {
        let client = Handshakes::new(self.client.contiguous())
            .find(|m| m.kind == HandshakeKind::CLIENT_HELLO)
            .and_then(|m| ClientHello::parse(m.body).ok());
        facts.client_hello_bytes = client.map_or(0, |hello| hello.length as u64);
        for message in Handshakes::new(self.server.contiguous())
            .filter(|m| m.kind == HandshakeKind::SERVER_HELLO)
        {
            let Ok(hello) = ServerHello::parse(message.body) else {
                continue;
            };
            facts.hello_retry |= hello.is_retry;
            facts.resumed = hello.psk.is_some();
            facts.cipher = hello.cipher_suite.to_string();
            facts.group = hello.group.map(|g| g.to_string()).unwrap_or_default();
        }
    }
}
