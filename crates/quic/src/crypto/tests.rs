//! Both halves of a connection without a network: packets carry handshake bytes over, in any order.

mod early;
mod handshake;
mod hostile;
mod limits;
mod refusals;
mod updates;
mod vectors;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use roundtrip_wire::quic::{ConnectionId, Side, Version};

use super::{Crypto, Level, OpenError, OpenedPacket, TAG};
use crate::Time;
use crate::error::TransportError;

const NAME: &str = "a.example";
const NUMBER_AT: usize = 5;

fn id(bytes: &[u8]) -> ConnectionId {
    ConnectionId::new(bytes).unwrap()
}

fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

struct Configs {
    client: ClientConfig,
    server: ServerConfig,
}

impl Configs {
    fn new() -> Self {
        Self::with(provider(), provider())
    }

    fn with(client: CryptoProvider, server: CryptoProvider) -> Self {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let mut server = ServerConfig::builder_with_provider(Arc::new(server))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        server.alpn_protocols = vec![b"test".to_vec()];
        server.max_early_data_size = u32::MAX;
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let mut client = ClientConfig::builder_with_provider(Arc::new(client))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"test".to_vec()];
        client.enable_early_data = true;
        Self { client, server }
    }

    fn meet(self) -> Ends {
        Ends::new(&Arc::new(self.client), &Arc::new(self.server), Version::V1)
    }
}

/// A packet in flight.
struct Packet {
    to: Side,
    level: Level,
    bytes: Vec<u8>,
    /// The offset and length of the handshake bytes that the packet carries.
    offset: u64,
    length: usize,
}

struct Ends {
    client: Crypto,
    server: Crypto,
    /// The next packet number. All levels share the numbers, which is enough for these tests.
    next: u64,
}

impl Ends {
    fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, version: Version) -> Self {
        let first = id(b"12345678");
        let name = NAME.try_into().unwrap();
        let said = b"of the client".to_vec();
        let client = Crypto::client(client.clone(), name, said, &first, version).unwrap();
        let said = b"of the server".to_vec();
        let server = Crypto::server(server.clone(), said, &first, version).unwrap();
        Self {
            client,
            server,
            next: 0,
        }
    }

    fn end(&mut self, side: Side) -> &mut Crypto {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// The handshake bytes that `from` has to send, in packets that carry at most `room` each.
    fn send(&mut self, from: Side, room: usize) -> Vec<Packet> {
        let mut packets = Vec::new();
        for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
            while let Some((offset, data)) = self.end(from).chunk(level, room) {
                let data = data.to_vec();
                let number = self.next;
                self.next += 1;
                packets.push(Packet {
                    to: other(from),
                    level,
                    bytes: seal(self.end(from), level, number, &data).unwrap(),
                    offset,
                    length: data.len(),
                });
            }
            assert!(!self.end(from).wants_to_send(level));
        }
        packets
    }

    /// Delivers a packet. Returns false if it cannot be opened yet.
    fn deliver(&mut self, packet: &Packet) -> Result<bool, TransportError> {
        let expected = self.next;
        let to = self.end(packet.to);
        let mut bytes = packet.bytes.clone();
        match open(to, packet.level, &mut bytes, expected) {
            Ok(opened) => {
                let data = &bytes[opened.payload];
                to.receive(packet.level, packet.offset, data).map(|()| true)
            }
            Err(OpenError::NoKeys) if to.awaits(packet.level) => Ok(false),
            Err(other) => panic!("{other:?} at {:?}", packet.level),
        }
    }

    /// Goes back and forth until neither end has anything to send.
    fn shake(&mut self) -> Result<(), TransportError> {
        loop {
            let mut packets = self.send(Side::Client, 1200);
            packets.extend(self.send(Side::Server, 1200));
            if packets.is_empty() {
                return Ok(());
            }
            for packet in packets {
                assert!(self.deliver(&packet)?, "{:?} came too early", packet.level);
            }
        }
    }

    /// Passes a 1-RTT packet from one end to the other, which opens it.
    fn pass(&mut self, from: Side, number: u64) -> Result<OpenedPacket, OpenError> {
        let mut packet = seal(self.end(from), Level::OneRtt, number, b"some frames").unwrap();
        self.open(other(from), &mut packet, number)
    }

    fn open(
        &mut self,
        to: Side,
        packet: &mut [u8],
        expected: u64,
    ) -> Result<OpenedPacket, OpenError> {
        open(self.end(to), Level::OneRtt, packet, expected)
    }
}

fn shaken() -> Ends {
    let mut ends = Configs::new().meet();
    ends.shake().unwrap();
    ends
}

fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

/// Seals a packet with the smallest header that `Crypto` accepts.
fn seal(
    end: &mut Crypto,
    level: Level,
    number: u64,
    payload: &[u8],
) -> Result<Vec<u8>, TransportError> {
    let phase = u8::from(end.key_phase()) << 2;
    let first = match level {
        Level::OneRtt => 0x43 | phase,
        _ => 0xc3,
    };
    seal_with(end, level, first, number, payload)
}

fn seal_with(
    end: &mut Crypto,
    level: Level,
    first: u8,
    number: u64,
    payload: &[u8],
) -> Result<Vec<u8>, TransportError> {
    let number_bytes = (number as u32).to_be_bytes();
    let header = [&[first][..], b"head", &number_bytes].concat();
    let mut packet = [&header[..], payload, &[0; TAG]].concat();
    end.seal(level, number, &mut packet, NUMBER_AT, 4)?;
    assert!(!packet.ends_with(&[0; TAG]));
    Ok(packet)
}

fn open(
    end: &mut Crypto,
    level: Level,
    packet: &mut [u8],
    expected: u64,
) -> Result<OpenedPacket, OpenError> {
    end.open(level, packet, NUMBER_AT, expected, Time(7))
}
