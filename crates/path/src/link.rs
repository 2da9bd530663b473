//! One direction of the path: how long a packet takes, and which ones are lost.

use std::collections::BTreeSet;
use std::time::Duration;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Forward,
    Drop,
}

/// A one-way link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) delay: Duration,
    /// The packets to lose, counted from 1.
    pub(crate) lost: BTreeSet<u64>,
}

impl Link {
    /// Decides about the `number`-th packet that entered the link.
    pub(crate) fn admit(&self, number: u64) -> Verdict {
        if self.lost.contains(&number) {
            Verdict::Drop
        } else {
            Verdict::Forward
        }
    }
}
