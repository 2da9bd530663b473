//! Datagrams of the handshake: packets of several levels in one, padded while the path has not
//! proved its size.
//!
//! RFC 9000 §12.2 and §14.1.

use roundtrip_wire::quic::{LongKind, Pen, Side, set_length, write_long, write_short};

use super::sending::{SAMPLED, put_number};
use super::{Connection, MIN_DATAGRAM, space_of};
use crate::crypto::{Level, TAG};
use crate::sent::{Chunk, Item};
use crate::space::Space;
use crate::{Time, Transmit};

/// With less room than this, no further packet is begun in a datagram.
const MIN_ROOM: usize = 128;
/// The most that the length field of a long header can say in the two bytes that are used for it
/// here.
const MAX_PACKET: usize = 16_000;

/// A packet that is written but not yet sealed.
#[derive(Debug)]
struct Draft {
    level: Level,
    start: usize,
    length_at: Option<usize>,
    number_at: usize,
    number_length: usize,
    /// Where its payload ends: the tag follows.
    end: usize,
    number: u64,
    chunk: Option<Chunk>,
    items: Vec<Item>,
    eliciting: bool,
}

impl Connection {
    /// Whether packets with long headers may still have to be sent.
    #[inline]
    pub(super) fn has_long_headers(&self) -> bool {
        self.crypto.has(Level::Initial) || self.crypto.has(Level::Handshake) || self.sends_early()
    }

    fn sends_early(&self) -> bool {
        self.handshake.side() == Side::Client
            && !self.crypto.has(Level::OneRtt)
            && self.crypto.has(Level::Early)
    }

    /// Writes a datagram that holds at least one packet with a long header.
    pub(super) fn transmit_coalesced(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        let wanted = [Level::Initial, Level::Early, Level::Handshake]
            .into_iter()
            .any(|level| self.has_work(now, level));
        if !wanted {
            return None;
        }
        let limit = self.segment(buffer.len(), MIN_DATAGRAM)?.min(MAX_PACKET);
        let probes = Space::ALL.map(|space| self.recovery.probes(space));
        let probes = probes.iter().sum();
        let permitted = self.recovery.permitted(now, limit as u16, 1, probes) > 0;
        let mut drafts = Vec::new();
        let mut at = 0;
        for level in [
            Level::Initial,
            Level::Early,
            Level::Handshake,
            Level::OneRtt,
        ] {
            let is_alone = drafts.is_empty();
            if !self.may_write(level, is_alone) || limit - at < MIN_ROOM {
                continue;
            }
            if let Some(draft) = self.draft(now, level, buffer.get_mut(..limit)?, at, permitted) {
                at = draft.end + TAG;
                drafts.push(draft);
            }
        }
        self.pad(&mut drafts, buffer, limit);
        self.seal_all(now, drafts, buffer)
    }

    fn may_write(&self, level: Level, is_first: bool) -> bool {
        match level {
            // A packet that is alone leaves in a burst.
            Level::OneRtt => !is_first && self.crypto.has(level),
            Level::Early => self.sends_early(),
            Level::Initial | Level::Handshake => self.crypto.has(level),
        }
    }

    fn has_work(&self, now: Time, level: Level) -> bool {
        let space = space_of(level);
        match level {
            Level::Initial | Level::Handshake => {
                self.crypto.has(level)
                    && (self.received[space.index()].is_due(now)
                        || self.crypto.wants_to_send(level)
                        || self.recovery.probes(space) > 0)
            }
            Level::Early => {
                self.sends_early()
                    && (self.recovery.probes(space) > 0
                        || self.control.has_ping()
                        || self.streams.has_control()
                        || self.streams.wants_to_send())
            }
            Level::OneRtt => false,
        }
    }

