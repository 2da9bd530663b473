//! Changes that a store reports by itself.

use std::sync::Arc;

use roundtrip_wire::resp::key_slot;

/// Something that puts earlier knowledge in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This session was written, prolonged or revoked, or has expired.
    Touched(String),
    /// Any session could have changed.
    Everything,
    /// The connection that reports changes of these sessions was lost, or another server has them
    /// now. No change is reported until the connection is back.
    Lost(StorePart),
    /// The connection is back.
    Back,
}

/// Some of the sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePart {
    Whole,
    /// The sessions in some slots of a Redis Cluster.
    Slots(SlotPart),
}

impl StorePart {
    pub(crate) fn has(&self, sid: &str) -> bool {
        match self {
            Self::Whole => true,
            Self::Slots(part) => part.has(sid),
        }
    }
}

/// Names of sessions whose keys have one of these slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotPart {
    /// The part of a key before the name.
    prefix: Arc<str>,
    /// The first and the last of each range, in order.
    ranges: Arc<[(u16, u16)]>,
}

impl SlotPart {
    pub(crate) fn new(prefix: &Arc<str>, ranges: Vec<(u16, u16)>) -> Self {
        Self {
            prefix: prefix.clone(),
            ranges: ranges.into(),
        }
    }

    pub(crate) fn has(&self, sid: &str) -> bool {
        let slot = key_slot(&[self.prefix.as_bytes(), sid.as_bytes()].concat());
        let at = self.ranges.partition_point(|(_, last)| *last < slot);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= slot)
    }
}
