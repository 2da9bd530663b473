//! Datagrams of the handshake: packets of several levels in one, padded while the path has not
//! proved its size.
//!
//! RFC 9000 §12.2 and §14.1.

use roundtrip_wire::quic::{Pen, Side, set_length};

use super::{PacketWriter, SAMPLED, put_number};
use crate::Transmit;
use crate::connection::MIN_DATAGRAM;
use crate::crypto::{Level, TAG};
use crate::sent::{Chunk, SentFrame};
use crate::space::Space;

/// If a datagram has less room than this, no further packet is begun in it.
const MIN_ROOM: usize = 128;
/// The largest length that fits into the two bytes that are used here for the length field of a
/// long header.
const MAX_PACKET: usize = 16_000;

/// A packet that is written but not yet sealed.
#[derive(Debug)]
struct Draft {
    level: Level,
    start: usize,
    length_at: Option<usize>,
    number_at: usize,
    number_length: usize,
    /// The end of the packet's payload; the tag follows.
    end: usize,
    number: u64,
    chunk: Option<Chunk>,
    items: Vec<SentFrame>,
    eliciting: bool,
}

impl PacketWriter<'_> {
    /// Whether packets with long headers may still have to be sent.
    #[inline]
    pub(super) fn has_long_headers(&self) -> bool {
        self.owners.crypto.has(Level::Initial)
            || self.owners.crypto.has(Level::Handshake)
            || self.sends_early()
    }

    fn sends_early(&self) -> bool {
        self.handshake.side() == Side::Client
            && !self.owners.crypto.has(Level::OneRtt)
            && self.owners.crypto.has(Level::Early)
    }

    /// Writes a datagram that holds at least one packet with a long header.
    pub(super) fn write_coalesced(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let wanted = [Level::Initial, Level::Early, Level::Handshake]
            .into_iter()
            .any(|level| self.has_work(level));
        if !wanted {
            return None;
        }
        let limit = self.segment(buffer.len(), MIN_DATAGRAM)?.min(MAX_PACKET);
        let probes = Space::ALL.map(|space| self.owners.recovery.probes(space));
        let probes = probes.iter().sum();
        let permitted = self
            .owners
            .recovery
            .permitted(self.now, limit as u16, 1, probes)
            > 0;
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
            if let Some(draft) = self.draft(level, buffer.get_mut(..limit)?, at, permitted) {
                at = draft.end + TAG;
                drafts.push(draft);
            }
        }
        self.pad(&mut drafts, buffer, limit);
        self.seal_all(drafts, buffer)
    }

    fn may_write(&self, level: Level, is_first: bool) -> bool {
        match level {
            // A packet that is alone leaves in a burst.
            Level::OneRtt => !is_first && self.owners.crypto.has(level),
            Level::Early => self.sends_early(),
            Level::Initial | Level::Handshake => self.owners.crypto.has(level),
        }
    }

    fn has_work(&self, level: Level) -> bool {
        let space = level.space();
        match level {
            Level::Initial | Level::Handshake => {
                self.owners.crypto.has(level)
                    && (self.owners.received[space.index()].is_due(self.now)
                        || self.owners.crypto.wants_to_send(level)
                        || self.owners.recovery.probes(space) > 0)
            }
            Level::Early => {
                self.sends_early()
                    && (self.owners.recovery.probes(space) > 0
                        || self.owners.control.has_ping()
                        || self.owners.streams.has_control()
                        || self.owners.streams.wants_to_send())
            }
            Level::OneRtt => false,
        }
    }

    fn draft(
        &mut self,
        level: Level,
        datagram: &mut [u8],
        start: usize,
        permitted: bool,
    ) -> Option<Draft> {
        let space = level.space();
        let next = self.owners.recovery.upcoming(space);
        // A number may be skipped: one byte more than necessary is enough for both.
        let number_length = self.owners.recovery.number_length(space, 2);
        let end = datagram.len().checked_sub(TAG)?;
        let mut pen = Pen::new(datagram.get_mut(start..end)?);
        let (length_at, number_at) = self.write_header(level, &mut pen, next, number_length)?;
        let before = pen.position();
        let payload = self
            .owners
            .write_payload(self.now, level, &mut pen, permitted);
        let written = pen.position() - before;
        if written == 0 {
            return None;
        }
        if written + number_length < SAMPLED {
            pen.zeros(SAMPLED - number_length - written);
        }
        let end = start + pen.position();
        let number = self.owners.recovery.next_number(space);
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
            items: std::mem::take(self.owners.items),
            eliciting: payload.eliciting,
        })
    }

    /// Pads datagrams with an ack-eliciting Initial packet, and every datagram of a client with an
    /// Initial packet. RFC 9000 §14.1.
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

    fn seal_all(&mut self, drafts: Vec<Draft>, buffer: &mut [u8]) -> Option<Transmit> {
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
            let space = draft.level.space();
            let (chunk, items) = (draft.chunk, &mut draft.items);
            self.owners
                .recovery
                .on_sent(space, draft.number, size, chunk, items, draft.eliciting);
        }
        if length == 0 {
            return None;
        }
        self.count_sent(count, 1, length, eliciting);
        self.owners.paths.on_sent(length);
        self.sent_handshake = sent_handshake;
        Some(Transmit {
            to: self.owners.paths.remote(),
            from: self.owners.paths.local(),
            ecn: self.mark(),
            segment: length,
            length,
        })
    }
}