    fn draft(
        &mut self,
        now: Time,
        level: Level,
        datagram: &mut [u8],
        start: usize,
        permitted: bool,
    ) -> Option<Draft> {
        let space = space_of(level);
        let next = self.recovery.upcoming(space);
        // A number may be skipped: one byte more than necessary is enough for both.
        let number_length = self.recovery.number_length(space, 2);
        let end = datagram.len().checked_sub(TAG)?;
        let mut pen = Pen::new(datagram.get_mut(start..end)?);
        let (length_at, number_at) = self.write_header(level, &mut pen, next, number_length)?;
        let before = pen.position();
        let payload = self.write_payload(now, level, &mut pen, permitted);
        let written = pen.position() - before;
        if written == 0 {
            return None;
        }
        if written + number_length < SAMPLED {
            pen.zeros(SAMPLED - number_length - written);
        }
        let end = start + pen.position();
        let number = self.recovery.next_number(space);
        let number_at = start + number_at;
        put_number(
            datagram.get_mut(..number_at + number_length)?,
            number,
            number_at,
        );
        Some(Draft {
            level,
            start,
            length_at: length_at.map(|at| start + at),
            number_at,
            number_length,
            end,
            number,
            chunk: payload.chunk,
            items: std::mem::take(&mut self.items),
            eliciting: payload.eliciting,
        })
    }

    /// Returns the positions of the header's length field and packet number.
    pub(super) fn write_header(
        &self,
        level: Level,
        pen: &mut Pen<'_>,
        number: u64,
        number_length: usize,
    ) -> Option<(Option<usize>, usize)> {
        let destination = self.remote_ids.current();
        let kind = match level {
            Level::Initial => LongKind::Initial,
            Level::Early => LongKind::ZeroRtt,
            Level::Handshake => LongKind::Handshake,
            Level::OneRtt => {
                let phase = self.crypto.key_phase();
                let spin = self.spin.bit();
                let at = write_short(pen, destination, spin, phase, number, number_length)?;
                return Some((None, at));
            }
        };
        let source = self.local_ids.first();
        let header = write_long(
            pen,
            kind,
            self.handshake.version(),
            destination,
            &source,
            self.handshake.token(),
            number,
            number_length,
        )?;
        Some((Some(header.length_at), header.number_at))
    }

    /// Pads datagrams that hold an Initial packet to be acknowledged, and all of a client's that
    /// hold one. RFC 9000 §14.1.
    fn pad(&self, drafts: &mut [Draft], buffer: &mut [u8], limit: usize) {
        let wanted = match self.handshake.side() {
            Side::Client => limit,
            Side::Server => MIN_DATAGRAM.min(limit),
        };
        let pads = drafts.iter().any(|draft| {
            draft.level == Level::Initial
                && (self.handshake.side() == Side::Client || draft.eliciting)
        });
        let Some(last) = drafts.last_mut().filter(|_| pads) else {
            return;
        };
        let end = wanted.saturating_sub(TAG);
        if let Some(padding) = buffer.get_mut(last.end..end) {
            padding.fill(0);
            last.end = end;
        }
    }

    fn seal_all(&mut self, now: Time, drafts: Vec<Draft>, buffer: &mut [u8]) -> Option<Transmit> {
        let mut length = 0;
        let mut eliciting = false;
        let count = drafts.len();
        let mut sent_handshake = false;
        for mut draft in drafts {
            length = draft.end + TAG;
            let packet = buffer.get_mut(draft.start..length)?;
            if let Some(at) = draft.length_at {
                let size = length - draft.number_at;
                set_length(packet, at - draft.start, size);
            }
            let number_at = draft.number_at - draft.start;
            let size = packet.len() as u16;
            self.seal(
                draft.level,
                draft.number,
                packet,
                number_at,
                draft.number_length,
            )?;
            eliciting |= draft.eliciting;
            sent_handshake |= draft.level == Level::Handshake;
            let space = space_of(draft.level);
            let (chunk, items) = (draft.chunk, &mut draft.items);
            self.recovery
                .on_sent(space, draft.number, size, chunk, items, draft.eliciting);
        }
        if length == 0 {
            return None;
        }
        self.count_sent(now, count, 1, length, eliciting);
        self.paths.on_sent(length);
        // RFC 9001 §4.9.1.
        if sent_handshake
            && self.handshake.side() == Side::Client
            && self.crypto.has(Level::Initial)
        {
            self.discard(Space::Initial);
        }
        Some(Transmit {
            to: self.paths.remote(),
            from: self.paths.local(),
            ecn: self.mark(),
            segment: length,
            length,
        })
    }
}
