//! QUIC, versions 1 and 2: Initial packets open with public keys, all others with the secrets of a
//! key log. Packet numbers are restored, and key updates and a change of the version are followed.
//!
//! Give it the whole datagrams of one pair of addresses, in the order of the capture. A new
//! connection of the same pair replaces the previous one; [`QuicReader::is_addressed`] finds a
//! connection that continues from another address.

mod space;

use std::collections::VecDeque;

use self::space::{OneRtt, Space};
use super::SealedReason;
use crate::key_log::{KeyLabel, KeyLog};
use crate::quic::{
    ConnectionId, CryptoStream, Frame, Frames, InitialKeys, LongKind, LongPacket, Packet,
    PacketKind, Packets, Side, Version,
};
use crate::tls::HandshakeKind;

/// The number of ids of one side that are remembered; a few are in use at a time.
const MAX_IDS: usize = 32;

/// A connection, seen from outside.
#[derive(Default)]
pub struct QuicReader {
    initial: Option<Initial>,
    version: Option<Version>,
    client_random: Option<[u8; 32]>,
    /// The beginning of the client's first message.
    hello: CryptoStream,
    /// The ids that each side chose for itself, the newest last.
    client_ids: VecDeque<ConnectionId>,
    server_ids: VecDeque<ConnectionId>,
    client: Spaces,
    server: Spaces,
}

/// A packet of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuicPacket<'a> {
    pub side: Side,
    pub kind: PacketKind,
    /// The packet's length in bytes, including its header.
    pub length: usize,
    pub payload: QuicPayload<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuicPayload<'a> {
    Opened {
        number: u64,
        /// The frames as bytes, which [`Frames`] parses.
        frames: &'a [u8],
        /// The number of key updates so far; only in 1-RTT packets.
        key_updates: u32,
    },
    Sealed(SealedReason),
}

struct Initial {
    /// The id from which the keys are derived.
    destination: ConnectionId,
    keys: InitialKeys,
    version: Version,
    largest_client: Option<u64>,
    largest_server: Option<u64>,
}

/// The numbers and keys of one side.
#[derive(Default)]
struct Spaces {
    early: Space,
    handshake: Space,
    one_rtt: OneRtt,
}

