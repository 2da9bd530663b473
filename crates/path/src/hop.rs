//! What stands in a packet's way: one small file for each thing that can happen to it. A hop decides, and leaves with
//! each packet the time when it goes on; clocks, threads and sockets are the relay's.

mod corrupt;
mod delay;
mod duplicate;
mod hole;
mod loss;
mod outage;
mod rate;

use std::time::Duration;

use crate::direction::Direction;
use crate::packet::Packet;

pub(crate) use corrupt::Corrupt;
pub(crate) use delay::Delay;
pub(crate) use duplicate::Duplicate;
pub(crate) use hole::SmallMtu;
pub(crate) use loss::Lose;
pub(crate) use outage::Dark;
pub(crate) use rate::Bottleneck;

/// A thing in the way.
pub(crate) trait Hop: Send {
    /// A packet comes by at `at`. Times may run back by what the relay was late; nothing worse than a little error may
    /// come of that.
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut Exit);

    /// The time that it asked for with [`Exit::wake_at`] has come.
    fn wake(&mut self, at: Duration, exit: &mut Exit) {
        let _ = (at, exit);
    }
}

/// Where a hop leaves what it has decided.
#[derive(Debug, Default)]
pub(crate) struct Exit {
    pub(crate) moves: Vec<Move>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) wakes: Vec<Duration>,
}

/// A packet that goes on, this way, at this time.
#[derive(Debug)]
pub(crate) struct Move {
    pub(crate) packet: Packet,
    pub(crate) way: Direction,
    pub(crate) at: Duration,
}

/// A packet that does not.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) packet: Packet,
    pub(crate) way: Direction,
    /// Why, as the counters list it.
    pub(crate) cause: &'static str,
}

impl Exit {
    pub(crate) fn forward(&mut self, packet: Packet, way: Direction, at: Duration) {
        self.moves.push(Move { packet, way, at });
    }

    /// Sends a packet of the hop's own making.
    pub(crate) fn answer(&mut self, ip: &[u8], way: Direction, at: Duration, why: &str) {
        let mut packet = Packet::made(ip, way, at);
        packet.remark(|| why.into());
        self.forward(packet, way, at);
    }

    pub(crate) fn lose(&mut self, packet: Packet, way: Direction, cause: &'static str) {
        self.losses.push(Loss { packet, way, cause });
    }

    pub(crate) fn wake_at(&mut self, at: Duration) {
        self.wakes.push(at);
    }
}

#[cfg(test)]
impl Exit {
    /// When each packet goes on, in ms, and what was lost why; empties it.
    pub(crate) fn take(&mut self) -> (Vec<u64>, Vec<&'static str>) {
        let moved = self.moves.drain(..);
        let times = moved.map(|moved| moved.at.as_millis() as u64).collect();
        let lost = self.losses.drain(..).map(|loss| loss.cause).collect();
        (times, lost)
    }
}
