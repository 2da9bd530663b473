//! A box that changes packets in place and lets all of them pass.

use std::time::Duration;

use roundtrip_wire::packet::PacketMut;

use crate::direction::Direction;
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;

/// The change; it returns a description of what it changed, if anything.
pub(super) struct RewriteHop<C>(pub(super) C);

impl<C> Hop for RewriteHop<C>
where
    C: FnMut(&mut PacketMut<'_>) -> Option<String> + Send,
{
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let parsed = PacketMut::parse(packet.ip_mut()).ok();
        if let Some(done) = parsed.and_then(|mut parsed| (self.0)(&mut parsed)) {
            packet.remark(|| done);
        }
        exit.forward(packet, way, at);
    }
}
