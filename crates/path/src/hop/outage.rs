//! Drops everything at certain times: a handover, a satellite out of sight, an unplugged cable.

use std::time::Duration;

use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::link::LinkOutage;
use crate::packet::Packet;

pub(crate) struct OutageHop {
    outages: Vec<LinkOutage>,
    /// The time at which the path was built; outages are relative to it.
    start: Duration,
}

impl OutageHop {
    pub(crate) fn new(outages: Vec<LinkOutage>, start: Duration) -> Self {
        Self { outages, start }
    }
}

impl Hop for OutageHop {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let since = at.saturating_sub(self.start);
        if self.outages.iter().any(|outage| outage.covers(since)) {
            exit.lose(packet, way, "outage");
        } else {
            exit.forward(packet, way, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_while_it_lasts() {
        let start = Duration::from_secs(100);
        let outage = "1s-2s".parse().unwrap();
        let mut dark = OutageHop::new(vec![outage], start);
        let mut exit = HopOutput::default();
        for at in [999, 1000, 1999, 2000] {
            let at = start + Duration::from_millis(at);
            dark.pass(Packet::from_ip(&[], at), Direction::Up, at, &mut exit);
        }
        assert_eq!(exit.take(), (vec![100_999, 102_000], vec!["outage"; 2]));
    }
}
