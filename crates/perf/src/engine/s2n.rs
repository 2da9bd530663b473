//! Unmodified s2n-quic: one runtime on the calling thread, and the knobs that it offers. Windows,
//! pacing and acknowledgements are its defaults; the TLS below it is ours, as with every engine.

mod client;
mod server;
mod tally;

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use s2n_quic::connection::Handle;
use s2n_quic::provider::io::tokio::Provider as Io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::stream::{ReceiveStream, SendStream};

use super::tasks::{ClientConnection, ReceiveHalf, SendHalf, ServerConnection, runtime};
use super::{Engine, Job, ListeningServer, MAX_STREAMS, PEER_TIMEOUT, SideReport};
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Trust};
use crate::plan::{ArmKnobs, Congestion, DatagramLength};

/// The length of a burst unless bursts are off (`MAX_BURST_PACKETS`); nothing in between is
/// possible.
const BURST: usize = 10;
/// The bytes of an MTU that are not part of a datagram, as s2n-quic counts.
const BELOW_IPV4: u16 = 8 + 20;
const BELOW_IPV6: u16 = 8 + 40;

pub(super) struct S2nEngine;

impl Engine for S2nEngine {
    fn check(&self, knobs: &ArmKnobs) -> Result<(), PlanError> {
        let cannot = |what: String, instead| Err(PlanError::cannot("s2n", what, instead));
        if let Some(every) = knobs.ack_every {
            return cannot(
                format!("--ack-every {every}"),
                "it acknowledges ten packets at once, and requests nothing of its peer; omit it",
            );
        }
        if let DatagramLength::Mirror(_) = knobs.datagram {
            return cannot("--datagram mirror".into(), "it takes a size, or discover");
        }
        if knobs.congestion == Congestion::Reno {
            return cannot("--cc reno".into(), "it has cubic and bbr");
        }
        match knobs.gso {
            None | Some(1 | BURST) => Ok(()),
            Some(burst) => cannot(
                format!("--gso {burst}"),
                "it sends 10 datagrams in a burst, or one with --gso 1",
            ),
        }
    }

    fn listen(
        &self,
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError> {
        Ok(Box::new(server::S2nServer::listen(at, identity, job)?))
    }

    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<SideReport, PerfError> {
        runtime()?.block_on(client::drive(to, trust, job))
    }
}

/// A socket of the peer's address family.
fn socket(at: SocketAddr, knobs: &ArmKnobs) -> io::Result<Io> {
    let mut io = Io::builder()
        .with_receive_address(at)?
        .with_gso(knobs.gso != Some(1))?;
    if let DatagramLength::Of(bytes) = knobs.datagram {
        let below = if at.is_ipv4() { BELOW_IPV4 } else { BELOW_IPV6 };
        let mtu = bytes.saturating_add(below);
        io = io
            .with_max_mtu(mtu)?
            .with_initial_mtu(mtu)?
            .with_base_mtu(mtu)?;
    }
    io.build()
}

/// Allows enough streams for any work, and a timeout; everything else is the default.
fn limits() -> io::Result<Limits> {
    let limits = Limits::new()
        .with_max_idle_timeout(PEER_TIMEOUT)
        .and_then(|limits| limits.with_max_open_local_bidirectional_streams(MAX_STREAMS.into()))
        .and_then(|limits| limits.with_max_open_remote_bidirectional_streams(MAX_STREAMS.into()));
    limits.map_err(io::Error::other)
}

/// Starts an endpoint of either side: both builders have the same methods, but no common trait.
macro_rules! started {
    ($builder:expr, $tls:expr, $at:expr, $knobs:expr, $tally:expr) => {{
        use s2n_quic::provider::congestion_controller::{Bbr, Cubic};

        let begun = $builder
            .with_tls($tls)
            .map_err(io::Error::other)?
            .with_io(super::socket($at, $knobs)?)
            .map_err(io::Error::other)?
            .with_limits(super::limits()?)
            .map_err(io::Error::other)?
            .with_event(super::tally::S2nEvents($tally))
            .map_err(io::Error::other)?;
        let started = match $knobs.congestion {
            crate::plan::Congestion::Bbr => begun
                .with_congestion_controller(Bbr::default())
                .map_err(io::Error::other)?
                .start(),
            _ => begun
                .with_congestion_controller(Cubic::default())
                .map_err(io::Error::other)?
                .start(),
        };
        started.map_err(io::Error::other)
    }};
}
use started;

impl ClientConnection for Handle {
    type To = SendStream;
    type From = ReceiveStream;

    async fn open(&self) -> Result<(SendStream, ReceiveStream), PerfError> {
        let (from, to) = self.clone().open_bidirectional_stream().await?.split();
        Ok((to, from))
    }
}

impl ServerConnection for s2n_quic::Connection {
    type To = SendStream;
    type From = ReceiveStream;

    async fn accept(&mut self) -> Option<(SendStream, ReceiveStream)> {
        let (from, to) = self.accept_bidirectional_stream().await.ok()??.split();
        Some((to, from))
    }
}

impl SendHalf for SendStream {
    async fn send(&mut self, part: Bytes) -> Result<(), PerfError> {
        SendStream::send(self, part)
            .await
            .map_err(PerfError::broken)
    }

    fn finish(&mut self) -> Result<(), PerfError> {
        SendStream::finish(self).map_err(PerfError::broken)
    }
}

impl ReceiveHalf for ReceiveStream {
    async fn receive(&mut self, pieces: &mut [Bytes]) -> Result<Option<usize>, PerfError> {
        let received = self.receive_vectored(pieces).await;
        let (n, is_open) = received.map_err(PerfError::broken)?;
        Ok((n > 0 || is_open).then_some(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The engine's events do not show bursts: one of its calls sends several of them.
    #[test]
    fn bursts_are_its_own_or_none() {
        let described = |gso| {
            let knobs = ArmKnobs {
                gso,
                ..ArmKnobs::default()
            };
            let at = "127.0.0.1:0".parse().unwrap();
            format!("{:?}", socket(at, &knobs).unwrap())
        };
        assert!(described(None).contains(&format!("MaxSegments({BURST})")));
        assert_eq!(described(None), described(Some(BURST)));
        assert!(described(Some(1)).contains("MaxSegments(1)"));
    }
}
