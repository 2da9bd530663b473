//! Ends a connection: this side closes, the peer closes, or the time is over. RFC 9000 §10.

use std::io::ErrorKind;

use roundtrip_wire::quic::{Frame, Pen, Side, set_length};

use super::closing::CloseFrame;
use super::sending::SAMPLED;
use super::{Connection, MIN_DATAGRAM, space_of};
use crate::crypto::{Level, TAG};
use crate::error::{CloseReason, TransportError};
use crate::{Code, Event, Time, Transmit};

/// A longer reason is cut: it has to fit into a datagram with three packets.
const MAX_REASON: usize = 256;

impl Connection {
    /// Closes the connection; streams are cut off.
    pub fn close(&mut self, now: Time, code: u64, reason: &[u8]) {
        self.clock = now;
        let reason = reason.get(..MAX_REASON).unwrap_or(reason).to_vec();
        let frame = CloseFrame {
            code,
            frame: None,
            reason,
        };
        self.send_close(frame, CloseReason::Local { code });
    }

    /// Refuses a connection that a client has begun, as if it had never been accepted. RFC 9000
    /// §5.2.2.
    pub fn refuse(&mut self, now: Time) {
        self.clock = now;
        let code = Code::CONNECTION_REFUSED.0;
        let frame = CloseFrame {
            code,
            frame: Some(0),
            reason: Vec::new(),
        };
        self.send_close(frame, CloseReason::Local { code });
    }

    /// Closes because the peer broke a rule, or a key has protected as many packets as it may.
    pub(super) fn fail(&mut self, error: &TransportError) {
        let code = error.code;
        let why = match self.crypto.failure() {
            Some(tls) => CloseReason::Handshake {
                code,
                why: tls.to_string(),
            },
            None => CloseReason::Violated {
                code,
                why: error.why.to_owned(),
            },
        };
        let frame = CloseFrame {
            code: error.code.0,
            frame: Some(error.frame),
            reason: error.why.as_bytes().to_vec(),
        };
        self.send_close(frame, why);
    }

    fn send_close(&mut self, frame: CloseFrame, why: CloseReason) {
        if self.closing.is_open() {
            self.closing.close(frame, self.lingering());
            self.end(why);
        }
    }

    /// The peer has closed: nothing is sent any more. RFC 9000 §10.2.2.
    pub(super) fn drain(&mut self, why: CloseReason) {
        if self.closing.is_open() {
            if self.is_unproved() {
                self.closing.end();
            } else {
                self.closing.drain(self.lingering());
            }
            self.end(why);
        }
    }

    /// Stateless reset. RFC 9000 §10.3.1.
    pub(crate) fn on_reset(&mut self, now: Time) {
        self.clock = now;
        self.drain(CloseReason::Reset);
    }

    pub(super) fn time_out(&mut self) {
        self.closing.end();
        self.end(CloseReason::TimedOut);
    }

    /// The network says that the peer cannot be reached. Anybody can say so, so it is believed only
    /// while nothing authentic has come. RFC 9000 §21.1.
    pub fn on_unreachable(&mut self, now: Time, why: ErrorKind) {
        self.clock = now;
        let is_proven = self.stats.packets_received > 0 || self.handshake.was_retried();
        if self.closing.is_open() && !is_proven {
            self.closing.end();
            self.end(CloseReason::Unreachable(why));
        }
    }

    /// The time until which packets of an ended connection may still come.
    fn lingering(&self) -> Time {
        self.clock.after(3 * self.recovery.pto())
    }

    /// A packet from the peer now needs only the keys and the closing frame, so everything else is
    /// dropped.
    fn end(&mut self, why: CloseReason) {
        self.undecryptable.clear();
        self.streams.end(&self.config);
        self.crypto.end();
        self.recovery.end();
        self.log_closed(&why);
        self.events.push(Event::Closed(why));
    }

    /// Sends the closing frame. A client that may not exist gets it once, and nothing of the
    /// connection stays.
    pub(super) fn transmit_end(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        let sent = self.transmit_close(now, buffer);
        if self.is_unproved() {
            let length = sent.map_or(0, |sent| sent.length);
            self.closing
                .end_with(buffer.get(..length).unwrap_or_default());
        }
        sent
    }

    /// The closing datagram, which this connection itself does not repeat.
    pub(crate) fn take_farewell(&mut self) -> Vec<u8> {
        self.closing.take_farewell()
    }

    /// Sends CONNECTION_CLOSE on every level that the peer may be at. RFC 9000 §10.2.3.
    fn transmit_close(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        let close = self.closing.poll_frame()?;
        let limit = MIN_DATAGRAM.min(buffer.len()).min(self.paths.credit());
        let levels = [Level::Initial, Level::Handshake, Level::OneRtt];
        let last = levels.into_iter().rfind(|level| self.crypto.has(*level))?;
        let pads = self.handshake.side() == Side::Client && self.crypto.has(Level::Initial);
        let mut at = 0;
        let mut count = 0;
        for level in levels {
            if !self.crypto.has(level) {
                continue;
            }
            let Some(room) = buffer.get_mut(at..limit) else {
                break;
            };
            if let Some(length) = self.write_close(level, &close, room, pads && level == last) {
                at += length;
                count += 1;
            }
        }
        if at == 0 {
            return None;
        }
        self.count_sent(now, count, 1, at, false);
        self.paths.on_sent(at);
        Some(Transmit {
            to: self.paths.remote(),
            from: self.paths.local(),
            ecn: 0,
            segment: at,
            length: at,
        })
    }

    fn write_close(
        &mut self,
        level: Level,
        close: &CloseFrame,
        room: &mut [u8],
        pads: bool,
    ) -> Option<usize> {
        let space = space_of(level);
        let number_length = self.recovery.number_length(space, 2);
        let number = self.recovery.next_number(space);
        let end = room.len().checked_sub(TAG)?;
        let mut pen = Pen::new(room.get_mut(..end)?);
        // It uses its own number: nothing else is written here that could fail to be sent.
        let (length_at, number_at) = self.write_header(level, &mut pen, number, number_length)?;
        let frame = match close.frame {
            Some(_) => Frame::Close {
                code: close.code,
                frame: close.frame,
                reason: &close.reason,
            },
            // Only an authenticated peer sees the application's reason. RFC 9000 §10.2.3.
            None if level != Level::OneRtt => Frame::Close {
                code: Code::APPLICATION_ERROR.0,
                frame: Some(0),
                reason: &[],
            },
            None => Frame::Close {
                code: close.code,
                frame: None,
                reason: &close.reason,
            },
        };
        if !frame.write(&mut pen) {
            return None;
        }
        let padding = if pads {
            pen.room()
        } else {
            SAMPLED.min(pen.room())
        };
        pen.zeros(padding);
        let length = pen.position() + TAG;
        let packet = room.get_mut(..length)?;
        if let Some(at) = length_at {
            set_length(packet, at, length - number_at);
        }
        if self.log.is_on() {
            self.log_sent(level, number, packet, number_at, number_length);
        }
        self.crypto
            .seal(level, number, packet, number_at, number_length)
            .ok()?;
        Some(length)
    }
}
