//! Receives datagrams: splits them into packets, opens these, and acts on what an authentic packet
//! proves.

use roundtrip_wire::quic::{ConnectionId, LongKind, Packet, Packets, Side};

use super::closing::State;
use super::{Connection, MIN_DATAGRAM, space_of};
use crate::crypto::{Level, OpenError};
use crate::log::DropReason;
use crate::space::Space;
use crate::{Time, Way};

const FORM_LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;

/// The datagram that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram<'a> {
    pub(super) now: Time,
    pub(super) way: &'a Way,
}

/// One packet within its datagram.
#[derive(Debug, Clone, Copy)]
struct Place {
    level: Level,
    number_at: usize,
    length: usize,
    /// The sender's id, in long headers.
    source: Option<ConnectionId>,
}

impl Connection {
    /// Handles all packets of one datagram, which is opened in place.
    pub(crate) fn receive(&mut self, now: Time, way: &Way, datagram: &mut [u8]) {
        self.clock = now;
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += datagram.len() as u64;
        let is_active = self.paths.is_active(way);
        match self.closing.state() {
            State::Open => {}
            State::Closing if is_active => {
                self.paths.on_received(way.remote, datagram.len());
                return self.closing.on_packet();
            }
            State::Closing | State::Draining | State::Drained => return,
        }
        // Servers do not move, and clients do not before the handshake is confirmed. RFC 9000 §9.
        let may_move = self.handshake.side() == Side::Server && self.handshake.is_confirmed();
        if !is_active && !may_move {
            return;
        }
        if is_active && !self.paths.is_validated() {
            self.paths.on_received(way.remote, datagram.len());
            self.recovery.set_blocked(false);
        }
        let opened = self.stats.packets_received;
        self.read_packets(&Datagram { now, way }, datagram);
        // Anybody may have sent what cannot be opened.
        if !is_active && self.stats.packets_received > opened {
            self.paths.on_received(way.remote, datagram.len());
        }
        if !self.undecryptable.is_empty() {
            self.open_undecryptable(now);
        }
        self.look_for_gap();
    }

    /// Counts the datagrams since the peer's data has had a gap.
    fn look_for_gap(&mut self) {
        let in_handshake = !self.handshake.is_confirmed()
            && (self.crypto.has_gap() || !self.undecryptable.is_empty());
        let has_gap = in_handshake || self.streams.has_gap();
        self.stats.behind_gap = if has_gap {
            self.stats.behind_gap + 1
        } else {
            0
        };
    }

    fn read_packets(&mut self, context: &Datagram<'_>, datagram: &mut [u8]) {
        let is_small = datagram.len() < MIN_DATAGRAM;
        let mut at = 0;
        let mut first_destination = None;
        while let Some(rest) = datagram.get_mut(at..)
            && let Some(first) = rest.first().copied()
        {
            if first & FORM_LONG == 0 {
                if first & FIXED != 0 {
                    let place = Place {
                        level: Level::OneRtt,
                        number_at: 1 + self.local_ids.first().len(),
                        length: rest.len(),
                        source: None,
                    };
                    self.on_packet(context, place, rest);
                }
                return;
            }
            let Some((place, destination)) = self.read_long(rest) else {
                return;
            };
            // RFC 9000 §12.2: all packets of a datagram are for one connection.
            if *first_destination.get_or_insert(destination) != destination {
                return;
            }
            let length = place.length;
            // RFC 9000 §14.1: a client's Initial packets come in large datagrams.
            let is_discarded =
                place.level == Level::Initial && is_small && self.handshake.side() == Side::Server;
            if !is_discarded && let Some(packet) = rest.get_mut(..length) {
                self.on_packet(context, place, packet);
            }
            if !self.closing.is_open() || length == 0 {
                return;
            }
            at += length;
        }
    }

    /// Returns the position of a packet with a long header; handles Retry and version negotiation
    /// at once.
    fn read_long(&mut self, rest: &[u8]) -> Option<(Place, ConnectionId)> {
        match Packets::new(rest).next()?.ok()? {
            Packet::Long(long) if long.version == self.handshake.version() => {
                // RFC 9000 §17.2.2: servers send no tokens in Initial packets.
                if self.handshake.side() == Side::Client && !long.token.is_empty() {
                    return None;
                }
                let level = match long.kind {
                    LongKind::Initial => Level::Initial,
                    LongKind::ZeroRtt => Level::Early,
                    LongKind::Handshake => Level::Handshake,
                };
                let place = Place {
                    level,
                    number_at: long.number_at,
                    length: long.bytes.len(),
                    source: Some(long.source),
                };
                Some((place, long.destination))
            }
            Packet::Retry(retry) => {
                self.on_retry(&retry);
                None
            }
            Packet::VersionNegotiation {
                destination,
                source,
                versions,
            } => {
                self.on_version_negotiation(destination, source, versions);
                None
            }
            _ => None,
        }
    }

