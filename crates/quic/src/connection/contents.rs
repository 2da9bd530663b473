//! What one packet carries: acknowledgements, handshake bytes, frames of the connection, stream data, in this order.

use roundtrip_wire::quic::{Frame, Pen, write_ack};

use super::opening::ACK_DELAY_EXPONENT;
use super::{Connection, space_of};
use crate::Time;
use crate::crypto::Level;
use crate::sent::{Chunk, Item};
use crate::space::Space;

/// The head of a CRYPTO frame at its largest, for offsets below 2^30: nobody's handshake is as long as that.
const CRYPTO_HEAD: usize = 1 + 4 + 2;
/// Less of the handshake than this is not worth a frame.
const LEAST_CRYPTO: usize = 16;
/// A NEW_CONNECTION_ID, the longest of the small frames.
const LONGEST_SMALL: usize = 1 + 8 + 8 + 1 + 20 + 16;

/// What was written; the rest of it lies in `Connection::items`.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) chunk: Option<Chunk>,
    pub(super) eliciting: bool,
}

impl Connection {
    /// Fills a packet. Where it is not `permitted` by the congestion window, or by pacing, it only acknowledges.
    pub(super) fn write_contents(
        &mut self,
        now: Time,
        level: Level,
        pen: &mut Pen<'_>,
        permitted: bool,
    ) -> Contents {
        let space = space_of(level);
        let mut contents = Contents::default();
        if level != Level::Early && self.received[space.index()].has_any_pending() {
            self.write_acknowledgement(now, space, pen);
        }
        let before = pen.position();
        if !permitted {
            // Else nothing would ever tell that the acknowledgements sent so far have come. RFC 9000 §13.2.4.
            if self.recovery.needs_ping(space) && Frame::Ping.write(pen) {
                self.items.push(Item::Ping);
                contents.eliciting = true;
            }
            return contents;
        }
        if level != Level::Early {
            self.write_crypto(level, pen);
        }
        if space == Space::Data {
            self.write_control(level, pen);
            self.streams.write_control(pen, &mut self.items);
            contents.chunk = self.write_chunks(pen);
        }
        if self.recovery.probes(space) > 0 {
            if pen.position() == before && Frame::Ping.write(pen) {
                self.items.push(Item::Ping);
            }
            // The peer must not sit on what this probe asks for. draft-ietf-quic-ack-frequency §5.
            if level == Level::OneRtt && self.asks.is_known() {
                Frame::ImmediateAck.write(pen);
            }
            self.recovery.on_probe_sent(space);
        }
        contents.eliciting = pen.position() > before;
        contents
    }

    /// All stream data that has room: the first run apart, the others as items.
    #[inline]
    pub(super) fn write_chunks(&mut self, pen: &mut Pen<'_>) -> Option<Chunk> {
        let first = self.streams.write_chunk(pen)?;
        while pen.room() > 0 {
            let Some(next) = self.streams.write_chunk(pen) else {
                break;
            };
            self.items.push(Item::Stream(next));
        }
        Some(first)
    }

    fn write_acknowledgement(&mut self, now: Time, space: Space, pen: &mut Pen<'_>) {
        let received = &mut self.received[space.index()];
        let Some(largest) = received.largest() else {
            return;
        };
        // Initial and Handshake packets are acknowledged at once. RFC 9000 §13.2.5.
        let delay = match space {
            Space::Data => received.delay(now).as_micros() as u64 >> ACK_DELAY_EXPONENT,
            _ => 0,
        };
        if write_ack(pen, delay, received.ranges(), received.ecn()) {
            received.on_ack_sent();
            self.stats.acks_sent += 1;
            self.items.push(Item::Ack { largest });
        }
    }

    fn write_crypto(&mut self, level: Level, pen: &mut Pen<'_>) {
        while self.crypto.wants_to_send(level) {
            let room = pen.room().saturating_sub(CRYPTO_HEAD);
            if room < LEAST_CRYPTO {
                return;
            }
            let Some((offset, data)) = self.crypto.chunk(level, room) else {
                return;
            };
            let length = data.len() as u16;
            let frame = Frame::Crypto { offset, data };
            let written = frame.write(pen);
            debug_assert!(written, "a CRYPTO frame has the room that it asked for");
            self.items.push(Item::Crypto { offset, length });
        }
    }

    fn write_control(&mut self, level: Level, pen: &mut Pen<'_>) {
        if self.control.ping && Frame::Ping.write(pen) {
            self.control.ping = false;
            self.items.push(Item::Ping);
        }
        if level != Level::OneRtt || !self.control.has_work() {
            return;
        }
        if self.control.handshake_done && Frame::HandshakeDone.write(pen) {
            self.control.handshake_done = false;
            self.items.push(Item::HandshakeDone);
        }
        if self.control.ask_waits
            && let Some(ask) = self.control.ask
        {
            let frame = Frame::AckFrequency {
                sequence: ask.sequence,
                threshold: ask.threshold,
                max_delay_us: ask.max_delay_us,
                reordering: ask.reordering,
            };
            if frame.write(pen) {
                self.control.ask_waits = false;
                self.items.push(Item::AckFrequency(ask.sequence));
            }
        }
        self.write_ids(pen);
        while let Some((which, token)) = self.control.next_token() {
            if !Frame::NewToken(token).write(pen) {
                break;
            }
            self.control.tokens_due.pop();
            self.items.push(Item::NewToken(which));
        }
    }

    fn write_ids(&mut self, pen: &mut Pen<'_>) {
        while pen.room() > LONGEST_SMALL
            && let Some(sequence) = self.control.retired.pop()
        {
            Frame::RetireConnectionId(sequence).write(pen);
            self.items.push(Item::RetireConnectionId(sequence));
        }
        while pen.room() > LONGEST_SMALL
            && let Some(sequence) = self.control.issued.pop()
        {
            let Some((id, reset_token)) = self.local_ids.get(sequence) else {
                continue;
            };
            let frame = Frame::NewConnectionId {
                sequence,
                retire_prior_to: 0,
                id,
                reset_token,
            };
            frame.write(pen);
            self.items.push(Item::NewConnectionId(sequence));
        }
    }
}
