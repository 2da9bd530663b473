//! A peer that does the handshake on its own, without the engine, and then seals any payload.

use std::collections::HashMap;
use std::sync::Arc;

use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, Frame, Frames, LongKind, Packet, Packets, Parameters, Pen, Side,
    Version, expand_number, set_length, write_long, write_short,
};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{Connection, KeyChange, Keys, PacketKeySet, Secrets};

pub(crate) const INITIAL: usize = 0;
pub(crate) const HANDSHAKE: usize = 1;
pub(crate) const ONE_RTT: usize = 2;
const TAG: usize = 16;
/// Packet numbers are four bytes long.
const NUMBER: usize = 4;
/// Keys are made in advance for this many updates.
const MAX_UPDATES: usize = 64;
const KEY_PHASE: u8 = 0x04;

type Tls = Box<dyn FnOnce(Vec<u8>) -> Connection>;

/// A packet from the engine.
pub(crate) struct Opened {
    pub(crate) level: usize,
    pub(crate) number: u64,
    pub(crate) payload: Vec<u8>,
}

pub(crate) struct KeyHolder {
    side: Side,
    parameters: Parameters,
    /// The peer's own id in long headers.
    pub(crate) source: ConnectionId,
    /// Changes the ids in the parameters.
    pub(crate) bend: Option<fn(&mut Parameters)>,
    begins: Option<Tls>,
    tls: Option<Connection>,
    keys: [Option<Keys>; 3],
    secrets: Option<Secrets>,
    /// The 1-RTT keys after each update; how many updates either side has made.
    updates: Vec<PacketKeySet>,
    own_phase: usize,
    their_phase: usize,
    /// The next numbers to send, and those that are expected.
    pub(crate) numbers: [u64; 3],
    pub(crate) expected: [u64; 3],
    seen: [HashMap<u64, Vec<u8>>; 3],
    /// What TLS wants to send on each level, and how much of it was sent.
    says: [Vec<u8>; 3],
    said: [usize; 3],
    heard: [CryptoStream; 3],
    read: [usize; 3],
    write_level: usize,
    token: Vec<u8>,
    /// The engine's ids, the first one first.
    pub(crate) ids: Vec<ConnectionId>,
    original: ConnectionId,
}

/// The peer's id with that sequence number.
pub(crate) fn own_id(sequence: u64) -> ConnectionId {
    let mut id = [0xaa; 8];
    id[7] = sequence as u8;
    id[6] = (sequence >> 8) as u8;
    ConnectionId::new(&id).unwrap()
}

fn initial_keys(id: &ConnectionId, side: Side) -> Keys {
    let suite = TLS13_AES_128_GCM_SHA256
        .tls13()
        .and_then(rustls::Tls13CipherSuite::quic_suite);
    let side = match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    };
    suite
        .unwrap()
        .keys(id.as_slice(), side, rustls::quic::Version::V1)
}

impl KeyHolder {
    /// A client, which sends first.
    pub(crate) fn client(tls: Arc<rustls::ClientConfig>, parameters: Parameters) -> Self {
        let first = ConnectionId::new(&[0x11; 8]).unwrap();
        let mut peer = Self::silent_client(tls, parameters);
        peer.speak(first);
        peer
    }

    /// A client that starts only at [`Self::speak`].
    pub(crate) fn silent_client(tls: Arc<rustls::ClientConfig>, parameters: Parameters) -> Self {
        let begins = move |parameters| {
            let name = "server.test".try_into().unwrap();
            let version = rustls::quic::Version::V1;
            rustls::quic::ClientConnection::new(tls, version, name, parameters)
                .unwrap()
                .into()
        };
        Self::new(Side::Client, parameters, Box::new(begins))
    }

    /// The client starts, with a destination of its choice.
    pub(crate) fn speak(&mut self, first: ConnectionId) {
        self.ids.push(first);
        self.begin(first);
    }

    pub(crate) fn server(tls: Arc<rustls::ServerConfig>, parameters: Parameters) -> Self {
        let begins = move |parameters| {
            let version = rustls::quic::Version::V1;
            rustls::quic::ServerConnection::new(tls, version, parameters)
                .unwrap()
                .into()
        };
        Self::new(Side::Server, parameters, Box::new(begins))
    }

    fn new(side: Side, parameters: Parameters, begins: Tls) -> Self {
        Self {
            side,
            parameters,
            source: own_id(0),
            bend: None,
            begins: Some(begins),
            tls: None,
            keys: [None, None, None],
            secrets: None,
            updates: Vec::new(),
            own_phase: 0,
            their_phase: 0,
            numbers: [0; 3],
            expected: [0; 3],
            seen: Default::default(),
            says: Default::default(),
            said: [0; 3],
            heard: Default::default(),
            read: [0; 3],
            write_level: INITIAL,
            token: Vec::new(),
            ids: Vec::new(),
            original: ConnectionId::EMPTY,
        }
    }

