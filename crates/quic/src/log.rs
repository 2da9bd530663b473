//! Logs of connections: every packet with its frames, and what recovery made of it.
//!
//! A program sets one [`Logger`], which is asked for a log when a connection begins. Without one,
//! a packet costs a comparison.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roundtrip_wire::quic::{ConnectionId, PacketKind, Parameters, Side, Version};

use crate::{CloseReason, Time};

static LOGGER: OnceLock<Arc<dyn Logger>> = OnceLock::new();

/// Makes the logs of connections.
pub trait Logger: fmt::Debug + Send + Sync {
    /// Opens the log of a connection; `None` leaves it without one.
    fn open(&self, at: Time, connection: &LoggedConnection) -> Option<Box<dyn ConnectionLog>>;
}

/// The log of one connection. The owner of the connection calls it synchronously.
pub trait ConnectionLog: fmt::Debug + Send {
    fn on_event(&mut self, at: Time, event: &LogEvent<'_>);
}

/// The facts known at the beginning of a connection.
#[derive(Debug, Clone)]
pub struct LoggedConnection {
    pub side: Side,
    pub version: Version,
    /// The destination of the client's first packet.
    pub original: ConnectionId,
    pub remote: SocketAddr,
    pub local: Option<IpAddr>,
}

/// What happens to a connection. No event holds keys.
#[derive(Debug)]
pub enum LogEvent<'a> {
    Sent(LoggedPacket<'a>),
    Received(LoggedPacket<'a>),
    /// A packet that could not be decrypted, or that is not kept although its keys are not
    /// available yet.
    Dropped {
        kind: PacketKind,
        length: usize,
        why: DropReason,
    },
    Lost {
        kind: PacketKind,
        number: u64,
    },
    /// The server requires the token of a Retry that came from this id. RFC 9000 §8.1.2.
    Retried {
        source: ConnectionId,
    },
    Parameters {
        is_local: bool,
        parameters: &'a Parameters,
    },
    Metrics(Metrics),
    /// The keys of this kind of packet are needed no longer. RFC 9001 §4.9.
    KeysDiscarded(PacketKind),
    Closed(&'a CloseReason),
}

/// A packet without its protection.
#[derive(Debug)]
pub struct LoggedPacket<'a> {
    pub kind: PacketKind,
    pub number: u64,
    /// Everything before the packet number. RFC 9000 §17.
    pub header: &'a [u8],
    /// The frames.
    pub payload: &'a [u8],
    /// The length of the packet with its protection, in bytes.
    pub length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    Undecryptable,
    NoKeys,
}

/// What recovery and congestion control know of the path. RFC 9002, appendices A.3 and B.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    pub min_rtt: Duration,
    pub smoothed_rtt: Duration,
    pub latest_rtt: Duration,
    pub rtt_variance: Duration,
    pub pto_count: u32,
    /// The congestion window in bytes; the next field is in bytes too.
    pub congestion_window: u64,
    pub bytes_in_flight: u64,
}

/// Has all connections of this process logged that begin from now on. The first call decides.
pub fn set_logger(logger: Arc<dyn Logger>) {
    let _ = LOGGER.set(logger);
}

/// The log of one connection, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Log {
    log: Option<Box<dyn ConnectionLog>>,
    metrics: Metrics,
}

impl Log {
    pub(crate) fn open(at: Time, connection: &LoggedConnection) -> Self {
        let log = LOGGER.get().and_then(|logger| logger.open(at, connection));
        Self {
            log,
            metrics: Metrics::default(),
        }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn write(&mut self, at: Time, event: &LogEvent<'_>) {
        if let Some(log) = &mut self.log {
            log.on_event(at, event);
        }
    }

    /// Writes the metrics if they have changed.
    pub(crate) fn write_metrics(&mut self, at: Time, metrics: Metrics) {
        if metrics != self.metrics {
            self.metrics = metrics;
            self.write(at, &LogEvent::Metrics(metrics));
        }
    }
}
