//! A box that is a single rule: packets that match are lost, others pass unchanged.

use std::time::Duration;

use roundtrip_wire::packet as wire;

use crate::direction::Direction;
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;

pub(super) struct FilterHop<R> {
    /// The name of the box, under which losses are counted.
    pub(super) cause: &'static str,
    pub(super) unwanted: R,
}

impl<R> Hop for FilterHop<R>
where
    R: FnMut(&wire::Packet<'_>, Direction, Duration) -> bool + Send,
{
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let read = wire::Packet::parse(packet.ip());
        if read.is_ok_and(|read| (self.unwanted)(&read, way, at)) {
            exit.lose(packet, way, self.cause);
        } else {
            exit.forward(packet, way, at);
        }
    }
}
