//! A link with a smaller MTU than its neighbours believe: it fragments where it may, and otherwise tells the sender, or
//! keeps silent and swallows.

use std::time::Duration;

use super::{Exit, Hop};
use crate::direction::Direction;
use crate::link::Mtu;
use crate::packet::Packet;

pub(crate) struct SmallMtu(pub(crate) Mtu);

impl Hop for SmallMtu {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut Exit) {
        if packet.length() <= usize::from(self.0.bytes) {
            exit.forward(packet, way, at);
            return;
        }
        exit.lose(packet, way, "over the MTU");
    }
}
