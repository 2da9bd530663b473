//! The payload of one packet: acknowledgements, handshake bytes, frames of the connection, stream
//! data, in this order.

use roundtrip_wire::quic::{Frame, Pen, write_ack};

use super::FrameOwners;
use crate::Time;
use crate::connection::opening::ACK_DELAY_EXPONENT;
use crate::crypto::Level;
use crate::sent::{Chunk, SentFrame};
use crate::space::Space;
use crate::streams::Streams;

/// The largest head of a CRYPTO frame with an offset below 2^30: no handshake is as long as that.
const MAX_CRYPTO_HEAD: usize = 1 + 4 + 2;
/// Handshake data shorter than this does not get a frame.
const MIN_CRYPTO: usize = 16;

/// The stream data that was written, and whether it asks for an acknowledgement; the rest is in
/// the items.
#[derive(Debug, Default)]
pub(in crate::connection) struct Payload {
    pub(in crate::connection) chunk: Option<Chunk>,
    pub(in crate::connection) eliciting: bool,
}

impl FrameOwners<'_> {
    /// Fills a packet. If the congestion window or pacing does not permit it, the packet only
    /// acknowledges.
    pub(in crate::connection) fn write_payload(
        &mut self,
        now: Time,
        level: Level,
        pen: &mut Pen<'_>,
        permitted: bool,
    ) -> Payload {
        let space = level.space();
        let mut payload = Payload::default();
        if level != Level::Early && self.received[space.index()].has_any_pending() {
            self.write_acknowledgement(now, space, pen);
        }
        let before = pen.position();
        if !permitted {
            // Without a PING, the peer would never confirm that the acknowledgements sent so far
            // have arrived. RFC 9000 §13.2.4.
            if self.recovery.needs_ping(space) && Frame::Ping.write(pen) {
                self.items.push(SentFrame::Ping);
                payload.eliciting = true;
            }
            return payload;
        }
        // Some servers accept no connection from an Initial packet without a hello, and either
        // probe may be the first that arrives. RFC 9002 §6.2.4.
        if level == Level::Initial && self.recovery.probes(space) > 0 {
            self.crypto.repeat(level);
        }
        if level != Level::Early {
            self.write_crypto(level, pen);
        }
        if space == Space::Data {
            self.write_control(level, pen);
            self.streams.write_control(pen, self.items);
            payload.chunk = write_chunks(self.streams, self.items, pen);
        }
        if self.recovery.probes(space) > 0 {
            if pen.position() == before && Frame::Ping.write(pen) {
                self.items.push(SentFrame::Ping);
            }
            // The peer must not delay the acknowledgement that this probe asks for.
            // draft-ietf-quic-ack-frequency §5.
            if level == Level::OneRtt && self.ack_frequency.is_supported() {
                Frame::ImmediateAck.write(pen);
            }
            self.recovery.on_probe_sent(space);
        }
        payload.eliciting = pen.position() > before;
        payload
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
            self.items.push(SentFrame::Ack { largest });
        }
    }

    fn write_crypto(&mut self, level: Level, pen: &mut Pen<'_>) {
        while self.crypto.wants_to_send(level) {
            let room = pen.room().saturating_sub(MAX_CRYPTO_HEAD);
            if room < MIN_CRYPTO {
                return;
            }
            let Some((offset, data)) = self.crypto.chunk(level, room) else {
                return;
            };
            let length = data.len() as u16;
            let frame = Frame::Crypto { offset, data };
            let written = frame.write(pen);
            debug_assert!(written, "a CRYPTO frame has the room that it asked for");
            self.items.push(SentFrame::Crypto { offset, length });
        }
    }

    /// Writes frames of the connection. All but PING wait for 1-RTT keys: 0-RTT may carry neither
    /// RETIRE_CONNECTION_ID nor NEW_TOKEN, and the others are needed only after the handshake.
    fn write_control(&mut self, level: Level, pen: &mut Pen<'_>) {
        let items = &mut *self.items;
        self.control.write_ping(pen, items);
        if level != Level::OneRtt {
            return;
        }
        self.control.write_handshake_done(pen, items);
        self.ack_frequency.write(pen, items);
        self.remote_ids.write(pen, items);
        self.local_ids.write(pen, items);
        self.control.write_tokens(pen, items);
    }
}

/// Writes as much stream data as there is room for: returns the first run, and adds the others
/// to the items.
#[inline]
pub(in crate::connection) fn write_chunks(
    streams: &mut Streams,
    items: &mut Vec<SentFrame>,
    pen: &mut Pen<'_>,
) -> Option<Chunk> {
    let first = streams.write_chunk(pen)?;
    while pen.room() > 0 {
        let Some(next) = streams.write_chunk(pen) else {
            break;
        };
        items.push(SentFrame::Stream(next));
    }
    Some(first)
}
