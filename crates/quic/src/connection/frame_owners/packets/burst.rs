//! Bursts: the loop that makes bulk data cheap.

use roundtrip_wire::quic::{Pen, write_short};

use super::{PacketWriter, SAMPLED, put_number};
use crate::Transmit;
use crate::burst::{MAX_BURST_BYTES, MAX_SEGMENTS};
use crate::connection::MIN_PACKET;
use crate::connection::frame_owners::write_chunks;
use crate::crypto::{Level, TAG};
use crate::sent::Chunk;
use crate::space::Space;

/// The longest short header: a first byte, an id, a number.
const MAX_SHORT_HEADER: usize = 1 + 20 + 4;
/// An upper bound, with a wide margin, on the numbers skipped within one burst.
const SKIPPED: u64 = 16;

/// The header that all packets of a burst begin with, except for their numbers.
#[derive(Debug)]
struct HeaderTemplate {
    bytes: [u8; MAX_SHORT_HEADER],
    number_at: usize,
    number_length: usize,
}

impl HeaderTemplate {
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

/// The burst so far.
#[derive(Debug, Default)]
struct Filled {
    length: usize,
    packets: usize,
    eliciting: bool,
    /// The last packet is shorter than the others, so nothing may follow it.
    ended: bool,
}

impl PacketWriter<'_> {
    pub(super) fn write_burst(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let ack_due = self.owners.received[Space::Data.index()].is_due(self.now);
        let wants = self.has_control_work() || self.owners.streams.wants_to_send();
        if !wants && !ack_due {
            let datagram = self.owners.recovery.datagram();
            self.owners.recovery.set_app_limited(datagram);
            return None;
        }
        let segment = self.segment(buffer.len(), MIN_PACKET)?;
        let most = (buffer.len() / segment)
            .min(MAX_BURST_BYTES / segment)
            .min(self.max_burst.clamp(1, MAX_SEGMENTS))
            .min(self.owners.paths.credit() / segment)
            .max(1);
        let permitted = if wants {
            let probes = self.owners.recovery.probes(Space::Data);
            self.owners
                .recovery
                .permitted(self.now, segment as u16, most, probes)
        } else {
            0
        };
        if permitted == 0 && !ack_due {
            return None;
        }
        let filled = self.fill(buffer, segment, permitted);
        if filled.packets == 0 {
            return None;
        }
        if filled.packets < permitted && !self.owners.streams.wants_to_send() {
            self.owners.recovery.set_app_limited(segment as u16);
        }
        Some(self.sent_to_active(segment, &filled))
    }

    /// Whether frames of the connection wait for a 1-RTT packet.
    #[inline]
    fn has_control_frames(&self) -> bool {
        self.owners.control.has_work()
            || self.owners.ack_frequency.has_work()
            || self.owners.remote_ids.has_work()
            || self.owners.local_ids.has_work()
    }

    /// Whether anything besides stream data waits for 1-RTT packets.
    fn has_control_work(&self) -> bool {
        self.has_control_frames()
            || self.owners.recovery.probes(Space::Data) > 0
            || self.owners.streams.has_control()
            || self.owners.crypto.wants_to_send(Level::OneRtt)
    }

    fn fill(&mut self, buffer: &mut [u8], segment: usize, permitted: usize) -> Filled {
        let mut filled = Filled::default();
        let Some(shape) = self.shape() else {
            return filled;
        };
        // Everything except stream data leaves in the first packet, or in the first few if it does
        // not fit.
        let mut mixed =
            self.owners.received[Space::Data.index()].has_any_pending() || self.has_control_work();
        while !filled.ended && (filled.packets < permitted || filled.packets == 0) {
            let end = filled.length + segment;
            let Some(packet) = buffer.get_mut(filled.length..end) else {
                break;
            };
            let length = if mixed {
                let length = self.fill_mixed(packet, &shape, permitted > 0, &mut filled);
                mixed = permitted > 0 && self.has_control_work();
                length
            } else if permitted > 0 && self.owners.streams.wants_to_send() {
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

    fn shape(&mut self) -> Option<HeaderTemplate> {
        let next = self.owners.recovery.upcoming(Space::Data);
        // Long enough for the last packet of the burst.
        let ahead = MAX_SEGMENTS as u64 + SKIPPED;
        let number_length = self.owners.recovery.number_length(Space::Data, ahead);
        let mut bytes = [0; MAX_SHORT_HEADER];
        let number_at = write_short(
            &mut Pen::new(&mut bytes),
            self.owners.remote_ids.current(),
            self.spin.bit(),
            self.owners.crypto.key_phase(),
            next,
            number_length,
        )?;
        Some(HeaderTemplate {
            bytes,
            number_at,
            number_length,
        })
    }

    /// Writes a packet of stream data alone: the hot path.
    #[inline]
    fn fill_bulk(&mut self, packet: &mut [u8], shape: &HeaderTemplate) -> Option<usize> {
        let payload_at = shape.payload_at();
        let end = packet.len().checked_sub(TAG)?;
        let mut pen = Pen::new(packet.get_mut(payload_at..end)?);
        let chunk = write_chunks(self.owners.streams, self.owners.items, &mut pen)?;
        Self::fill_up(
            &mut pen,
            shape.number_length,
            self.owners.streams.wants_to_send(),
        );
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
        packet: &mut [u8],
        shape: &HeaderTemplate,
        permitted: bool,
        filled: &mut Filled,
    ) -> Option<usize> {
        let payload_at = shape.payload_at();
        let end = packet.len().checked_sub(TAG)?;
        let mut pen = Pen::new(packet.get_mut(payload_at..end)?);
        let payload = self
            .owners
            .write_payload(self.now, Level::OneRtt, &mut pen, permitted);
        if pen.position() == 0 {
            return None;
        }
        let more = permitted && (self.has_control_work() || self.owners.streams.wants_to_send());
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
        shape: &HeaderTemplate,
        chunk: Option<Chunk>,
        eliciting: bool,
    ) -> Option<usize> {
        let number = self.owners.recovery.next_number(Space::Data);
        shape.write(number, packet);
        self.seal(
            Level::OneRtt,
            number,
            packet,
            shape.number_at,
            shape.number_length,
        )?;
        let length = packet.len();
        self.owners.recovery.on_sent(
            Space::Data,
            number,
            length as u16,
            chunk,
            self.owners.items,
            eliciting,
        );
        Some(length)
    }

    fn sent_to_active(&mut self, segment: usize, filled: &Filled) -> Transmit {
        let count = filled.packets;
        self.count_sent(count, count, filled.length, filled.eliciting);
        self.owners.paths.on_sent(filled.length);
        Transmit {
            to: self.owners.paths.remote(),
            from: self.owners.paths.local(),
            ecn: self.mark(),
            segment: segment.min(filled.length),
            length: filled.length,
        }
    }
}
