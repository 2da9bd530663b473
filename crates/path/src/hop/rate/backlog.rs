//! The packets that wait for the bottleneck, first come, first served.

use std::collections::VecDeque;
use std::time::Duration;

use crate::direction::Direction;
use crate::packet::Packet;

#[derive(Default)]
pub(super) struct Backlog {
    waiting: VecDeque<QueuedPacket>,
    bytes: u64,
}

pub(super) struct QueuedPacket {
    pub(super) packet: Packet,
    pub(super) way: Direction,
    pub(super) since: Duration,
}

impl Backlog {
    pub(super) fn push(&mut self, waiting: QueuedPacket) {
        self.bytes += waiting.packet.length() as u64;
        self.waiting.push_back(waiting);
    }

    pub(super) fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.waiting.pop_front()?;
        self.bytes -= first.packet.length() as u64;
        Some(first)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
