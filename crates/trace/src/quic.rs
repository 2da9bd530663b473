//! One QUIC connection: its datagrams, and the content of the Initial packets, whose keys anyone
//! can derive. Only sizes and directions are known of later packets.

mod facts;
mod opened;
mod place;
mod probes;
mod ranges;
mod reading;

use std::net::SocketAddr;

use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::link::LinkDirection;
use roundtrip_wire::packet::{Packet as IpPacket, Udp};
use roundtrip_wire::passive::SealedReason;
use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, Frame, Frames, InitialKeys, LongKind, LongPacket, Packet, Packets,
    Parameters, Side as Sender, Version,
};
use roundtrip_wire::tls::{ClientHello, HandshakeKind, Handshakes, ServerHello};

use crate::conversation::{Carrier, Conversation, LadderStep, Undecidable};
use crate::exchanges::explain;
use crate::names::NameLookups;
use crate::relations::ConnectionEnds;
use crate::requests::OpenedRequest;
use crate::segment::Side;
use opened::OpenedQuic;
use ranges::SeenRanges;
use reading::QuicReading;

/// The number of datagrams of one connection that are kept individually.
const MAX_DATAGRAMS: usize = 20_000;
const MAX_STEPS: usize = 400;
/// The number of Initial packets of one side whose times are kept.
const MAX_INITIALS: usize = 64;
/// The number of Retry packets that are remembered: one for each datagram of a first flight.
const MAX_RETRIES: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram {
    frame: u64,
    at: u64,
    from: Side,
    bytes: u64,
    kinds: Kinds,
    /// Whether the datagram repeats a part of a hello that was sent before.
    again: bool,
    hop_limit: u8,
    way: Option<LinkDirection>,
}

/// The content of a datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds {
    initial: bool,
    handshake: bool,
    early: bool,
    retry: bool,
    negotiation: bool,
    short: bool,
}

pub(crate) struct QuicFlow {
    client: SocketAddr,
    server: SocketAddr,
    interface: u32,
    pub(crate) datagrams: Vec<Datagram>,
    merged: u64,
    keys: Option<InitialKeys>,
    /// The version and the connection ID from which the keys are derived.
    origin: (Version, ConnectionId),
    /// The connection IDs that Retry packets gave; the client uses that of the first Retry that it
    /// received.
    retries: Vec<ConnectionId>,
    /// The connection IDs that the server chose for itself.
    server_ids: Vec<ConnectionId>,
    largest: [Option<u64>; 2],
    crypto: [CryptoStream; 2],
    /// Which parts of each hello were sent.
    told: [SeenRanges; 2],
    /// When each Initial packet was first seen, by its number, and the shortest times until the
    /// peer acknowledged one.
    numbers: [Vec<(u64, u64)>; 2],
    shortest: [Option<u64>; 2],
    repeats: bool,
    pub(crate) mark: u32,
    opened: Option<Box<OpenedQuic>>,
}

impl QuicFlow {
    /// Begins a connection if the datagram is a client's first one: it then contains an Initial
    /// packet that anyone can decrypt.
    pub(crate) fn begin(
        from: SocketAddr,
        to: SocketAddr,
        interface: u32,
        udp: &Udp<'_>,
    ) -> Option<Self> {
        let Some(Ok(Packet::Long(first))) = Packets::new(udp.payload()).next() else {
            return None;
        };
        (first.kind == LongKind::Initial).then_some(())?;
        let keys = InitialKeys::derive(first.version, &first.destination).ok()?;
        let id = first.destination.as_slice();
        let mark = id
            .iter()
            .fold(0_u32, |mark, byte| mark.rotate_left(5) ^ u32::from(*byte));
        Some(Self {
            client: from,
            server: to,
            interface,
            datagrams: Vec::new(),
            merged: 0,
            keys: Some(keys),
            origin: (first.version, first.destination),
            retries: Vec::new(),
            server_ids: Vec::new(),
            largest: [None; 2],
            crypto: Default::default(),
            told: Default::default(),
            numbers: Default::default(),
            shortest: [None; 2],
            repeats: false,
            mark,
            opened: None,
        })
    }

    pub(crate) fn push(
        &mut self,
        (frame, at, way): (u64, u64, Option<LinkDirection>),
        from: SocketAddr,
        packet: &IpPacket<'_>,
        udp: &Udp<'_>,
    ) {
        let from = self.side_of(from);
        self.repeats = false;
        let kinds = self.look(at, from, udp.payload());
        let bytes = u64::from(udp.length()).saturating_sub(8);
        if self.datagrams.len() >= MAX_DATAGRAMS
            && let Some(last) = self.datagrams.last_mut()
            && last.from == from
        {
            last.bytes += bytes;
            self.merged += 1;
            return;
        }
        self.datagrams.push(Datagram {
            frame,
            at,
            from,
            bytes,
            kinds,
            again: self.repeats,
            hop_limit: packet.hop_limit(),
            way,
        });
    }

