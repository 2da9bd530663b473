//! The unencrypted content of the QUIC handshake: Retry, version negotiation, and both hellos
//! inside the Initials.

use roundtrip_model::TlsFacts;
use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, InitialKeys, LongKind, LongPacket, Packet, Packets, Retry, Side,
    retry_is_authentic,
};
use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, ServerHello};

#[derive(Default)]
pub(super) struct ClearHandshake {
    pub(super) retry: bool,
    pub(super) version_negotiation: bool,
    /// The destination of the first Initial packet, or of the first after a Retry.
    destination: Option<ConnectionId>,
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
                    self.destination = Some(long.destination);
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
                Packet::Retry(retry) if self.accepts(&retry) => {
                    self.retry = true;
                    self.keys = None;
                    self.client = CryptoStream::default();
                }
                Packet::VersionNegotiation { source, .. } => {
                    let asked = self.destination;
                    self.version_negotiation |= asked.is_some_and(|id| id.as_slice() == source);
                }
                Packet::Long(long) if long.kind == LongKind::Initial => {
                    self.open(Side::Server, &long);
                }
                Packet::Short { .. } => self.done = true,
                _ => {}
            }
        }
    }

    /// Whether the Retry comes from someone who has seen the first packet, and is the first one:
    /// the engine ignores any other. RFC 9000 §17.2.5.2.
    fn accepts(&self, retry: &Retry<'_>) -> bool {
        let first = self.destination.filter(|_| !self.retry);
        first.is_some_and(|first| retry_is_authentic(retry, &first).unwrap_or(false))
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

#[cfg(test)]
mod tests {
    use roundtrip_wire::quic::{
        Pen, Version, set_length, write_long, write_retry, write_version_negotiation,
    };

    use super::*;

    fn id(byte: u8) -> ConnectionId {
        ConnectionId::new(&[byte; 8]).unwrap()
    }

    fn initial(destination: &ConnectionId) -> Vec<u8> {
        let mut packet = vec![0; 1200];
        let (kind, version) = (LongKind::Initial, Version::V1);
        let mut pen = Pen::new(&mut packet);
        let at = write_long(&mut pen, kind, version, destination, &id(2), b"", 0, 1).unwrap();
        let length = packet.len() - at.number_at;
        assert!(set_length(&mut packet, at.length_at, length));
        packet
    }

    #[test]
    fn only_who_has_seen_the_first_packet_is_believed() {
        let mut seen = ClearHandshake::default();
        let retry = |first| write_retry(Version::V1, &id(2), &id(3), &id(first), b"t").unwrap();
        let versions =
            |from: u8| write_version_negotiation(&[2; 8], &[from; 8], &[Version(0x1a2a_3a4a)], 0);
        seen.received(&retry(1));
        seen.sent(&initial(&id(1)));
        seen.received(&retry(9));
        seen.received(&versions(9));
        assert!(!seen.retry && !seen.version_negotiation);
        assert!(seen.keys.is_some());
        seen.received(&versions(1));
        seen.received(&retry(1));
        assert!(seen.retry && seen.version_negotiation);
        assert!(seen.keys.is_none());
        seen.sent(&initial(&id(3)));
        seen.received(&retry(3));
        assert!(seen.keys.is_some());
    }
}
