//! The end of a connection: said, heard, or timed out. RFC 9000 §10.

use roundtrip_wire::quic::{Frame, Pen, Side, set_length};

use super::sending::SAMPLED;
use super::{Connection, LEAST_DATAGRAM, State, space_of};
use crate::crypto::{Level, TAG};
use crate::error::{CloseReason, Violation};
use crate::{Code, Event, Time, Transmit, Way};

/// A reason longer than this is cut: it has to fit a datagram with three packets.
const LONGEST_REASON: usize = 256;

/// What this side says about the end.
#[derive(Debug, Clone)]
pub(super) struct Farewell {
    code: u64,
    /// The type of the frame at fault; none where the application closes.
    frame: Option<u64>,
    reason: Vec<u8>,
    is_due: bool,
    /// Packets that came since; answered ever more rarely. RFC 9000 §10.2.1.
    heard: u64,
}

impl Connection {
    /// Ends the connection; streams are cut off.
    pub fn close(&mut self, now: Time, code: u64, reason: &[u8]) {
        self.clock = now;
        let reason = reason.get(..LONGEST_REASON).unwrap_or(reason).to_vec();
        self.say_farewell(code, None, reason, CloseReason::Local { code });
    }

    /// Ends what a client has begun, as if it had never been accepted. RFC 9000 §5.2.2.
    pub fn refuse(&mut self, now: Time) {
        self.clock = now;
        let code = Code::CONNECTION_REFUSED.0;
        self.say_farewell(code, Some(0), Vec::new(), CloseReason::Local { code });
    }

    /// The peer broke a rule, or a key has come to its end.
    pub(super) fn fail(&mut self, violation: &Violation) {
        let code = violation.code;
        let why = match self.crypto.failure() {
            Some(error) => CloseReason::Handshake {
                code,
                why: error.to_string(),
            },
            None => CloseReason::Violated {
                code,
                why: violation.why.to_owned(),
            },
        };
        let reason = violation.why.as_bytes().to_vec();
        self.say_farewell(violation.code.0, Some(violation.frame), reason, why);
    }

    fn say_farewell(&mut self, code: u64, frame: Option<u64>, reason: Vec<u8>, why: CloseReason) {
        if self.state != State::Open {
            return;
        }
        self.state = State::Closing;
        self.farewell = Some(Farewell {
            code,
            frame,
            reason,
            is_due: true,
            heard: 0,
        });
        self.end(why);
    }

    /// The peer has closed: nothing is sent any more. RFC 9000 §10.2.2.
    pub(super) fn drain(&mut self, why: CloseReason) {
        if self.state == State::Open {
            self.state = State::Draining;
            self.end(why);
        }
    }

    /// Stateless reset. RFC 9000 §10.3.1.
    pub(crate) fn on_reset(&mut self, now: Time) {
        self.clock = now;
        self.drain(CloseReason::Reset);
    }

    fn end(&mut self, why: CloseReason) {
        self.timers.close = Some(self.clock.after(3 * self.recovery.pto()));
        self.untimely.clear();
        self.tell(Event::Closed(why));
    }

    pub(super) fn time_out(&mut self) {
        self.state = State::Drained;
        self.untimely.clear();
        self.tell(Event::Closed(CloseReason::TimedOut));
    }

    pub(super) fn on_received_while_closing(&mut self, way: &Way, size: usize) {
        if way.remote != self.paths.active.remote {
            return;
        }
        self.paths.active.on_received(size);
        if let Some(farewell) = &mut self.farewell {
            farewell.heard += 1;
            farewell.is_due |= farewell.heard.is_power_of_two();
        }
    }

    /// CONNECTION_CLOSE on every level that the peer may be at. RFC 9000 §10.2.3.
    pub(super) fn transmit_close(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        let farewell = self.farewell.as_mut().filter(|farewell| farewell.is_due)?;
        farewell.is_due = false;
        let farewell = farewell.clone();
        let limit = LEAST_DATAGRAM
            .min(buffer.len())
            .min(self.paths.active.credit());
        let levels = [Level::Initial, Level::Handshake, Level::OneRtt];
        let last = levels.into_iter().rfind(|level| self.crypto.has(*level))?;
        let pads = self.side == Side::Client && self.crypto.has(Level::Initial);
        let mut at = 0;
        let mut count = 0;
        for level in levels {
            if !self.crypto.has(level) {
                continue;
            }
            let Some(room) = buffer.get_mut(at..limit) else {
                break;
            };
            if let Some(length) = self.write_close(level, &farewell, room, pads && level == last) {
                at += length;
                count += 1;
            }
        }
        if at == 0 {
            return None;
        }
        self.count_sent(now, count, 1, at, false);
        self.paths.active.on_sent(at);
        Some(Transmit {
            to: self.paths.active.remote,
            from: self.paths.active.local,
            ecn: 0,
            segment: at,
            length: at,
        })
    }

    fn write_close(
        &mut self,
        level: Level,
        farewell: &Farewell,
        room: &mut [u8],
        pads: bool,
    ) -> Option<usize> {
        let space = space_of(level);
        let number_length = self.recovery.number_length(space, 2);
        let number = self.recovery.next_number(space);
        let end = room.len().checked_sub(TAG)?;
        let mut pen = Pen::new(room.get_mut(..end)?);
        // With its own number: nothing else is written here that may come to nothing.
        let (length_at, number_at) = self.write_header(level, &mut pen, number, number_length)?;
        let frame = match farewell.frame {
            Some(_) => Frame::Close {
                code: farewell.code,
                frame: farewell.frame,
                reason: &farewell.reason,
            },
            // What an application says is not for those who have not proved who they are. RFC 9000 §10.2.3.
            None if level != Level::OneRtt => Frame::Close {
                code: Code::APPLICATION_ERROR.0,
                frame: Some(0),
                reason: &[],
            },
            None => Frame::Close {
                code: farewell.code,
                frame: None,
                reason: &farewell.reason,
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
        self.crypto
            .seal(level, number, packet, number_at, number_length)
            .ok()?;
        Some(length)
    }
}
