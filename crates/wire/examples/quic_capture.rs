//! What a capture shows of QUIC without keys: a line of JSON for each UDP datagram that was sent to
//! or from a port. The interop matrix reads it (`scripts/interop`).
//!
//! `quic_capture FILE PORT`. Initial packets are opened to read the server's hello.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufWriter, Write as _, stdout};
use std::net::SocketAddr;

use roundtrip_wire::packet::Packet as Ip;
use roundtrip_wire::pcapng::{Block, Captured, PcapngReader};
use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, InitialKeys, LongKind, LongPacket, Packet, Packets, Side, Version,
};
use roundtrip_wire::tls::{HandshakeKind, Handshakes, ServerHello};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, port] = &arguments[..] else {
        return Err("quic_capture FILE PORT".into());
    };
    let port = port.parse()?;
    let capture = std::fs::read(file)?;
    let mut out = BufWriter::new(stdout().lock());
    let mut interfaces: Vec<String> = Vec::new();
    let mut hellos = Hellos::default();
    for block in PcapngReader::new(&capture) {
        match block? {
            Block::Section(_) => interfaces.clear(),
            Block::Interface(interface) => {
                interfaces.push(interface.name.map(Cow::into_owned).unwrap_or_default());
            }
            Block::Packet(packet) => {
                let name = interfaces.get(packet.interface as usize);
                if let Some(line) = datagram(&packet, port, &mut hellos) {
                    writeln!(out, "{}", with(line, "interface", json!(name)))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn with(mut line: Value, key: &str, value: Value) -> Value {
    line[key] = value;
    line
}

fn datagram(captured: &Captured<'_>, port: u16, hellos: &mut Hellos) -> Option<Value> {
    let ip = Ip::parse(&captured.data).ok()?;
    let udp = ip.udp()?;
    let from = SocketAddr::new(ip.source(), udp.source_port());
    let to = SocketAddr::new(ip.destination(), udp.destination_port());
    let side = match port {
        _ if to.port() == port => Side::Client,
        _ if from.port() == port => Side::Server,
        _ => return None,
    };
    let mut packets = Vec::new();
    for packet in Packets::new(udp.payload()) {
        // Padding and damage after the last packet.
        let Ok(packet) = packet else { break };
        packets.push(describe(&packet, side, hellos));
    }
    Some(json!({
        "at": captured.time,
        "client": side == Side::Client,
        "from": from,
        "to": to,
        "ecn": ip.ecn() as u8,
        "length": udp.payload().len(),
        "comments": captured.comments,
        "packets": packets,
    }))
}

fn describe(packet: &Packet<'_>, side: Side, hellos: &mut Hellos) -> Value {
    match packet {
        Packet::VersionNegotiation { versions, .. } => {
            let versions: Vec<u32> = versions.iter().map(|version| version.0).collect();
            json!({ "kind": "version negotiation", "versions": versions })
        }
        Packet::Retry(retry) => json!({
            "kind": "retry",
            "version": retry.version.0,
            "source": hex(retry.source.as_slice()),
            "token": hex(retry.token),
        }),
        Packet::Long(long) => {
            let (kind, hello) = match long.kind {
                LongKind::Initial => ("initial", hellos.see(long, side)),
                LongKind::ZeroRtt => ("0-rtt", None),
                LongKind::Handshake => ("handshake", None),
            };
            json!({
                "kind": kind,
                "version": long.version.0,
                "source": hex(long.source.as_slice()),
                "destination": hex(long.destination.as_slice()),
                "token": hex(long.token),
                "length": long.bytes.len(),
                "hello": hello,
            })
        }
        Packet::Short { bytes, .. } => json!({ "kind": "1-rtt", "length": bytes.len() }),
        Packet::Unknown { version, .. } => json!({ "kind": "unknown", "version": version.0 }),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The content of Initial packets, by connection.
#[derive(Default)]
struct Hellos {
    /// The keys are derived from the destination that the client chose. RFC 9001 §5.2.
    keys: HashMap<(Version, ConnectionId), InitialKeys>,
    /// By the server's connection id.
    streams: HashMap<ConnectionId, CryptoStream>,
}

impl Hellos {
    /// The server's hello, or what it retried, with the packet that completes it.
    fn see(&mut self, packet: &LongPacket<'_>, side: Side) -> Option<Value> {
        if side == Side::Client {
            let key = (packet.version, packet.destination);
            if !self.keys.contains_key(&key)
                && let Ok(keys) = InitialKeys::derive(packet.version, &packet.destination)
                && keys.open(side, packet, None).is_ok()
            {
                self.keys.insert(key, keys);
            }
            return None;
        }
        let opened = self
            .keys
            .values()
            .find_map(|keys| keys.open(side, packet, None).ok())?;
        let stream = self.streams.entry(packet.source).or_default();
        stream.push_payload(&opened.payload).ok()?;
        let message = Handshakes::new(stream.contiguous())
            .filter(|message| message.kind == HandshakeKind::SERVER_HELLO)
            .last()?;
        let hello = ServerHello::parse(message.body).ok()?;
        Some(json!({
            "cipher": hello.cipher_suite.to_string(),
            "resumed": hello.psk.is_some(),
            "retry": hello.is_retry,
        }))
    }
}
