//! Whether a connection is open, and how it ends: what this side says about it, and how long it
//! still answers. RFC 9000 §10.

use std::time::Duration;

use roundtrip_wire::quic::{Frame, Pen};

use crate::crypto::Level;
use crate::error::TransportError;
use crate::{Code, Time};

/// A longer reason is cut: it has to fit into a datagram with three packets.
const MAX_REASON: usize = 256;
/// How much longer a connection waits if its owner was too late to send the closing frame in time:
/// a process may not run for a while.
const LATE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosingState {
    /// The state from the first packet on.
    Open,
    /// This side has closed, and repeats that to a peer that still sends.
    Closing,
    /// The peer has closed or disappeared: nothing is sent.
    Draining,
    /// The connection has ended, and nothing is left to do.
    Drained,
}

/// This side's reason for the end.
#[derive(Debug, Clone)]
pub(super) struct CloseFrame {
    code: u64,
    /// The type of the frame at fault; `None` if the application closes.
    frame: Option<u64>,
    reason: Vec<u8>,
}

impl CloseFrame {
    /// The application closes.
    pub(super) fn application(code: u64, reason: &[u8]) -> Self {
        Self {
            code,
            frame: None,
            reason: reason.get(..MAX_REASON).unwrap_or(reason).to_vec(),
        }
    }

    /// The connection is refused, as if it had never been accepted. RFC 9000 §5.2.2.
    pub(super) fn refused() -> Self {
        Self::violated(&TransportError::new(Code::CONNECTION_REFUSED, ""))
    }

    /// The reason if the connection keeps more memory than it may.
    pub(super) fn evicted() -> Self {
        Self::violated(&TransportError::new(
            Code::INTERNAL_ERROR,
            "memory is short",
        ))
    }

    /// The peer broke a rule.
    pub(super) fn violated(error: &TransportError) -> Self {
        Self {
            code: error.code.0,
            frame: Some(error.frame),
            reason: error.why.as_bytes().to_vec(),
        }
    }

    /// Writes the frame into a packet of this level; false if there is no room.
    pub(super) fn write(&self, level: Level, pen: &mut Pen<'_>) -> bool {
        let (code, frame, reason) = match self.frame {
            // Only an authenticated peer sees the application's reason. RFC 9000 §10.2.3.
            None if level != Level::OneRtt => (Code::APPLICATION_ERROR.0, Some(0), &[][..]),
            frame => (self.code, frame, &self.reason[..]),
        };
        let close = Frame::Close {
            code,
            frame,
            reason,
        };
        close.write(pen)
    }
}

/// Whether the connection is open, and the remaining work if it is not.
///
/// [`Self::close`], [`Self::drain`] and [`Self::end`] end the connection: the first call takes
/// effect and returns true, and the caller then drops everything else. After that, the receiving
/// loop reports packets to [`Self::on_packet`], the sending loop calls [`Self::poll_frame`], and
/// the timers call [`Self::deadline`].
#[derive(Debug)]
pub(super) struct Closing {
    state: ClosingState,
    frame: Option<CloseFrame>,
    is_due: bool,
    /// The frame was polled, or is not waited for any longer.
    is_said: bool,
    /// Packets that came while closing; they are answered less and less often. RFC 9000 §10.2.1.
    packets: u64,
    /// When closing or draining ends.
    deadline: Option<Time>,
    /// The closing datagram that was sent to a client that has not validated its address.
    farewell: Vec<u8>,
}

impl Closing {
    pub(super) fn new() -> Self {
        Self {
            state: ClosingState::Open,
            frame: None,
            is_due: false,
            is_said: false,
            packets: 0,
            deadline: None,
            farewell: Vec::new(),
        }
    }

    pub(super) fn state(&self) -> ClosingState {
        self.state
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.state == ClosingState::Open
    }

    pub(super) fn is_drained(&self) -> bool {
        self.state == ClosingState::Drained
    }