impl QuicReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the connection in a key log, once the ClientHello has arrived.
    pub fn client_random(&self) -> Option<&[u8; 32]> {
        self.client_random.as_ref()
    }

    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Roughly the number of bytes that the reader holds.
    pub fn held(&self) -> usize {
        let ids = self.client_ids.capacity() + self.server_ids.capacity();
        self.hello.held() + ids * size_of::<ConnectionId>()
    }

    /// Takes a datagram of a side, and passes its packets on. Version Negotiation, Retry and
    /// packets of other versions are left out: [`Packets`] has them.
    pub fn push(
        &mut self,
        side: Side,
        datagram: &[u8],
        keys: &KeyLog,
        mut each: impl FnMut(QuicPacket<'_>),
    ) {
        for packet in Packets::new(datagram).flatten() {
            let (kind, length, opened) = match packet {
                Packet::Long(long) => {
                    self.note_id(side, long.source);
                    let opened = match long.kind {
                        LongKind::Initial => self.open_initial(side, &long),
                        _ => self.open_long(side, &long, keys),
                    };
                    (packet_kind(long.kind), long.bytes.len(), opened)
                }
                Packet::Short { bytes, .. } => {
                    let opened = self.open_short(side, bytes, keys);
                    if let Ok((_, frames, _)) = &opened {
                        self.note_new_ids(side, frames);
                    }
                    (PacketKind::OneRtt, bytes.len(), opened)
                }
                _ => continue,
            };
            let payload = match &opened {
                Ok((number, frames, key_updates)) => QuicPayload::Opened {
                    number: *number,
                    frames,
                    key_updates: *key_updates,
                },
                Err(reason) => QuicPayload::Sealed(*reason),
            };
            each(QuicPacket {
                side,
                kind,
                length,
                payload,
            });
        }
    }

    /// Whether a datagram of this side, which begins with a short header, is for this connection. A
    /// client may continue from another address. RFC 9000 §9.
    pub fn is_addressed(&self, side: Side, datagram: &[u8]) -> bool {
        let ids = match side {
            Side::Client => &self.server_ids,
            Side::Server => &self.client_ids,
        };
        let is_short = datagram.first().is_some_and(|first| first & 0x80 == 0);
        let behind = datagram.get(1..).unwrap_or_default();
        let mut ids = ids.iter().filter(|id| !id.is_empty());
        is_short && ids.any(|id| behind.starts_with(id.as_slice()))
    }

    fn note_new_ids(&mut self, side: Side, frames: &[u8]) {
        for frame in Frames::new(frames).flatten() {
            if let Frame::NewConnectionId { id, .. } = frame {
                self.note_id(side, id);
            }
        }
    }

    fn note_id(&mut self, side: Side, id: ConnectionId) {
        let ids = match side {
            Side::Client => &mut self.client_ids,
            Side::Server => &mut self.server_ids,
        };
        if ids.contains(&id) {
            return;
        }
        if ids.len() >= MAX_IDS {
            ids.pop_front();
        }
        ids.push_back(id);
    }

    fn open_initial(&mut self, side: Side, packet: &LongPacket<'_>) -> Result<Bare, SealedReason> {
        if let Some(initial) = &mut self.initial
            && let Some(opened) = initial.open(side, packet)
        {
            self.read_hello(side, packet.version, &opened.1);
            return Ok(opened);
        }
        let derive = |destination| {
            let mut initial = Initial::derive(packet.version, destination)?;
            let opened = initial.open(side, packet)?;
            Some((initial, opened))
        };
        // Another version may continue with the same id. RFC 9368 §2.3.
        let known = self.initial.as_ref().map(|initial| initial.destination);
        let (initial, opened) = match (known.and_then(derive), side) {
            (Some(found), _) => found,
            // A client uses another id after a Retry, or in a new connection.
            (None, Side::Client) => {
                let found = derive(packet.destination).ok_or(SealedReason::WrongKeys)?;
                self.forget();
                found
            }
            (None, Side::Server) if known.is_none() => return Err(SealedReason::NoHello),
            (None, Side::Server) => return Err(SealedReason::WrongKeys),
        };
        self.initial = Some(initial);
        self.read_hello(side, packet.version, &opened.1);
        Ok(opened)
    }

    /// Forgets the connection, because another one begins, or the same one after a Retry.
    fn forget(&mut self) {
        *self = Self {
            client_ids: std::mem::take(&mut self.client_ids),
            server_ids: std::mem::take(&mut self.server_ids),
            ..Self::default()
        };
    }

    fn read_hello(&mut self, side: Side, version: Version, frames: &[u8]) {
        self.version = Some(version);
        if side == Side::Server || self.client_random.is_some() {
            return;
        }
        for frame in Frames::new(frames).flatten() {
            if let Frame::Crypto { offset, data } = frame {
                // Data that does not fit is not the beginning.
                let _ = self.hello.push(offset, data);
            }
        }
        // Type, length, version, random: the rest is not needed.
        let [kind, _, _, _, _, _, rest @ ..] = self.hello.contiguous() else {
            return;
        };
        if *kind == HandshakeKind::CLIENT_HELLO.0
            && let Some(random) = rest.first_chunk()
        {
            self.client_random = Some(*random);
            self.hello = CryptoStream::default();
        }
    }

    fn open_long(
        &mut self,
        side: Side,
        packet: &LongPacket<'_>,
        keys: &KeyLog,
    ) -> Result<Bare, SealedReason> {
        let random = self.client_random.as_ref().ok_or(SealedReason::NoHello)?;
        let (spaces, label) = match (side, packet.kind) {
            (Side::Client, LongKind::ZeroRtt) => (&mut self.client.early, KeyLabel::ClientEarly),
            (Side::Client, _) => (&mut self.client.handshake, KeyLabel::ClientHandshake),
            (Side::Server, _) => (&mut self.server.handshake, KeyLabel::ServerHandshake),
        };
        let secret = keys.get(random, label).ok_or(SealedReason::NoKeys)?;
        let opened = spaces.open(packet.version, secret, packet.bytes, packet.number_at);
        let (number, frames) = opened.ok_or(SealedReason::WrongKeys)?;
        if packet.kind == LongKind::ZeroRtt {
            // Both share the same numbers. RFC 9000 §12.3.
            self.client.one_rtt.note(number);
        }
        Ok((number, frames, 0))
    }

    fn open_short(
        &mut self,
        side: Side,
        bytes: &[u8],
        keys: &KeyLog,
    ) -> Result<Bare, SealedReason> {
        let random = self.client_random.as_ref().ok_or(SealedReason::NoHello)?;
        let version = self.version.ok_or(SealedReason::NoHello)?;
        // The id belongs to the side that receives.
        let (space, id, label) = match side {
            Side::Client => (
                &mut self.client.one_rtt,
                self.server_ids.back(),
                KeyLabel::ClientTraffic,
            ),
            Side::Server => (
                &mut self.server.one_rtt,
                self.client_ids.back(),
                KeyLabel::ServerTraffic,
            ),
        };
        let number_at = 1 + id.ok_or(SealedReason::NoHello)?.len();
        let secret = keys.get(random, label).ok_or(SealedReason::NoKeys)?;
        space
            .open(version, secret, bytes, number_at)
            .ok_or(SealedReason::WrongKeys)
    }
}

/// The number of a packet, its frames, and the key updates before it.
type Bare = (u64, Vec<u8>, u32);

impl Initial {
    fn derive(version: Version, destination: ConnectionId) -> Option<Self> {
        let keys = InitialKeys::derive(version, &destination).ok()?;
        Some(Self {
            destination,
            keys,
            version,
            largest_client: None,
            largest_server: None,
        })
    }

    fn open(&mut self, side: Side, packet: &LongPacket<'_>) -> Option<Bare> {
        if packet.version != self.version {
            return None;
        }
        let largest = match side {
            Side::Client => &mut self.largest_client,
            Side::Server => &mut self.largest_server,
        };
        let opened = self.keys.open(side, packet, *largest).ok()?;
        *largest = (*largest).max(Some(opened.number));
        Some((opened.number, opened.payload, 0))
    }
}

fn packet_kind(kind: LongKind) -> PacketKind {
    match kind {
        LongKind::Initial => PacketKind::Initial,
        LongKind::ZeroRtt => PacketKind::ZeroRtt,
        LongKind::Handshake => PacketKind::Handshake,
    }
}
