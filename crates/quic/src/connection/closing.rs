//! Whether a connection is open, and how it ends: what this side says about it, and how long it
//! still answers. RFC 9000 §10.

use crate::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// From the first packet on.
    Open,
    /// This side has closed, and repeats that to a peer that still sends.
    Closing,
    /// The peer has closed, or is gone: nothing is sent.
    Draining,
    /// Over: nothing is left to do.
    Drained,
}

/// What this side says about the end.
#[derive(Debug, Clone)]
pub(super) struct CloseFrame {
    pub(super) code: u64,
    /// The type of the frame at fault; `None` if the application closes.
    pub(super) frame: Option<u64>,
    pub(super) reason: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Closing {
    state: State,
    frame: Option<CloseFrame>,
    is_due: bool,
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
            state: State::Open,
            frame: None,
            is_due: false,
            packets: 0,
            deadline: None,
            farewell: Vec::new(),
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub(super) fn is_drained(&self) -> bool {
        self.state == State::Drained
    }

    /// Closes an open connection: this side answers with `frame` until `deadline`. Only an open
    /// connection can be closed.
    pub(super) fn close(&mut self, frame: CloseFrame, deadline: Time) {
        self.state = State::Closing;
        self.frame = Some(frame);
        self.is_due = true;
        self.deadline = Some(deadline);
    }

    /// The peer has closed: nothing is sent any more. RFC 9000 §10.2.2.
    pub(super) fn drain(&mut self, deadline: Time) {
        self.state = State::Draining;
        self.deadline = Some(deadline);
    }

    pub(super) fn end(&mut self) {
        self.state = State::Drained;
    }

    /// Ends with what was just sent: the connection does not wait for a client that may not exist.
    pub(super) fn end_with(&mut self, farewell: &[u8]) {
        self.farewell = farewell.to_vec();
        self.end();
    }

    pub(super) fn take_farewell(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.farewell)
    }

    /// A packet came after this side had closed.
    pub(super) fn on_packet(&mut self) {
        self.packets += 1;
        self.is_due |= self.packets.is_power_of_two();
    }

    /// The frame that is to be sent now.
    pub(super) fn poll_frame(&mut self) -> Option<CloseFrame> {
        if self.state != State::Closing || !std::mem::take(&mut self.is_due) {
            return None;
        }
        self.frame.clone()
    }

    /// When a connection that is closing or draining is over.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Closing | State::Draining => self.deadline,
            State::Open | State::Drained => None,
        }
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.state = State::Drained;
        }
    }
}