    /// Closes: this side answers with `frame` until `deadline`. Returns false if the connection is
    /// not open.
    pub(super) fn close(&mut self, frame: CloseFrame, deadline: Time) -> bool {
        if !self.is_open() {
            return false;
        }
        self.state = ClosingState::Closing;
        self.frame = Some(frame);
        self.is_due = true;
        self.deadline = Some(deadline);
        true
    }

    /// The peer has closed: nothing is sent any more, and until `deadline` its packets are ignored.
    /// Returns false if the connection is not open. RFC 9000 §10.2.2.
    pub(super) fn drain(&mut self, deadline: Option<Time>) -> bool {
        if !self.is_open() {
            return false;
        }
        self.state = match deadline {
            Some(_) => ClosingState::Draining,
            None => ClosingState::Drained,
        };
        self.deadline = deadline;
        true
    }

    /// Ends an open connection at once; returns false if it is not open.
    pub(super) fn end(&mut self) -> bool {
        let is_open = self.is_open();
        if is_open {
            self.state = ClosingState::Drained;
        }
        is_open
    }

    /// Ends the connection with the datagram that was just sent, without waiting for a client that
    /// may not exist.
    pub(super) fn end_with(&mut self, farewell: &[u8]) {
        self.farewell = farewell.to_vec();
        self.state = ClosingState::Drained;
    }

    /// Ends the wait for late packets, but not the one for the closing frame to be sent.
    pub(super) fn hasten(&mut self) {
        if !self.is_open() {
            self.deadline = Some(Time::ZERO);
        }
    }

    pub(super) fn take_farewell(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.farewell)
    }

    /// Handles a packet that arrives after this side has closed.
    pub(super) fn on_packet(&mut self) {
        self.packets += 1;
        self.is_due |= self.packets.is_power_of_two();
    }

    /// The frame that must be sent now.
    pub(super) fn poll_frame(&mut self) -> Option<CloseFrame> {
        if self.state != ClosingState::Closing || !std::mem::take(&mut self.is_due) {
            return None;
        }
        self.is_said = true;
        self.frame.clone()
    }

    /// The time at which a closing or draining connection ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.state {
            ClosingState::Closing | ClosingState::Draining => self.deadline,
            ClosingState::Open | ClosingState::Drained => None,
        }
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        if self.state == ClosingState::Closing && !self.is_said {
            self.is_said = true;
            self.deadline = Some(now.after(LATE));
        } else {
            self.state = ClosingState::Drained;
        }
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::quic::Frames;

    use super::*;

    fn says(frame: &CloseFrame, level: Level) -> (u64, Option<u64>, Vec<u8>) {
        let mut buffer = [0; 600];
        let mut pen = Pen::new(&mut buffer);
        assert!(frame.write(level, &mut pen));
        let length = pen.position();
        match Frames::new(&buffer[..length]).next() {
            Some(Ok(Frame::Close {
                code,
                frame,
                reason,
            })) => (code, frame, reason.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_an_authenticated_peer_sees_what_the_application_says() {
        let frame = CloseFrame::application(7, &[b'x'; 300]);
        let hidden = (Code::APPLICATION_ERROR.0, Some(0), Vec::new());
        assert_eq!(says(&frame, Level::Initial), hidden);
        assert_eq!(says(&frame, Level::Handshake), hidden);
        let said = (7, None, vec![b'x'; MAX_REASON]);
        assert_eq!(says(&frame, Level::OneRtt), said);
    }

    #[test]
    fn the_first_end_counts() {
        let mut closing = Closing::new();
        let frame = CloseFrame::application(0, b"");
        assert!(closing.close(frame.clone(), Time(9)));
        assert!(!closing.close(frame, Time(10)) && !closing.drain(None) && !closing.end());
        assert_eq!(closing.deadline(), Some(Time(9)));
        assert!(closing.poll_frame().is_some() && closing.poll_frame().is_none());
    }
}
