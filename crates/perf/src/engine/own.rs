//! QUIC by our own engine: how its knobs are applied. One thread, one socket, no runtime.

mod machine;

use std::net::SocketAddr;
use std::sync::Arc;

use roundtrip_net::datagrams::MAX_SEGMENTS;
use roundtrip_quic::{
    AckPolicy, ClientConfig, CongestionControl, DatagramSize, ServerConfig, Transport,
};

use super::turns::{LoopServer, drive};
use super::{Engine, Job, ListeningServer, MAX_STREAMS, PEER_TIMEOUT, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Suite, Trust};
use crate::plan::{AckEvery, ArmKnobs, Congestion, DatagramLength, SideRole};
use crate::protocol::NAME;
use machine::OwnMachine as Machine;

pub(super) struct OwnEngine;

impl Engine for OwnEngine {
    fn check(&self, knobs: &ArmKnobs) -> Result<(), PlanError> {
        knobs.check_gso(MAX_SEGMENTS)
    }

    fn listen(
        &self,
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        let mut tls = identity.server(Suite::from_knobs(&job.knobs))?;
        // RFC 9001 §4.6.1: the limit of early data is either that of the transport, or 0.
        tls.max_early_data_size = 0;
        let config = ServerConfig::new(Arc::new(tls), transport(&job.knobs, SideRole::Server));
        let machine = Machine::new(Some(config))?;
        Ok(Box::new(LoopServer::listen(at, machine, job)?))
    }

    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<SideReport, PerfError> {
        let tls = Arc::new(trust.client(Suite::from_knobs(&job.knobs))?);
        let config = ClientConfig::new(tls, transport(&job.knobs, SideRole::Client));
        let mut machine = Machine::new(None)?;
        let begun = (0..job.work.connections).map(|_| machine.connect(&config, to, NAME));
        let begun = begun.collect::<Result<_, _>>()?;
        drive(to, machine, begun, job)
    }
}

fn transport(knobs: &ArmKnobs, role: SideRole) -> Arc<Transport> {
    let mut transport = Transport {
        idle_timeout: PEER_TIMEOUT,
        bidi_streams: MAX_STREAMS.into(),
        congestion: match knobs.congestion {
            Congestion::Cubic => CongestionControl::Cubic,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Bbr => CongestionControl::Bbr,
        },
        ..Transport::default()
    };
    match knobs.ack_every {
        Some(AckEvery::Packets(packets)) => {
            transport.ask_acks = AckPolicy::Every(packets.into());
            transport.ack_every = packets.into();
        }
        Some(AckEvery::Auto) => transport.ask_acks = AckPolicy::EighthOfWindow,
        None => {}
    }
    if let Some(burst) = knobs.gso {
        transport.burst = burst;
    }
    match knobs.datagram {
        DatagramLength::Engine => {}
        DatagramLength::Of(bytes) => transport.datagram = DatagramSize::Fixed(bytes),
        DatagramLength::Mirror(bytes) => {
            transport.datagram = match role {
                SideRole::Client => DatagramSize::Fixed(bytes),
                SideRole::Server => DatagramSize::Mirror,
            };
        }
        DatagramLength::Discover => transport.datagram = DatagramSize::Discover,
    }
    Arc::new(transport)
}
