//! The two sides of a measurement in the loop: from the socket to the account, for any machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::answers::AnsweringServer;
use super::lanes::Lanes;
use super::{EventLoop, Machine};
use crate::account::CpuMeter;
use crate::engine::{Job, ListeningServer, PEER_TIMEOUT, SideReport};
use crate::error::PerfError;

/// Runs the client's side, on connections that the machine has opened.
pub(in crate::engine) fn drive<M: Machine>(
    to: SocketAddr,
    machine: M,
    begun: Vec<M::Handle>,
    job: &Job,
) -> Result<SideReport, PerfError> {
    let here: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut turns = EventLoop::open(SocketAddr::new(here, 0), machine, begun)?;
    turns.connect(to)?;
    let mut lanes = Lanes::new(job);
    turns.run(&mut lanes, Lanes::is_connected, Some(PEER_TIMEOUT))?;
    let meter = CpuMeter::start(job.core);
    lanes.begin();
    turns.run(&mut lanes, Lanes::is_done, None)?;
    let usage = meter.read();
    let mut side = lanes.into_side();
    (side.usage, side.wire) = (usage, turns.wire());
    turns.close()?;
    Ok(side)
}

/// The server's side.
pub(in crate::engine) struct LoopServer<M: Machine> {
    turns: EventLoop<M>,
    address: SocketAddr,
    job: Job,
}

impl<M: Machine> LoopServer<M> {
    pub(in crate::engine) fn listen(
        at: SocketAddr,
        machine: M,
        job: &Job,
    ) -> Result<Self, PerfError> {
        let turns = EventLoop::open(at, machine, Vec::new())?;
        Ok(Self {
            address: turns.address()?,
            turns,
            job: job.clone(),
        })
    }
}

impl<M: Machine> ListeningServer for LoopServer<M> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn serve(self: Box<Self>) -> Result<SideReport, PerfError> {
        let Self { mut turns, job, .. } = *self;
        let mut answers = AnsweringServer::new(&job);
        turns.run(&mut answers, AnsweringServer::has_begun, Some(PEER_TIMEOUT))?;
        turns.run(&mut answers, AnsweringServer::is_over, None)?;
        let mut side = answers.into_side();
        side.wire = turns.wire();
        Ok(side)
    }
}
