//! One stream: its two halves, and which frames about it wait to be sent.

use super::StreamId;
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::turn::QueueState;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// `None` if this side may not send on it, or is done.
    pub(super) outgoing: Option<Outgoing>,
    /// `None` if the peer may not send on it, or everything was read.
    pub(super) incoming: Option<Incoming>,
    pub(super) pending: Pending,
    /// The stream's place in the queue for frames.
    pub(super) control: QueueState,
}

/// Frames to be sent; their values are read when they are written. RFC 9000 §19.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pending {
    pub(super) reset: bool,
    pub(super) stop: bool,
    pub(super) max_data: bool,
    pub(super) blocked: bool,
}

impl Pending {
    pub(super) fn any(self) -> bool {
        self.reset || self.stop || self.max_data || self.blocked
    }
}
