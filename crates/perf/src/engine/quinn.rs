//! Unmodified quinn: one runtime on the calling thread, and the knobs that it offers.

mod client;
mod server;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{
    AckFrequencyConfig, Connection, ConnectionStats, Endpoint, EndpointConfig, RecvStream,
    SendStream, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};

use super::tasks::{ClientConnection, ReceiveHalf, SendHalf, ServerConnection, runtime};
use super::{Engine, Job, ListeningServer, MAX_STREAMS, PEER_TIMEOUT, SideReport, WireCounters};
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Trust};
use crate::plan::{AckEvery, ArmKnobs, Congestion, DatagramLength};
use socket::{CountingSocket, SocketCalls};

pub(super) use client::config as client_config;
pub(super) use server::config as server_config;

/// The largest number of datagrams in a burst of quinn (`MAX_TRANSMIT_SEGMENTS`).
const MAX_BURST: usize = 10;
const DONE: VarInt = VarInt::from_u32(0);

pub(super) struct QuinnEngine;

impl Engine for QuinnEngine {
    fn check(&self, knobs: &ArmKnobs) -> Result<(), PlanError> {
        let cannot = |what: String, instead| Err(PlanError::cannot("quinn", what, instead));
        if knobs.ack_every == Some(AckEvery::Auto) {
            return cannot("--ack-every auto".into(), "it takes a number of packets");
        }
        if let DatagramLength::Mirror(_) = knobs.datagram {
            return cannot("--datagram mirror".into(), "it takes a size, or discover");
        }
        match knobs.gso {
            Some(burst) if burst > MAX_BURST => cannot(
                format!("--gso {burst}"),
                "its bursts have at most 10 datagrams",
            ),
            _ => knobs.check_gso(MAX_BURST),
        }
    }

    fn listen(
        &self,
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        Ok(Box::new(server::QuinnServer::listen(at, identity, job)?))
    }

    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<SideReport, PerfError> {
        runtime()?.block_on(client::drive(to, trust, job))
    }
}

/// Must be called within a runtime.
fn endpoint(
    at: SocketAddr,
    server: Option<ServerConfig>,
    knobs: &ArmKnobs,
) -> Result<(Endpoint, Arc<SocketCalls>), PerfError> {
    let opening = || {
        let (socket, calls) = CountingSocket::bind(at, knobs.gso)?;
        let runtime = Arc::new(TokioRuntime);
        let config = EndpointConfig::default();
        let endpoint = Endpoint::new_with_abstract_socket(config, server, socket, runtime)?;
        Ok((endpoint, calls))
    };
    opening().map_err(|source| PerfError::Listen { at, source })
}

/// Applies the knobs, as far as they concern quinn-proto.
pub(super) fn tuned(knobs: &ArmKnobs) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(MAX_STREAMS.into())
        .max_idle_timeout(PEER_TIMEOUT.try_into().ok())
        .congestion_controller_factory(congestion(knobs.congestion));
    if let Some(AckEvery::Packets(packets)) = knobs.ack_every {
        // The threshold is the number of packets that need not be acknowledged at once
        // (draft-ietf-quic-ack-frequency §4).
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(packets.saturating_sub(1).into());
        config.ack_frequency_config(Some(frequency));
    }
    if let DatagramLength::Of(bytes) = knobs.datagram {
        config.initial_mtu(bytes).mtu_discovery_config(None);
    }
    if knobs.gso == Some(1) {
        config.enable_segmentation_offload(false);
    }
    config
}

fn congestion(control: Congestion) -> Arc<dyn ControllerFactory + Send + Sync> {
    match control {
        Congestion::Cubic => Arc::new(CubicConfig::default()),
        Congestion::Reno => Arc::new(NewRenoConfig::default()),
        Congestion::Bbr => Arc::new(BbrConfig::default()),
    }
}

/// The counters of a connection. quinn does not say which packets are retransmissions, nor what its
/// windows held back.
pub(super) fn wire(stats: &ConnectionStats) -> WireCounters {
    WireCounters {
        packets_sent: Some(stats.udp_tx.datagrams),
        packets_received: Some(stats.udp_rx.datagrams),
        acks_sent: Some(stats.frame_tx.acks),
        acks_received: Some(stats.frame_rx.acks),
        lost: Some(stats.path.lost_packets),
        retransmitted: None,
        // Counted by the socket, which connections share.
        send_calls: Some(0),
        receive_calls: Some(0),
        largest: Some(stats.path.current_mtu.into()),
        held_by_window: None,
    }
}

/// The counters of all connections of a side.
fn wires(connections: &[Connection], calls: &SocketCalls) -> WireCounters {
    let each = connections.iter().map(|one| wire(&one.stats()));
    let mut all = each.reduce(WireCounters::with).unwrap_or_default();
    (all.send_calls, all.receive_calls) = (Some(calls.sends()), Some(calls.receives()));
    all
}

impl ClientConnection for Connection {
    type To = SendStream;
    type From = RecvStream;

    async fn open(&self) -> Result<(SendStream, RecvStream), PerfError> {
        Ok(self.open_bi().await?)
    }
}

impl ServerConnection for Connection {
    type To = SendStream;
    type From = RecvStream;

    async fn accept(&mut self) -> Option<(SendStream, RecvStream)> {
        self.accept_bi().await.ok()
    }
}

impl SendHalf for SendStream {
    async fn send(&mut self, part: Bytes) -> Result<(), PerfError> {
        self.write_chunk(part).await.map_err(PerfError::broken)
    }

    fn finish(&mut self) -> Result<(), PerfError> {
        SendStream::finish(self).map_err(PerfError::broken)
    }
}

impl ReceiveHalf for RecvStream {
    async fn receive(&mut self, pieces: &mut [Bytes]) -> Result<Option<usize>, PerfError> {
        self.read_chunks(pieces).await.map_err(PerfError::broken)
    }
}
