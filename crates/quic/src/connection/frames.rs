//! Handles received frames. RFC 9000 §19.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_wire::quic::{Ack, Frame, Frames, PacketKind, Side};

use super::receiving::Datagram;
use super::{Connection, opening, space_of};
use crate::crypto::Level;
use crate::error::{CloseReason, TransportError};
use crate::recovery::AckContext;
use crate::space::Space;
use crate::{Code, Event, Time};

/// What a packet held, as far as later decisions depend on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) eliciting: bool,
    /// Nothing that moves the connection to another path. RFC 9000 §9.1.
    pub(super) probing: bool,
}

impl Connection {
    pub(super) fn on_payload(
        &mut self,
        datagram: &Datagram<'_>,
        level: Level,
        payload: &[u8],
    ) -> Result<Seen, TransportError> {
        if payload.is_empty() {
            return Err(broken("a packet holds no frame"));
        }
        let kind = kind_of(level);
        let mut seen = Seen {
            eliciting: false,
            probing: true,
        };
        // A client that closes at once costs no handshake.
        if level == Level::Initial
            && self.is_unproved()
            && let Some(close) = closing_frame(payload)
        {
            self.on_frame(datagram, level, &close)?;
            return Ok(seen);
        }
        for frame in Frames::new(payload) {
            let Ok(frame) = frame else {
                return Err(TransportError::new(
                    Code::FRAME_ENCODING_ERROR,
                    "a frame cannot be read",
                ));
            };
            seen.eliciting |= frame.is_ack_eliciting();
            seen.probing &= frame.is_probing();
            // The hot path.
            if let Frame::Stream {
                id,
                offset,
                data,
                fin,
            } = frame
                && kind == PacketKind::OneRtt
            {
                self.streams.on_stream(id, offset, data, fin)?;
                continue;
            }
            if !frame.is_allowed(kind) {
                return Err(in_frame(
                    &frame,
                    broken("a packet of this kind may not hold such a frame"),
                ));
            }
            self.on_frame(datagram, level, &frame)
                .map_err(|error| in_frame(&frame, error))?;
            if !self.closing.is_open() {
                break;
            }
        }
        Ok(seen)
    }

    fn on_frame(
        &mut self,
        datagram: &Datagram<'_>,
        level: Level,
        frame: &Frame<'_>,
    ) -> Result<(), TransportError> {
        let Datagram { now, way } = *datagram;
        match *frame {
            Frame::Padding(_) | Frame::Ping => {}
            Frame::Ack(ref ack) => self.on_ack(now, level, ack)?,
            Frame::Crypto { offset, data } => {
                self.crypto.receive(level, offset, data)?;
                self.on_handshake_bytes(now)?;
            }
            Frame::Close {
                code,
                frame,
                reason,
            } => self.on_close(code, frame.is_none(), reason),
            Frame::HandshakeDone => {
                self.client_only("HANDSHAKE_DONE came from a client")?;
                self.confirm();
            }
            Frame::NewToken(token) => {
                self.client_only("NEW_TOKEN came from a client")?;
                if token.is_empty() {
                    return Err(TransportError::new(
                        Code::FRAME_ENCODING_ERROR,
                        "a NEW_TOKEN is empty",
                    ));
                }
                self.events
                    .push(Event::NewToken(Bytes::copy_from_slice(token)));
            }
            Frame::NewConnectionId {
                sequence,
                retire_prior_to,
                id,
                reset_token,
            } => self
                .remote_ids
                .add(sequence, retire_prior_to, id, reset_token)?,
            Frame::RetireConnectionId(sequence) => self.local_ids.on_retired(sequence)?,
            Frame::PathChallenge(data) => {
                // What is in use now must not be seen at an address that a client has left. RFC
                // 9000 §9.5.
                let is_left = self.handshake.side() == Side::Client && self.paths.has_left(way);
                if !is_left {
                    let datagram = self.stats.datagrams_received;
                    self.paths.on_challenge(way, data, datagram);
                }
            }
            Frame::PathResponse(data) => self.on_path_response(data),
            Frame::AckFrequency {
                sequence,
                threshold,
                max_delay_us,
                reordering,
            } => {
                let delay = Duration::from_micros(max_delay_us);
                if delay < opening::min_ack_delay(&self.config) {
                    return Err(broken(
                        "it asks for acknowledgements sooner than this side's min_ack_delay",
                    ));
                }
                self.received[Space::Data.index()].ask(sequence, threshold, delay, reordering);
            }
            Frame::ImmediateAck => self.received[Space::Data.index()].ask_now(),
            Frame::Datagram(_) => {
                return Err(broken("a DATAGRAM frame came, but was not negotiated"));
            }
            _ => self.on_stream_frame(frame)?,
        }
        Ok(())
    }