    fn begin(&mut self, original: ConnectionId) {
        self.original = original;
        self.keys[INITIAL] = Some(initial_keys(&original, self.side));
        self.parameters.initial_source_connection_id = Some(own_id(0));
        if self.side == Side::Server {
            self.parameters.original_destination_connection_id = Some(original);
        }
        if let Some(bend) = self.bend {
            bend(&mut self.parameters);
        }
        let mut parameters = Vec::new();
        self.parameters.write(&mut parameters);
        self.tls = self.begins.take().map(|begins| begins(parameters));
        self.listen();
    }

    /// Takes what TLS wants to send, and its keys.
    fn listen(&mut self) {
        let Some(tls) = &mut self.tls else { return };
        loop {
            let level = self.write_level;
            match tls.write_hs(&mut self.says[level]) {
                Some(KeyChange::Handshake { keys }) => {
                    self.keys[HANDSHAKE] = Some(keys);
                    self.write_level = HANDSHAKE;
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    self.keys[ONE_RTT] = Some(keys);
                    self.secrets = Some(next);
                    self.write_level = ONE_RTT;
                }
                None => return,
            }
        }
    }

    /// What the server permits at first.
    pub(crate) fn limits(&self) -> Parameters {
        let tls = self.tls.as_ref().unwrap();
        let parameters = tls.quic_transport_parameters().unwrap();
        Parameters::read(parameters, Side::Server).unwrap()
    }

    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// Whether a Retry has validated its address.
    pub(crate) fn has_token(&self) -> bool {
        !self.token.is_empty()
    }

    pub(crate) fn has_keys(&self, level: usize) -> bool {
        self.keys[level].is_some()
    }

    /// The destination of the engine's first packets, and the peer's id in them.
    pub(crate) fn original(&self) -> ConnectionId {
        self.original
    }

    /// What TLS has not sent on that level: its offset, and the next bytes.
    pub(crate) fn unsaid(&self, level: usize) -> Option<(u64, &[u8])> {
        let rest = self.says[level].get(self.said[level]..)?;
        let rest = &rest[..rest.len().min(900)];
        (!rest.is_empty()).then_some((self.said[level] as u64, rest))
    }

    pub(crate) fn on_said(&mut self, level: usize, bytes: usize) {
        self.said[level] += bytes;
    }

    /// Sends everything again.
    pub(crate) fn repeat(&mut self) {
        self.said = [0; 3];
    }

    /// Begins a new key phase, permitted or not.
    pub(crate) fn update_keys(&mut self) {
        if self.own_phase < MAX_UPDATES && self.secrets.is_some() {
            self.own_phase += 1;
            self.make_keys(self.own_phase);
        }
    }

    fn make_keys(&mut self, phase: usize) {
        while self.updates.len() < phase
            && let Some(secrets) = &mut self.secrets
        {
            self.updates.push(secrets.next_packet_keys());
        }
    }

    /// Seals a packet with this payload, padded to `size`, to the id at that index. If the datagram
    /// continues, the packet ends earlier.
    pub(crate) fn seal(
        &mut self,
        level: usize,
        payload: &[u8],
        id: usize,
        size: usize,
    ) -> Option<Vec<u8>> {
        self.keys[level].as_ref()?;
        let number = self.numbers[level];
        self.numbers[level] += 1;
        let id = *self.ids.get(id % self.ids.len().max(1))?;
        let mut packet = vec![0; 100 + self.token.len()];
        let mut pen = Pen::new(&mut packet);
        let mut length_at = None;
        let number_at = if level == ONE_RTT {
            write_short(
                &mut pen,
                &id,
                false,
                self.own_phase % 2 == 1,
                number,
                NUMBER,
            )?
        } else {
            let kind = if level == INITIAL {
                LongKind::Initial
            } else {
                LongKind::Handshake
            };
            let own = self.source;
            let at = write_long(
                &mut pen,
                kind,
                Version::V1,
                &id,
                &own,
                &self.token,
                number,
                NUMBER,
            )?;
            length_at = Some(at.length_at);
            at.number_at
        };
        let header = number_at + NUMBER;
        packet.truncate(header);
        packet.extend(payload);
        packet.resize(
            packet.len().max(size.saturating_sub(TAG)).max(header + 4),
            0,
        );
        let length = packet.len() + TAG - number_at;
        if let Some(length_at) = length_at {
            set_length(&mut packet, length_at, length);
        }
        let keys = self.keys[level].as_ref()?;
        let key = match self.own_phase {
            phase @ 1.. if level == ONE_RTT => &self.updates[phase - 1].local,
            _ => &keys.local.packet,
        };
        let (head, content) = packet.split_at_mut(header);
        let tag = key.encrypt_in_place(number, head, content).ok()?;
        packet.extend(tag.as_ref());
        let sample_at = number_at + 4;
        let sample = packet[sample_at..sample_at + 16].to_vec();
        let (head, rest) = packet.split_at_mut(number_at);
        let masked = keys
            .local
            .header
            .encrypt_in_place(&sample, &mut head[0], &mut rest[..NUMBER]);
        masked.ok()?;
        Some(packet)
    }

