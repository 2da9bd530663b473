//! What the packets of one connection show, in the terms of the report.

use std::collections::BTreeMap;

use super::capture::Packet;

const CLIENT_HELLO: u64 = 1;
const SERVER_HELLO: u64 = 2;
const CERTIFICATE: u64 = 11;
const PRE_SHARED_KEY: u64 = 41;
const EARLY_DATA: u64 = 42;
const CHANGE_CIPHER_SPEC: u64 = 20;
const HANDSHAKE: u64 = 22;
const APPLICATION_DATA: u64 = 23;
/// The random of a ServerHello that is a HelloRetryRequest begins like this. RFC 8446 §4.1.3.
const RETRY: &str = "cf21ad74";

#[derive(Debug, Clone, Default)]
pub(super) struct Witness {
    pub(super) syn_data: u64,
    pub(super) syn_data_acked: u64,
    pub(super) retransmissions: u64,
    /// Empty in clear text.
    pub(super) version: String,
    pub(super) resumed: bool,
    pub(super) hello_retry: bool,
    pub(super) early_data: bool,
    pub(super) flights: u64,
    /// The sender of each packet with data: `>` is the client.
    pub(super) turns: String,
}

/// Each connection by its client's port.
pub(super) fn witnesses(packets: &[Packet]) -> BTreeMap<u16, Witness> {
    let mut clients: BTreeMap<u16, Vec<&Packet>> = BTreeMap::new();
    for packet in packets {
        let client = packet.source.max(packet.destination);
        clients.entry(client).or_default().push(packet);
    }
    clients
        .into_iter()
        .map(|(port, packets)| (port, Connection { port, packets }.witness()))
        .collect()
}

struct Connection<'a> {
    port: u16,
    packets: Vec<&'a Packet>,
}

impl Connection<'_> {
    fn witness(&self) -> Witness {
        let syn = self.packets.iter().find(|p| p.syn && self.is_clients(p));
        let syn_ack = self.packets.iter().find(|p| p.syn && !self.is_clients(p));
        let hello = self.first_of(CLIENT_HELLO);
        let version = self.version();
        let resumed = if version == "TLSv1.3" {
            self.answers()
                .any(|p| p.extensions.contains(&PRE_SHARED_KEY))
        } else {
            // A server that resumes TLS 1.2 sends no certificate. RFC 5246 §7.3.
            !version.is_empty() && self.first_of(CERTIFICATE).is_none()
        };
        Witness {
            syn_data: syn.map_or(0, |p| p.length),
            syn_data_acked: syn_ack.map_or(0, |p| p.acknowledged.saturating_sub(1)),
            retransmissions: self
                .packets
                .iter()
                .filter(|p| p.retransmission && self.is_clients(p))
                .count() as u64,
            resumed,
            hello_retry: self.answers().count() > 1
                && self
                    .answers()
                    .any(|p| p.randoms.iter().any(|r| r.starts_with(RETRY))),
            early_data: hello.is_some_and(|at| self.packets[at].extensions.contains(&EARLY_DATA))
                && self.data_before_the_answer(),
            flights: self.flights(&version),
            turns: self.turns(&|_| true),
            version,
        }
    }

    fn is_clients(&self, packet: &Packet) -> bool {
        packet.source == self.port
    }

    /// The place of the first packet with a handshake message of this kind.
    fn first_of(&self, kind: u64) -> Option<usize> {
        self.packets
            .iter()
            .position(|p| p.handshake_types.contains(&kind))
    }

    fn answers(&self) -> impl Iterator<Item = &&Packet> {
        self.packets
            .iter()
            .filter(|p| p.handshake_types.contains(&SERVER_HELLO))
    }

    fn version(&self) -> String {
        match self.answers().last() {
            None => String::new(),
            Some(hello) if hello.versions.iter().any(|v| v.ends_with("0304")) => "TLSv1.3".into(),
            Some(_) => "TLSv1.2".into(),
        }
    }

    /// Did the client send application data before the ServerHello? Only the encrypted part shows
    /// that it was accepted, but a client that was refused would have had to send it again, and so
    /// wait longer.
    fn data_before_the_answer(&self) -> bool {
        let until = self.first_of(SERVER_HELLO).unwrap_or(0);
        self.packets[..until]
            .iter()
            .any(|p| self.is_clients(p) && p.content_types.contains(&APPLICATION_DATA))
    }

    /// Turns of the packets that count, runs joined: `><>`.
    fn turns(&self, counts: &dyn Fn(&Packet) -> bool) -> String {
        let mut turns = String::new();
        for packet in self.packets.iter().filter(|p| p.length > 0 && counts(p)) {
            let turn = if self.is_clients(packet) { '>' } else { '<' };
            if !turns.ends_with(turn) {
                turns.push(turn);
            }
        }
        turns
    }

    /// Flights of the handshake: in TLS 1.2 its records are unencrypted; in 1.3 it ends with the
    /// client's first turn after the ServerHello.
    fn flights(&self, version: &str) -> u64 {
        if version == "TLSv1.2" {
            let of_handshake = |p: &Packet| {
                p.content_types
                    .iter()
                    .any(|t| [CHANGE_CIPHER_SPEC, HANDSHAKE].contains(t))
            };
            return self.turns(&of_handshake).len() as u64;
        }
        let Some(last) = self
            .packets
            .iter()
            .rposition(|p| p.handshake_types.contains(&SERVER_HELLO))
        else {
            return 0;
        };
        let before = Connection {
            port: self.port,
            packets: self.packets[..=last].to_vec(),
        };
        before.turns(&|_| true).len() as u64 + 1
    }
}
