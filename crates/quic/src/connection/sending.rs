//! Bursts: what leaves next, and the loop that makes bulk data cheap.

use roundtrip_wire::quic::{Pen, write_short};

use super::closing::State;
use super::{Connection, MIN_PACKET};
use crate::burst::{ECT0, MAX_BURST_BYTES, MAX_SEGMENTS};
use crate::crypto::{Level, TAG};
use crate::error::TransportError;
use crate::sent::Chunk;
use crate::space::Space;
use crate::{Code, Time, Transmit};

/// The longest short header: a first byte, an id, a number.
const MAX_SHORT_HEADER: usize = 1 + 20 + 4;
/// A packet has at least this many bytes between the start of its number and its tag. RFC 9001
/// §5.4.2.
pub(super) const SAMPLED: usize = 4;
/// How many numbers may be skipped within one burst, with a wide margin.
const SKIPPED: u64 = 16;

/// The header that all packets of a burst begin with, except for their numbers.
#[derive(Debug)]
struct Shape {
    bytes: [u8; MAX_SHORT_HEADER],
    number_at: usize,
    number_length: usize,
}

impl Shape {
    fn payload_at(&self) -> usize {
        self.number_at + self.number_length
    }

    /// Writes the header with this number; false if there is no room.
    #[inline]
    fn write(&self, number: u64, packet: &mut [u8]) -> bool {
        let end = self.number_at + self.number_length;
        let (Some(place), Some(header)) = (packet.get_mut(..end), self.bytes.get(..end)) else {
            return false;
        };
        place.copy_from_slice(header);
        put_number(place, number, self.number_at);
        true
    }
}

/// Fills the space from `at` on with the low bytes of a number.
#[inline]
pub(super) fn put_number(header: &mut [u8], number: u64, at: usize) {
    let Some(place) = header.get_mut(at..) else {
        return;
    };
    let bytes = (number as u32).to_be_bytes();
    if let Some(low) = bytes.get(4_usize.saturating_sub(place.len())..) {
        place.copy_from_slice(low);
    }
}

/// The burst so far.
#[derive(Debug, Default)]
struct Filled {
    length: usize,
    packets: usize,
    eliciting: bool,
    /// The last packet is shorter than the others, so nothing may follow it.
    ended: bool,
}