    fn on_packet(&mut self, context: &Datagram<'_>, place: Place, packet: &mut [u8]) {
        let now = context.now;
        let level = place.level;
        let space = space_of(level).index();
        if !self.crypto.can_open(level) {
            return self.keep(context.way, place, packet);
        }
        if !self.handshake.accepts(place.source) {
            return;
        }
        let first = packet.first().copied().unwrap_or_default();
        // An attempt to open a packet destroys it if it fails.
        let tail = packet.last_chunk().copied();
        let expected = self.received[space].expected();
        let opened = match self
            .crypto
            .open(level, packet, place.number_at, expected, now)
        {
            Ok(opened) => opened,
            Err(OpenError::Undecryptable) => {
                self.stats.undecryptable += 1;
                if level == Level::OneRtt
                    && tail.is_some_and(|tail| self.remote_ids.is_reset_token(&tail))
                {
                    self.on_reset(now);
                } else {
                    self.log_dropped(level, packet.len(), DropReason::Undecryptable);
                }
                return;
            }
            Err(OpenError::NoKeys) => return self.keep(context.way, place, packet),
            Err(OpenError::Transport(error)) => return self.fail(&error),
        };
        self.stats.packets_received += 1;
        if !self.received[space].is_new(opened.number) {
            self.stats.duplicates += 1;
            return;
        }
        self.on_opened(now, level, &place);
        let is_newest = opened.number >= expected;
        if is_newest && level == Level::OneRtt {
            self.spin
                .on_received(self.handshake.side(), first & SPIN != 0);
        }
        let Some(payload) = packet.get(opened.payload) else {
            return;
        };
        if self.log.is_on() {
            let header = packet.get(..place.number_at).unwrap_or_default();
            self.log_received(level, opened.number, header, payload, packet.len());
        }
        match self.on_payload(context, level, payload) {
            Ok(seen) => {
                let ecn = context.way.ecn;
                self.received[space].on_packet(now, opened.number, seen.eliciting, ecn);
                if is_newest && !seen.probing && !self.paths.is_active(context.way) {
                    let destination = packet.get(1..place.number_at);
                    self.on_moved(context, destination.unwrap_or_default());
                }
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Side effects of a packet that decrypts: the peer has the keys.
    fn on_opened(&mut self, now: Time, level: Level, place: &Place) {
        self.idle.on_received(now);
        if self.handshake.is_confirmed() {
            return;
        }
        if let Some(source) = self.handshake.on_source(place.source) {
            self.remote_ids.set_first(source);
        }
        if level == Level::Handshake && self.handshake.side() == Side::Server {
            self.on_address_validated();
            if self.crypto.has(Level::Initial) {
                self.discard(Space::Initial);
            }
        }
    }

    /// Keeps a packet whose keys are not known yet.
    fn keep(&mut self, way: &Way, place: Place, packet: &[u8]) {
        let Place {
            level, number_at, ..
        } = place;
        let is_kept =
            self.crypto.awaits(level) && self.undecryptable.keep(level, way, number_at, packet);
        if !is_kept {
            self.stats.undecryptable += 1;
            self.log_dropped(level, packet.len(), DropReason::NoKeys);
        }
    }

    /// Reads packets that came before their keys, if the keys are known now.
    pub(super) fn open_undecryptable(&mut self, now: Time) {
        let crypto = &self.crypto;
        for mut kept in self.undecryptable.take_if(|level| crypto.can_open(level)) {
            let place = Place {
                level: kept.level,
                number_at: kept.number_at,
                length: kept.bytes.len(),
                source: None,
            };
            let context = Datagram {
                now,
                way: &kept.way,
            };
            if self.closing.is_open() {
                self.on_packet(&context, place, &mut kept.bytes);
            }
        }
    }

    /// Whether the datagram ends in a token that the peer gave for a stateless reset. RFC 9000
    /// §10.3.1.
    pub(crate) fn is_reset(&self, datagram: &[u8]) -> bool {
        datagram
            .last_chunk()
            .is_some_and(|token| self.remote_ids.is_reset_token(token))
    }
}