    /// Opens the packets of a datagram from the engine, except answers that belong to no
    /// connection.
    pub(crate) fn open(&mut self, datagram: &[u8]) -> Vec<Opened> {
        let mut all = Vec::new();
        for packet in Packets::new(datagram).map_while(Result::ok) {
            let (level, bytes, number_at) = match packet {
                Packet::Long(long) => {
                    if self.side == Side::Server && self.tls.is_none() && self.begins.is_some() {
                        self.ids = vec![long.source];
                        self.begin(long.destination);
                    } else if self.expected == [0; 3] {
                        self.ids = vec![long.source];
                    }
                    let level = match long.kind {
                        LongKind::Initial => INITIAL,
                        LongKind::Handshake => HANDSHAKE,
                        LongKind::ZeroRtt => continue,
                    };
                    (level, long.bytes, long.number_at)
                }
                Packet::Short { bytes, .. } => (ONE_RTT, bytes, 1 + own_id(0).len()),
                Packet::Retry(retry) => {
                    if self.side == Side::Client && self.token.is_empty() && self.expected == [0; 3]
                    {
                        self.token = retry.token.to_vec();
                        self.ids = vec![retry.source];
                        self.keys[INITIAL] = Some(initial_keys(&retry.source, self.side));
                        self.said = [0; 3];
                    }
                    continue;
                }
                _ => continue,
            };
            if let Some(opened) = self.open_packet(level, bytes.to_vec(), number_at) {
                self.hear(&opened);
                all.push(opened);
            }
        }
        all
    }

    fn open_packet(
        &mut self,
        level: usize,
        mut packet: Vec<u8>,
        number_at: usize,
    ) -> Option<Opened> {
        let sample = packet.get(number_at + 4..number_at + 20)?.to_vec();
        let keys = self.keys[level].as_ref()?;
        let (head, rest) = packet.split_at_mut(number_at);
        keys.remote
            .header
            .decrypt_in_place(&sample, head.first_mut()?, rest.get_mut(..4)?)
            .ok()?;
        let first = *packet.first()?;
        let length = usize::from(first & 3) + 1;
        let header = number_at + length;
        let truncated = packet[number_at..header]
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let number = expand_number(truncated, length, self.expected[level]);
        let is_next =
            level == ONE_RTT && usize::from(first & KEY_PHASE != 0) != self.their_phase % 2;
        let phase = self.their_phase + usize::from(is_next);
        self.make_keys(phase);
        let keys = self.keys[level].as_ref()?;
        let key = match phase {
            1.. if level == ONE_RTT => &self.updates.get(phase - 1)?.remote,
            _ => &keys.remote.packet,
        };
        let (head, content) = packet.split_at_mut(header);
        let payload = key.decrypt_in_place(number, head, content).ok()?.to_vec();
        if is_next {
            self.their_phase = phase;
            self.own_phase = self.own_phase.max(self.their_phase);
        }
        // A closing packet may be repeated unchanged. Initial packets also come without a
        // connection, and from another one that the same bytes began elsewhere.
        if number < self.expected[level] {
            assert!(level == INITIAL || self.seen[level].get(&number) == Some(&payload));
            return None;
        }
        self.seen[level].insert(number, payload.clone());
        self.expected[level] = number + 1;
        Some(Opened {
            level,
            number,
            payload,
        })
    }

    fn hear(&mut self, opened: &Opened) {
        let level = opened.level;
        for frame in Frames::new(&opened.payload) {
            match frame.unwrap() {
                Frame::Crypto { offset, data } => self.heard[level].push(offset, data).unwrap(),
                Frame::NewConnectionId { id, .. } => self.ids.push(id),
                _ => {}
            }
        }
        let fresh = self.heard[level].contiguous()[self.read[level]..].to_vec();
        self.read[level] += fresh.len();
        if let Some(tls) = &mut self.tls {
            // It may fail on data that the peer itself corrupted.
            let _ = tls.read_hs(&fresh);
        }
        self.listen();
    }
}