    /// Whether a datagram begins another connection between the same ports: a client's Initial to
    /// an id that this server did not choose, and whose keys are derived from that id.
    pub(crate) fn is_another(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let Some(Ok(Packet::Long(first))) = Packets::new(datagram).next() else {
            return false;
        };
        let id = &first.destination;
        let is_known = *id == self.origin.1
            || [&self.retries, &self.server_ids]
                .iter()
                .any(|ids| ids.contains(id));
        if first.kind != LongKind::Initial
            || self.side_of(from) != Side::Client
            || self.server_ids.is_empty()
            || is_known
        {
            return false;
        }
        let keys = InitialKeys::derive(first.version, id);
        keys.is_ok_and(|keys| keys.open(Sender::Client, &first, None).is_ok())
    }

    /// How long the connection may be silent before its client considers it closed, in nanoseconds.
    /// RFC 9000 §10.1.
    pub(crate) fn max_idle(&self) -> Option<u64> {
        let told = self.client_hello()?.quic_parameters?;
        let told = Parameters::read(&told, Sender::Client).ok()?;
        let milliseconds = Some(told.max_idle_timeout).filter(|most| *most > 0)?;
        Some(milliseconds.saturating_mul(1_000_000))
    }

    /// Opens a datagram with these secrets. The caller pushes each datagram first, and then calls
    /// this.
    pub(crate) fn open_with(&mut self, keys: &KeyLog, at: u64, from: SocketAddr, datagram: &[u8]) {
        let from = self.side_of(from);
        let opened = self.opened.get_or_insert_default();
        opened.push(from, at, datagram, keys);
    }

    fn side_of(&self, from: SocketAddr) -> Side {
        if from == self.client {
            Side::Client
        } else {
            Side::Server
        }
    }

    fn look(&mut self, at: u64, from: Side, payload: &[u8]) -> Kinds {
        let mut kinds = Kinds::default();
        for packet in Packets::new(payload) {
            match packet {
                Ok(Packet::Long(long)) => {
                    let is_known = from == Side::Client || self.server_ids.contains(&long.source);
                    if !is_known && self.server_ids.len() < MAX_RETRIES {
                        self.server_ids.push(long.source);
                    }
                    match long.kind {
                        LongKind::Initial => {
                            kinds.initial = true;
                            self.follow_retry(from, &long);
                            self.open(at, from, &long);
                        }
                        LongKind::ZeroRtt => kinds.early = true,
                        LongKind::Handshake => kinds.handshake = true,
                    }
                }
                Ok(Packet::Retry(retry)) => {
                    kinds.retry = true;
                    if self.retries.len() < MAX_RETRIES {
                        self.retries.push(retry.source);
                    }
                }
                Ok(Packet::VersionNegotiation { .. }) => kinds.negotiation = true,
                Ok(Packet::Short { .. }) => kinds.short = true,
                Ok(Packet::Unknown { .. }) | Err(_) => {}
            }
        }
        kinds
    }

    /// After a Retry, the keys are derived from the connection id that it gave: the client follows
    /// one, even if each datagram of its first flight was answered by another. RFC 9000 §17.2.5.2.
    fn follow_retry(&mut self, from: Side, packet: &LongPacket<'_>) {
        if from == Side::Client && self.retries.contains(&packet.destination) {
            self.retries.clear();
            self.origin = (packet.version, packet.destination);
            self.keys = InitialKeys::derive(packet.version, &packet.destination).ok();
            self.largest = [None; 2];
            // The hello is sent again, as required.
            self.told = Default::default();
        }
    }

    fn open(&mut self, at: u64, from: Side, packet: &LongPacket<'_>) {
        let sender = match from {
            Side::Client => Sender::Client,
            Side::Server => Sender::Server,
        };
        let side = from.index();
        // Another version may continue with the same id. RFC 9368 §4.1.
        if self.origin.0 != packet.version
            && let Ok(keys) = InitialKeys::derive(packet.version, &self.origin.1)
        {
            (self.keys, self.origin.0) = (Some(keys), packet.version);
        }
        let Some(keys) = &self.keys else { return };
        if let Ok(opened) = keys.open(sender, packet, self.largest[side]) {
            self.largest[side] = self.largest[side].max(Some(opened.number));
            if self.numbers[side].len() < MAX_INITIALS {
                self.numbers[side].push((opened.number, at));
            }
            let mut parts = Vec::new();
            for frame in Frames::new(&opened.payload) {
                if let Ok(Frame::Ack(ack)) = &frame {
                    let sent = self.numbers[from.other().index()].iter();
                    let sent = sent.clone().find(|(number, _)| *number == ack.largest);
                    if let Some((_, sent)) = sent {
                        let took = at.saturating_sub(*sent);
                        let best = &mut self.shortest[side];
                        *best = Some(best.map_or(took, |best| best.min(took)));
                    }
                }
                let Ok(Frame::Crypto { offset, data }) = frame else {
                    continue;
                };
                let end = offset.saturating_add(data.len() as u64);
                self.repeats |= self.told[side].covers(offset, end);
                parts.push((offset, end));
            }
            for (start, end) in parts {
                self.told[side].add(start, end);
            }
            // Damaged data adds nothing.
            let _ = self.crypto[side].push_payload(&opened.payload);
        }
    }