impl Connection {
    /// Fills `buffer` with what leaves next; call it until it returns `None`. The buffer needs room
    /// for at least one datagram of the largest size, preferably for 64.
    pub fn transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        self.clock = now;
        if self.closing.is_open()
            && let Some(transmit) = self.transmit_open(now, buffer)
        {
            return Some(transmit);
        }
        self.follow_budget();
        // Also if the connection has just ended because a key has protected as many packets as it
        // may.
        match self.closing.state() {
            State::Closing => self.transmit_end(now, buffer),
            State::Open | State::Draining | State::Drained => None,
        }
    }

    fn transmit_open(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if self.recovery.is_ignored() {
            self.fail(&TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it acknowledges nothing",
            ));
            return None;
        }
        let is_patient = self.recovery.has_many_acks();
        self.received[Space::Data.index()].set_patient(is_patient);
        self.recovery.begin_burst(now);
        if self.paths.has_work()
            && let Some(transmit) = self.transmit_challenge(now, buffer)
        {
            return Some(transmit);
        }
        if self.has_long_headers()
            && let Some(transmit) = self.transmit_coalesced(now, buffer)
        {
            return Some(transmit);
        }
        if !self.crypto.has(Level::OneRtt) {
            return None;
        }
        if let Some(transmit) = self.transmit_mtu_probe(now, buffer) {
            return Some(transmit);
        }
        self.transmit_burst(now, buffer)
    }

    fn transmit_burst(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        let ack_due = self.received[Space::Data.index()].is_due(now);
        let wants = self.has_control_work() || self.streams.wants_to_send();
        if !wants && !ack_due {
            let datagram = self.recovery.datagram();
            self.recovery.set_app_limited(datagram);
            return None;
        }
        let segment = self.segment(buffer.len(), MIN_PACKET)?;
        let most = (buffer.len() / segment)
            .min(MAX_BURST_BYTES / segment)
            .min(self.config.burst.clamp(1, MAX_SEGMENTS))
            .min(self.paths.credit() / segment)
            .max(1);
        let permitted = if wants {
            let probes = self.recovery.probes(Space::Data);
            self.recovery.permitted(now, segment as u16, most, probes)
        } else {
            0
        };
        if permitted == 0 && !ack_due {
            return None;
        }
        let filled = self.fill(now, buffer, segment, permitted);
        if filled.packets == 0 {
            return None;
        }
        if filled.packets < permitted && !self.streams.wants_to_send() {
            self.recovery.set_app_limited(segment as u16);
        }
        Some(self.sent_to_active(now, segment, &filled))
    }

    /// The size of datagrams; `None` if an address that is not validated allows less than `least`.
    /// RFC 9000 §8.1.
    pub(super) fn segment(&mut self, room: usize, least: usize) -> Option<usize> {
        let size = usize::from(self.recovery.datagram()).min(room);
        let credit = self.paths.credit();
        if credit >= least.min(size) {
            return Some(size.min(credit));
        }
        self.recovery.set_blocked(true);
        None
    }

    /// Whether anything besides stream data waits for 1-RTT packets.
    fn has_control_work(&self) -> bool {
        self.has_control_frames()
            || self.recovery.probes(Space::Data) > 0
            || self.streams.has_control()
            || self.crypto.wants_to_send(Level::OneRtt)
    }

    fn fill(&mut self, now: Time, buffer: &mut [u8], segment: usize, permitted: usize) -> Filled {
        let mut filled = Filled::default();
        let Some(shape) = self.shape() else {
            return filled;
        };
        // Everything except stream data leaves in the first packet, or in the first few if it does
        // not fit.
        let mut mixed =
            self.received[Space::Data.index()].has_any_pending() || self.has_control_work();
        while !filled.ended && (filled.packets < permitted || filled.packets == 0) {
            let end = filled.length + segment;
            let Some(packet) = buffer.get_mut(filled.length..end) else {
                break;
            };
            let length = if mixed {
                let length = self.fill_mixed(now, packet, &shape, permitted > 0, &mut filled);
                mixed = permitted > 0 && self.has_control_work();
                length
            } else if permitted > 0 && self.streams.wants_to_send() {
                filled.eliciting = true;
                self.fill_bulk(packet, &shape)
            } else {
                break;
            };
            let Some(length) = length else {
                break;
            };
            filled.packets += 1;
            filled.length += length;
            filled.ended = length < segment;
        }
        filled
    }

    fn shape(&mut self) -> Option<Shape> {
        let next = self.recovery.upcoming(Space::Data);
        // Long enough for the last packet of the burst.
        let ahead = MAX_SEGMENTS as u64 + SKIPPED;
        let number_length = self.recovery.number_length(Space::Data, ahead);
        let mut bytes = [0; MAX_SHORT_HEADER];
        let number_at = write_short(
            &mut Pen::new(&mut bytes),
            self.remote_ids.current(),
            self.spin.bit(),
            self.crypto.key_phase(),
            next,
            number_length,
        )?;
        Some(Shape {
            bytes,
            number_at,
            number_length,
        })
    }

    /// Writes a packet of stream data alone: the hot path.
    #[inline]
    fn fill_bulk(&mut self, packet: &mut [u8], shape: &Shape) -> Option<usize> {
        let payload_at = shape.payload_at();
        let end = packet.len().checked_sub(TAG)?;
        let mut pen = Pen::new(packet.get_mut(payload_at..end)?);
        let chunk = self.write_chunks(&mut pen)?;
        Self::fill_up(&mut pen, shape.number_length, self.streams.wants_to_send());
        let length = payload_at + pen.position() + TAG;
        self.seal_numbered(packet.get_mut(..length)?, shape, Some(chunk), true)
    }

    /// If more follows, pads room that is too small for any frame: only the last packet may be
    /// shorter.
    #[inline]
    fn fill_up(pen: &mut Pen<'_>, number_length: usize, more: bool) {
        let room = pen.room();
        if room > 0 && more {
            pen.zeros(room);
        } else if pen.position() + number_length < SAMPLED {
            pen.zeros(SAMPLED - number_length - pen.position());
        }
    }

    fn fill_mixed(
        &mut self,
        now: Time,
        packet: &mut [u8],
        shape: &Shape,
        permitted: bool,
        filled: &mut Filled,
    ) -> Option<usize> {
        let payload_at = shape.payload_at();
        let end = packet.len().checked_sub(TAG)?;
        let mut pen = Pen::new(packet.get_mut(payload_at..end)?);
        let payload = self.write_payload(now, Level::OneRtt, &mut pen, permitted);
        if pen.position() == 0 {
            return None;
        }
        let more = permitted && (self.has_control_work() || self.streams.wants_to_send());
        Self::fill_up(&mut pen, shape.number_length, more);
        let length = payload_at + pen.position() + TAG;
        filled.eliciting |= payload.eliciting;
        let packet = packet.get_mut(..length)?;
        self.seal_numbered(packet, shape, payload.chunk, payload.eliciting)
    }

    /// Gives a packet its number and its protection, and counts it as sent.
    #[inline]
    fn seal_numbered(
        &mut self,
        packet: &mut [u8],
        shape: &Shape,
        chunk: Option<Chunk>,
        eliciting: bool,
    ) -> Option<usize> {
        let number = self.recovery.next_number(Space::Data);
        shape.write(number, packet);
        self.seal(
            Level::OneRtt,
            number,
            packet,
            shape.number_at,
            shape.number_length,
        )?;
        let length = packet.len();
        self.recovery.on_sent(
            Space::Data,
            number,
            length as u16,
            chunk,
            &mut self.items,
            eliciting,
        );
        Some(length)
    }

    /// Protects a packet. A key that has reached its limit closes the connection. RFC 9001 §6.6.
    #[inline]
    pub(super) fn seal(
        &mut self,
        level: Level,
        number: u64,
        packet: &mut [u8],
        number_at: usize,
        number_length: usize,
    ) -> Option<()> {
        if self.log.is_on() {
            self.log_sent(level, number, packet, number_at, number_length);
        }
        match self
            .crypto
            .seal(level, number, packet, number_at, number_length)
        {
            Ok(()) => Some(()),
            Err(error) => {
                self.items.clear();
                self.fail(&error);
                None
            }
        }
    }

    fn sent_to_active(&mut self, now: Time, segment: usize, filled: &Filled) -> Transmit {
        let count = filled.packets;
        self.count_sent(now, count, count, filled.length, filled.eliciting);
        self.paths.on_sent(filled.length);
        Transmit {
            to: self.paths.remote(),
            from: self.paths.local(),
            ecn: self.mark(),
            segment: segment.min(filled.length),
            length: filled.length,
        }
    }

    /// The ECN mark of this burst. RFC 9000 §13.4.
    pub(super) fn mark(&self) -> u8 {
        if self.recovery.ecn_mark() { ECT0 } else { 0 }
    }

    pub(super) fn count_sent(
        &mut self,
        now: Time,
        packets: usize,
        datagrams: usize,
        bytes: usize,
        eliciting: bool,
    ) {
        self.stats.packets_sent += packets as u64;
        self.stats.datagrams_sent += datagrams as u64;
        self.stats.bytes_sent += bytes as u64;
        self.stats.bursts += 1;
        if eliciting {
            self.idle.on_eliciting_sent(now);
        }
    }
}