    fn on_stream_frame(&mut self, frame: &Frame<'_>) -> Result<(), TransportError> {
        match *frame {
            Frame::Stream {
                id,
                offset,
                data,
                fin,
            } => self.streams.on_stream(id, offset, data, fin),
            Frame::ResetStream { id, code, size } => self.streams.on_reset(id, code, size),
            Frame::StopSending { id, code } => self.streams.on_stop_sending(id, code),
            Frame::MaxData(limit) => {
                self.streams.on_max_data(limit);
                Ok(())
            }
            Frame::MaxStreamData { id, limit } => self.streams.on_max_stream_data(id, limit),
            Frame::MaxStreams { bidi, limit } => self.streams.on_max_streams(bidi, limit),
            Frame::StreamDataBlocked { id, limit } => {
                self.streams.on_stream_data_blocked(id, limit)
            }
            Frame::StreamsBlocked { bidi, limit } => self.streams.on_streams_blocked(bidi, limit),
            Frame::DataBlocked(limit) => {
                self.streams.on_data_blocked(limit);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn client_only(&self, why: &'static str) -> Result<(), TransportError> {
        match self.handshake.side() {
            Side::Client => Ok(()),
            Side::Server => Err(broken(why)),
        }
    }

    fn on_ack(&mut self, now: Time, level: Level, ack: &Ack<'_>) -> Result<(), TransportError> {
        self.stats.acks_received += 1;
        let space = space_of(level);
        let delay = match space {
            // RFC 9000 §13.2.5 and §19.3.
            Space::Data => {
                let exponent = self.handshake.ack_delay_exponent();
                let micros = ack.delay.checked_shl(exponent).unwrap_or(u64::MAX);
                Duration::from_micros(micros.min(1 << 40))
            }
            _ => Duration::ZERO,
        };
        let context = AckContext {
            now,
            space,
            delay,
            progress: self.progress(),
        };
        let newest = self.settle(|recovery, feedback| {
            let result = recovery.on_ack(&context, ack, feedback);
            result.map(|()| feedback.newest)
        })?;
        if space == Space::Data
            && let Some(newest) = newest
        {
            self.crypto.on_acked_in_phase(newest);
        }
        if space == Space::Data {
            self.ack_frequency.on_ack(now, &self.recovery);
            self.streams.on_window(self.recovery.window());
            if self.crypto.is_update_due() {
                self.crypto.update_keys();
            }
        }
        if level != Level::Initial {
            self.handshake.on_peer_validated();
        }
        Ok(())
    }

    fn on_close(&mut self, code: u64, application: bool, reason: &[u8]) {
        let reason = String::from_utf8_lossy(reason).into_owned();
        let why = if application {
            CloseReason::Application { code, reason }
        } else {
            CloseReason::Transport {
                code: Code(code),
                reason,
            }
        };
        self.drain(why);
    }
}

/// The CONNECTION_CLOSE among the frames of an Initial packet.
fn closing_frame(payload: &[u8]) -> Option<Frame<'_>> {
    let mut frames = Frames::new(payload).map_while(Result::ok);
    frames
        .find(|frame| matches!(frame, Frame::Close { .. }) && frame.is_allowed(PacketKind::Initial))
}

pub(super) fn kind_of(level: Level) -> PacketKind {
    match level {
        Level::Initial => PacketKind::Initial,
        Level::Early => PacketKind::ZeroRtt,
        Level::Handshake => PacketKind::Handshake,
        Level::OneRtt => PacketKind::OneRtt,
    }
}

fn broken(why: &'static str) -> TransportError {
    TransportError::new(Code::PROTOCOL_VIOLATION, why)
}

fn in_frame(frame: &Frame<'_>, error: TransportError) -> TransportError {
    if error.frame == 0 {
        return TransportError {
            frame: frame.kind(),
            ..error
        };
    }
    error
}
