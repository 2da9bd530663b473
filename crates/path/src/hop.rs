//! The hops of a path: one small file for each kind. A hop decides what happens to a packet and
//! when the packet continues; clocks, threads and sockets belong to the relay.

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

pub(crate) use corrupt::CorruptionHop;
pub(crate) use delay::DelayHop;
pub(crate) use duplicate::DuplicationHop;
pub(crate) use hole::MtuHop;
pub(crate) use loss::LossHop;
pub(crate) use outage::OutageHop;
pub(crate) use rate::RateHop;

/// A part of the path that packets pass through.
pub(crate) trait Hop: Send {
    /// Handles a packet that arrives at `at`. `at` may be earlier than before by as much as the
    /// relay was late; this may cause only a small error.
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput);

    /// Called at the time that the hop asked for with [`HopOutput::wake_at`].
    fn wake(&mut self, at: Duration, exit: &mut HopOutput) {
        let _ = (at, exit);
    }
}

/// Collects a hop's decisions.
#[derive(Debug, Default)]
pub(crate) struct HopOutput {
    pub(crate) moves: Vec<ForwardedPacket>,
    pub(crate) losses: Vec<LostPacket>,
    pub(crate) wakes: Vec<Duration>,
}

/// A packet that continues, in this direction, at this time.
#[derive(Debug)]
pub(crate) struct ForwardedPacket {
    pub(crate) packet: Packet,
    pub(crate) way: Direction,
    pub(crate) at: Duration,
}

/// A packet that is lost.
#[derive(Debug)]
pub(crate) struct LostPacket {
    pub(crate) packet: Packet,
    pub(crate) way: Direction,
    /// The cause, as the counters list it.
    pub(crate) cause: &'static str,
}

impl HopOutput {
    pub(crate) fn forward(&mut self, packet: Packet, way: Direction, at: Duration) {
        self.moves.push(ForwardedPacket { packet, way, at });
    }

    /// Sends a packet that the hop itself makes.
    pub(crate) fn answer(&mut self, ip: &[u8], way: Direction, at: Duration, why: &str) {
        let mut packet = Packet::made(ip, way, at);
        packet.remark(|| why.into());
        self.forward(packet, way, at);
    }

    pub(crate) fn lose(&mut self, packet: Packet, way: Direction, cause: &'static str) {
        self.losses.push(LostPacket { packet, way, cause });
    }

    pub(crate) fn wake_at(&mut self, at: Duration) {
        self.wakes.push(at);
    }
}

#[cfg(test)]
impl HopOutput {
    /// Empties the exit: the times in ms at which packets continue, and the causes of the losses.
    pub(crate) fn take(&mut self) -> (Vec<u64>, Vec<&'static str>) {
        let moved = self.moves.drain(..);
        let times = moved.map(|moved| moved.at.as_millis() as u64).collect();
        let lost = self.losses.drain(..).map(|loss| loss.cause).collect();
        (times, lost)
    }
}
