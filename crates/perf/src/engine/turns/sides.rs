//! The two sides of a measurement in the loop: from the socket to the account, for any machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::answers::Answers;
use super::lanes::Lanes;
use super::{Machine, Turns};
use crate::account::Meter;
use crate::engine::{Job, PATIENCE, Side, Station};
use crate::error::PerfError;

/// Runs the client's side, on connections that the machine has opened.
pub(in crate::engine) fn drive<M: Machine>(
    to: SocketAddr,
    machine: M,
    begun: Vec<M::Handle>,
    job: &Job,
) -> Result<Side, PerfError> {
    let here: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut turns = Turns::open(SocketAddr::new(here, 0), machine, begun)?;
    turns.connect(to)?;
    let mut lanes = Lanes::new(job);
    turns.run(&mut lanes, Lanes::is_connected, Some(PATIENCE))?;
    let meter = Meter::start(job.core);
    lanes.begin();
    turns.run(&mut lanes, Lanes::is_done, None)?;
    let usage = meter.read();
    let mut side = lanes.into_side();
    (side.usage, side.wire) = (usage, turns.wire());
    turns.close()?;
    Ok(side)
}

/// The server's side.
pub(in crate::engine) struct Serving<M: Machine> {
    turns: Turns<M>,
    address: SocketAddr,
    job: Job,
}

impl<M: Machine> Serving<M> {
    pub(in crate::engine) fn listen(
        at: SocketAddr,
        machine: M,
        job: &Job,
    ) -> Result<Self, PerfError> {
        let turns = Turns::open(at, machine, Vec::new())?;
        Ok(Self {
            address: turns.address()?,
            turns,
            job: job.clone(),
        })
    }
}

impl<M: Machine> Station for Serving<M> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<Side, PerfError> {
        let Self { mut turns, job, .. } = *self;
        let mut answers = Answers::new(&job);
        turns.run(&mut answers, Answers::has_begun, Some(PATIENCE))?;
        turns.run(&mut answers, Answers::is_over, None)?;
        let mut side = answers.into_side();
        side.wire = turns.wire();
        Ok(side)
    }
}
