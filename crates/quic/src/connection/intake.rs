//! Datagrams as they come: cut into packets, opened, and what follows from that they could be opened.

use roundtrip_wire::quic::{ConnectionId, LongKind, Packet, Packets, Side};

use super::{Connection, State, space_of};
use crate::crypto::{Closed, Level};
use crate::space::Space;
use crate::{Time, Way};

const FORM_LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
/// How many bytes are kept of packets whose keys have yet to come: a first flight (RFC 9002 §7.2). RFC 9001 §5.7.
const EARLY_BYTES: usize = 16 << 10;

/// A packet that came before its keys.
#[derive(Debug)]
pub(super) struct Untimely {
    level: Level,
    way: Way,
    number_at: usize,
    packet: Vec<u8>,
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
    /// All packets of one datagram, which is opened in place.
    pub(crate) fn receive(&mut self, now: Time, way: &Way, datagram: &mut [u8]) {
        self.clock = now;
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += datagram.len() as u64;
        match self.state {
            State::Open => {}
            State::Closing => return self.on_received_while_closing(way, datagram.len()),
            State::Draining | State::Drained => return,
        }
        let is_active = way.remote == self.paths.active.remote;
        // Servers do not move, and nobody does before the handshake is confirmed. RFC 9000 §9.
        if !is_active && (self.side == Side::Client || !self.handshake.is_confirmed) {
            return;
        }
        if is_active && !self.paths.active.validated {
            self.paths.active.on_received(datagram.len());
            self.recovery.set_blocked(false);
        }
        self.datagram_received = datagram.len();
        self.on_datagram(now, way, datagram);
        if !self.untimely.is_empty() {
            self.retry_untimely(now);
        }
    }

    fn on_datagram(&mut self, now: Time, way: &Way, datagram: &mut [u8]) {
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
                    self.on_packet(now, way, place, rest);
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
            if let Some(packet) = rest.get_mut(..length) {
                self.on_packet(now, way, place, packet);
            }
            if self.state != State::Open || length == 0 {
                return;
            }
            at += length;
        }
    }

    /// Where a packet with a long header lies; Retry and version negotiation are dealt with at once.
    fn read_long(&mut self, rest: &[u8]) -> Option<(Place, ConnectionId)> {
        match Packets::new(rest).next()?.ok()? {
            Packet::Long(long) if long.version == self.version => {
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

    fn on_packet(&mut self, now: Time, way: &Way, place: Place, packet: &mut [u8]) {
        let level = place.level;
        let space = space_of(level).index();
        if !self.crypto.can_open(level) {
            return self.keep(way, place, packet);
        }
        // A client forgets whoever answers from another id than the first that it heard of. RFC 9000 §7.2.
        if let (Some(known), Some(source)) = (self.handshake.peer, place.source)
            && known != source
        {
            return;
        }
        let first = packet.first().copied().unwrap_or_default();
        // What cannot be opened is destroyed by trying.
        let tail = packet.last_chunk().copied();
        let expected = self.received[space].expected();
        let opened = match self
            .crypto
            .open(level, packet, place.number_at, expected, now)
        {
            Ok(opened) => opened,
            Err(Closed::Undecryptable) => {
                self.stats.undecryptable += 1;
                if level == Level::OneRtt
                    && tail.is_some_and(|tail| self.remote_ids.is_reset_token(&tail))
                {
                    self.on_reset(now);
                }
                return;
            }
            Err(Closed::NoKeys) => return self.keep(way, place, packet),
            Err(Closed::Violation(violation)) => return self.fail(&violation),
        };
        self.stats.packets_received += 1;
        if !self.received[space].is_new(opened.number) {
            self.stats.duplicates += 1;
            return;
        }
        self.on_opened(now, level, &place);
        let is_newest = opened.number >= expected;
        if is_newest && level == Level::OneRtt {
            self.spin.on_received(self.side, first & SPIN != 0);
        }
        let Some(payload) = packet.get(opened.payload) else {
            return;
        };
        match self.on_payload(now, way, level, payload) {
            Ok(seen) => {
                self.received[space].on_packet(now, opened.number, seen.eliciting, way.ecn);
                if is_newest && !seen.probing && way.remote != self.paths.active.remote {
                    self.on_moved(now, way);
                }
            }
            Err(violation) => self.fail(&violation),
        }
    }

    /// What follows from that the peer has the keys.
    fn on_opened(&mut self, now: Time, level: Level, place: &Place) {
        self.timers.asked_since_received = false;
        self.restart_idle(now);
        if self.handshake.is_confirmed {
            return;
        }
        if let (None, Some(source)) = (self.handshake.peer, place.source) {
            self.handshake.peer = Some(source);
            self.remote_ids.set_first(source);
        }
        if level == Level::Handshake && self.side == Side::Server {
            self.paths.active.validated = true;
            self.recovery.set_blocked(false);
            if self.crypto.has(Level::Initial) {
                self.discard(Space::Initial);
            }
        }
    }

    fn keep(&mut self, way: &Way, place: Place, packet: &[u8]) {
        let kept: usize = self.untimely.iter().map(|kept| kept.packet.len()).sum();
        if !self.crypto.awaits(place.level) || kept + packet.len() > EARLY_BYTES {
            self.stats.undecryptable += 1;
            return;
        }
        self.untimely.push(Untimely {
            level: place.level,
            way: *way,
            number_at: place.number_at,
            packet: packet.to_vec(),
        });
    }

    pub(super) fn retry_untimely(&mut self, now: Time) {
        if !self
            .untimely
            .iter()
            .any(|kept| self.crypto.can_open(kept.level))
        {
            return;
        }
        for mut kept in std::mem::take(&mut self.untimely) {
            let place = Place {
                level: kept.level,
                number_at: kept.number_at,
                length: kept.packet.len(),
                source: None,
            };
            if self.state == State::Open {
                self.on_packet(now, &kept.way, place, &mut kept.packet);
            }
        }
    }

    /// Does it end in a token that the peer gave us for this? RFC 9000 §10.3.1.
    pub(crate) fn is_reset(&self, datagram: &[u8]) -> bool {
        datagram
            .last_chunk()
            .is_some_and(|token| self.remote_ids.is_reset_token(token))
    }
}
