//! QUIC by quinn-proto, the state machine below quinn, in our own loop: one thread, bursts of any
//! length, no runtime. The protocol is the same as in `quinn`; the code that moves the bytes
//! differs.

mod machine;

use std::net::SocketAddr;
use std::sync::Arc;

use quinn_proto::TransportConfig;
use roundtrip_net::datagrams::MAX_SEGMENTS;

use super::quinn::{client_config, server_config, tuned};
use super::turns::{LoopServer, drive};
use super::{Engine, Job, ListeningServer, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Trust};
use crate::plan::{AckEvery, ArmKnobs, DatagramLength, SideRole};
use crate::protocol::NAME;
use machine::{Mirror, ProtoMachine as Machine};

/// The default number of datagrams in a burst: as many Ethernet-sized ones as fit into 64 KiB.
const DEFAULT_BURST: usize = 44;
/// The shortest maximum datagram size, in bytes (RFC 9000 §14).
const MIN_DATAGRAM: u16 = 1200;

pub(super) struct ProtoEngine;

impl Engine for ProtoEngine {
    fn check(&self, knobs: &ArmKnobs) -> Result<(), PlanError> {
        if knobs.ack_every == Some(AckEvery::Auto) {
            let instead = "it takes a number of packets";
            return Err(PlanError::cannot("proto", "--ack-every auto", instead));
        }
        knobs.check_gso(MAX_SEGMENTS)
    }

    fn listen(
        &self,
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        let knobs = job.knobs;
        let tuned = Arc::new(transport(&knobs, SideRole::Server));
        let config = server_config(identity, knobs.cipher, tuned)?;
        let mirror = matches!(knobs.datagram, DatagramLength::Mirror(_)).then(|| {
            let config = config.clone();
            Box::new(move |length: u16| {
                let mut config = config.clone();
                let mirrored = ArmKnobs {
                    datagram: DatagramLength::Of(length.max(MIN_DATAGRAM)),
                    ..knobs
                };
                config.transport_config(Arc::new(transport(&mirrored, SideRole::Server)));
                config
            }) as Mirror
        });
        let machine = Machine::new(Some(config), mirror, burst(&knobs));
        Ok(Box::new(LoopServer::listen(at, machine, job)?))
    }

    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<SideReport, PerfError> {
        let knobs = &job.knobs;
        let tuned = Arc::new(transport(knobs, SideRole::Client));
        let config = client_config(trust, knobs.cipher, tuned)?;
        let mut machine = Machine::new(None, None, burst(knobs));
        let begun = (0..job.work.connections).map(|_| machine.connect(&config, to, NAME));
        let begun = begun.collect::<Result<_, _>>()?;
        drive(to, machine, begun, job)
    }
}

fn burst(knobs: &ArmKnobs) -> usize {
    knobs.gso.unwrap_or(DEFAULT_BURST)
}

fn transport(knobs: &ArmKnobs, role: SideRole) -> TransportConfig {
    let mut config = tuned(knobs);
    if let (DatagramLength::Mirror(bytes), SideRole::Client) = (knobs.datagram, role) {
        // Its first datagrams are padded to the minimum MTU that it assumes.
        config
            .initial_mtu(bytes)
            .min_mtu(bytes)
            .mtu_discovery_config(None);
    }
    config
}

#[cfg(test)]
mod tests {
    use crate::plan::Arm;

    #[test]
    fn knobs_that_it_lacks_are_refused() {
        for (text, reason) in [
            ("quic/proto+ackauto", "proto cannot do --ack-every auto"),
            ("quic/proto+gso65", "from 1 to 64"),
        ] {
            let arm: Arm = text.parse().unwrap();
            let error = arm.check().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        for text in ["quic/proto+gso44", "quic/proto+ack20+mirror"] {
            let arm: Arm = text.parse().unwrap();
            arm.check().unwrap();
        }
    }
}
