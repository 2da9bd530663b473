//! The engines that carry the bytes: one for each implementation of each transport.
//!
//! An engine works on the calling thread, and on threads that inherit its core and its network.
//! Both sides count their payload in a [`Pulse`] that others may watch, and report a [`SideReport`]
//! from the first payload to the last: handshakes are not included.

#[cfg(not(feature = "peers"))]
mod absent;
mod channel;
mod lanes;
mod own;
#[cfg(feature = "peers")]
mod proto;
#[cfg(feature = "peers")]
mod quinn;
#[cfg(feature = "peers")]
mod s2n;
#[cfg(feature = "peers")]
mod tasks;
mod tcp;
mod tls;
mod turns;

use std::net::SocketAddr;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use roundtrip_model::Histogram;
use serde::{Deserialize, Serialize};

use crate::account::Usage;
use crate::error::{PerfError, PlanError};
use crate::identity::{ServerIdentity, Trust};
use crate::plan::{self, ArmKnobs, Work};

/// How long a side waits for the other one.
pub(crate) const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest number of streams of a connection; more than any work has lanes.
const MAX_STREAMS: u32 = 20_000;

/// One implementation of one transport.
pub trait Engine: Sync {
    /// Refuses a knob that this engine does not have: knobs are never ignored silently.
    fn check(&self, knobs: &ArmKnobs) -> Result<(), PlanError>;

    /// Listens. The calling thread will serve.
    fn listen(
        &self,
        at: SocketAddr,
        identity: &ServerIdentity,
        job: &Job,
    ) -> Result<Box<dyn ListeningServer>, PerfError>;

    /// Runs the client's side: connects, does the work, and returns when it is done.
    fn drive(&self, to: SocketAddr, trust: &Trust, job: &Job) -> Result<SideReport, PerfError>;
}

/// A server that listens.
pub trait ListeningServer {
    fn address(&self) -> SocketAddr;

    /// Serves the connections of one client, on the calling thread, until they have ended.
    fn serve(self: Box<Self>) -> Result<SideReport, PerfError>;
}

/// What both sides of a measurement know.
#[derive(Clone, Debug)]
pub struct Job {
    pub work: Work,
    pub knobs: ArmKnobs,
    /// The core that the side is pinned to, if any.
    pub core: Option<usize>,
    /// Counts the payload that was received.
    pub pulse: Pulse,
}

/// A counter of bytes that other threads can watch.
#[derive(Clone, Debug, Default)]
pub struct Pulse(Arc<AtomicU64>);

/// What one side did, and what it cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SideReport {
    pub sent: u64,
    pub received: u64,
    pub usage: Usage,
    pub wire: WireCounters,
    /// The latencies of requests; only the client knows them.
    #[serde(skip)]
    pub latencies: Histogram,
}

/// The bytes and packets that were sent and received for it, during the whole life of the
/// connections. `None` if an engine does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireCounters {
    pub packets_sent: Option<u64>,
    pub packets_received: Option<u64>,
    /// Acknowledgements: TCP segments without data, QUIC's ACK frames.
    pub acks_sent: Option<u64>,
    pub acks_received: Option<u64>,
    /// Packets that the sender considered lost.
    pub lost: Option<u64>,
    pub retransmitted: Option<u64>,
    /// System calls that sent, and that received.
    pub send_calls: Option<u64>,
    pub receive_calls: Option<u64>,
    /// The largest payload of a segment (TCP) or of a datagram (QUIC), in bytes.
    pub largest: Option<u64>,
    /// Whether a window (the receiver's window or the sender's buffer) limited the sender most of
    /// the time.
    pub held_by_window: Option<bool>,
}

/// The engine with this name.
pub(crate) fn by_name(engine: plan::EngineName) -> &'static dyn Engine {
    match engine {
        plan::EngineName::Kernel => &tcp::TcpEngine,
        plan::EngineName::Rustls => &tls::TlsEngine,
        plan::EngineName::Own => &own::OwnEngine,
        #[cfg(feature = "peers")]
        plan::EngineName::Proto => &proto::ProtoEngine,
        #[cfg(feature = "peers")]
        plan::EngineName::Quinn => &self::quinn::QuinnEngine,
        #[cfg(feature = "peers")]
        plan::EngineName::S2n => &s2n::S2nEngine,
        #[cfg(not(feature = "peers"))]
        plan::EngineName::Proto => &absent::PROTO,
        #[cfg(not(feature = "peers"))]
        plan::EngineName::Quinn => &absent::QUINN,
        #[cfg(not(feature = "peers"))]
        plan::EngineName::S2n => &absent::S2N,
    }
}

impl Pulse {
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Adds threads or connections of one side, which worked at the same time.
impl AddAssign for SideReport {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.usage = self.usage + other.usage;
        self.wire = self.wire.with(other.wire);
        self.latencies.extend(&other.latencies);
    }
}

impl WireCounters {
    /// Sums counters; `None` unless both are known.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Self {
            packets_sent: sum(self.packets_sent, other.packets_sent),
            packets_received: sum(self.packets_received, other.packets_received),
            acks_sent: sum(self.acks_sent, other.acks_sent),
            acks_received: sum(self.acks_received, other.acks_received),
            lost: sum(self.lost, other.lost),
            retransmitted: sum(self.retransmitted, other.retransmitted),
            send_calls: sum(self.send_calls, other.send_calls),
            receive_calls: sum(self.receive_calls, other.receive_calls),
            largest: self.largest.max(other.largest),
            held_by_window: match (self.held_by_window, other.held_by_window) {
                (Some(one), Some(other)) => Some(one && other),
                _ => None,
            },
        }
    }
}

/// Adds up all sides, if there is at least one.
pub(crate) fn together(sides: impl IntoIterator<Item = SideReport>) -> SideReport {
    let mut sides = sides.into_iter();
    let mut whole = sides.next().unwrap_or_default();
    for side in sides {
        whole += side;
    }
    whole
}
