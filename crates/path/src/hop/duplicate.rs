//! Delivers some packets twice.

use std::time::Duration;

use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::packet::Packet;
use roundtrip_model::Random;

pub(crate) struct DuplicationHop {
    pub(crate) share: f64,
    pub(crate) random: Random,
}

impl Hop for DuplicationHop {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        if self.random.unit() < self.share {
            let mut twin = packet.twin();
            exit.forward(packet, way, at);
            twin.remark(|| "the path's own copy of the packet before it".into());
            exit.forward(twin, way, at);
        } else {
            exit.forward(packet, way, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_requested_share_comes_twice() {
        let mut hop = DuplicationHop {
            share: 0.2,
            random: Random::seeded(3),
        };
        let mut exit = HopOutput::default();
        for _ in 0..1000 {
            let packet = Packet::from_ip(&[1], Duration::ZERO);
            hop.pass(packet, Direction::Up, Duration::ZERO, &mut exit);
        }
        let passed = exit.take().0.len();
        assert!((1150..1250).contains(&passed), "{passed}");
    }
}