    /// The client's first hello, which shows what it wanted.
    fn client_hello(&self) -> Option<ClientHello> {
        let mut messages = Handshakes::new(self.crypto[Side::Client.index()].contiguous());
        let hello = messages.find(|m| m.kind == HandshakeKind::CLIENT_HELLO)?;
        ClientHello::parse(hello.body).ok()
    }

    /// The server's last hello, and whether one before it asked for another hello of the client.
    fn server_hello(&self) -> (Option<ServerHello>, bool) {
        let messages = Handshakes::new(self.crypto[Side::Server.index()].contiguous());
        let mut found = (None, false);
        for message in messages.filter(|m| m.kind == HandshakeKind::SERVER_HELLO) {
            if let Ok(hello) = ServerHello::parse(message.body) {
                found.1 |= hello.is_retry;
                found.0 = Some(hello);
            }
        }
        found
    }

    /// The requests in what the secrets opened.
    pub(crate) fn requests(&self) -> Option<&[OpenedRequest]> {
        self.opened.as_ref()?.requests()
    }

    /// Roughly the number of bytes that this holds.
    pub(crate) fn held(&self) -> usize {
        let crypto = self.crypto.iter().map(CryptoStream::held);
        let opened = self.opened.as_ref().map_or(0, |opened| opened.held());
        self.datagrams.capacity() * size_of::<Datagram>() + crypto.sum::<usize>() + opened
    }

    /// Why some packets could not be decrypted.
    pub(crate) fn sealed(&self) -> Option<SealedReason> {
        self.opened.as_ref()?.sealed()
    }

    fn undecidable(&self) -> Vec<Undecidable> {
        if self.requests().is_some() {
            return Vec::new();
        }
        let sealed = self.sealed();
        vec![Undecidable {
            what: "what follows the first packets of the handshake: only sizes and directions are seen",
            needs: Undecidable::keys(sealed),
        }]
    }

    pub(crate) fn conversation(
        &self,
        number: u64,
        lookups: &mut NameLookups,
        ends: &mut ConnectionEnds,
    ) -> Conversation {
        let (client, server) = (self.client.ip(), self.server.ip());
        let vantage = ends.place((client, server), self.vantage());
        let began = self.datagrams.first().map_or(0, |d| d.at);
        let lookup = lookups.take(client, server, began.saturating_add(vantage.distance()));
        let lookup = lookup.map(|lookup| lookup.seen_from(vantage.distance()));
        let name = lookups.name_of(client, server).map(str::to_owned);
        let reading = QuicReading::new(self, &vantage);
        let (mut exchanges, left_out) = reading.exchanges(lookup.as_ref(), name.as_deref());
        for exchange in &mut exchanges {
            explain(exchange);
        }
        Conversation {
            number,
            client: self.client,
            server: self.server,
            carrier: Carrier::Quic,
            interface: self.interface,
            vantage,
            exchanges,
            left_out,
            frames: (
                self.datagrams.first().map_or(0, |d| d.frame),
                self.datagrams.last().map_or(0, |d| d.frame),
            ),
            packets: self.datagrams.len() as u64 + self.merged,
            sent_again: [Side::Client, Side::Server].map(|side| {
                let again = self.datagrams.iter().filter(|d| d.again && d.from == side);
                again.count() as u64
            }),
            began,
            is_inferred: self.requests().is_none(),
            undecidable: self.undecidable(),
            session: self.opened.as_ref().and_then(|opened| opened.session()),
            located: None,
            steps: self.datagrams.iter().take(MAX_STEPS).map(step).collect(),
        }
    }
}

fn step(datagram: &Datagram) -> LadderStep {
    let kinds = datagram.kinds;
    let named = [
        (kinds.negotiation, "Version Negotiation"),
        (kinds.retry, "Retry"),
        (kinds.initial, "Initial"),
        (kinds.early, "0-RTT"),
        (kinds.handshake, "Handshake"),
        (kinds.short, "1-RTT"),
    ];
    let named: Vec<&str> = named
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, name)| *name)
        .collect();
    LadderStep {
        frame: datagram.frame,
        at: datagram.at,
        from_client: datagram.from == Side::Client,
        text: format!("{} {} bytes", named.join(" + "), datagram.bytes)
            .trim()
            .to_owned(),
        bytes: datagram.bytes,
        is_plain: named == ["1-RTT"],
        place: None,
        again: datagram.again,
        elsewhere: None,
    }
}

#[cfg(test)]
mod tests;
