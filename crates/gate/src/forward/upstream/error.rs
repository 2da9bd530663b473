//! Why there is no connection, and which answer the client gets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_tls::TlsError;

use crate::record::{Outcome, Reason};

#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    #[error("cannot connect to {server}: {source}")]
    Connect { server: Arc<str>, source: io::Error },
    #[error("{server} has no address: {why}")]
    Unnamed { server: Arc<str>, why: Arc<str> },
    #[error("the TLS handshake with {server} failed: {source}")]
    Tls { server: Arc<str>, source: TlsError },
    #[error("{server} does not speak HTTP/2: {source}")]
    H2 { server: Arc<str>, source: h2::Error },
    #[error("{server} chose {chosen} instead of HTTP/2")]
    Protocol { server: Arc<str>, chosen: String },
    #[error("{server} accepted no connection within {:.1} s", .within.as_secs_f64())]
    Silent { server: Arc<str>, within: Duration },
    #[error("all connections to '{upstream}' were in use for {:.1} s", .within.as_secs_f64())]
    Busy {
        upstream: Arc<str>,
        within: Duration,
    },
    #[error(
        "all connections to '{upstream}' are in use, and {waiting} requests are already waiting"
    )]
    Full { upstream: Arc<str>, waiting: usize },
    #[error("a server of '{upstream}' refused the request before it processed it")]
    Refused { upstream: Arc<str> },
    #[error("no server of '{upstream}' passes its checks")]
    NoneWell { upstream: Arc<str> },
}

impl UpstreamError {
    /// RFC 9110 §15.6.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Connect { .. }
            | Self::Unnamed { .. }
            | Self::Tls { .. }
            | Self::H2 { .. }
            | Self::Protocol { .. } => 502,
            Self::Busy { .. }
            | Self::Full { .. }
            | Self::Refused { .. }
            | Self::NoneWell { .. } => 503,
            Self::Silent { .. } => 504,
        }
    }

    /// How the exchange is recorded.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Busy { .. } | Self::Full { .. } => Outcome::PoolFull,
            Self::Refused { .. } => Outcome::BackendRefused,
            Self::Silent { .. } => Outcome::TimedOut,
            _ => Outcome::BackendGone,
        }
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::NoneWell { .. } => Reason::NoServer,
            Self::Busy { .. } | Self::Full { .. } => Reason::PoolFull,
            Self::Refused { .. } => Reason::BackendRefused,
            _ => Reason::Unreachable,
        }
    }

    /// The server's problem, for a line that already names the server.
    pub(crate) fn in_short(&self) -> String {
        match self {
            Self::Connect { source, .. } if source.kind() == io::ErrorKind::ConnectionRefused => {
                "refuses connections".into()
            }
            Self::Connect { source, .. } => format!("cannot be reached ({source})"),
            Self::Unnamed { why, .. } => format!("has no address ({why})"),
            Self::Tls { source, .. } => format!("fails the TLS handshake ({source})"),
            Self::H2 { .. } | Self::Protocol { .. } => "does not speak HTTP/2".into(),
            Self::Silent { .. } => "did not accept a connection in time".into(),
            Self::Busy { .. }
            | Self::Full { .. }
            | Self::Refused { .. }
            | Self::NoneWell { .. } => self.to_string(),
        }
    }

    /// Seconds for `Retry-After`, if another attempt may soon succeed.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        match self {
            Self::Busy { .. } | Self::Full { .. } | Self::Refused { .. } => Some(1),
            Self::NoneWell { .. } => Some(5),
            _ => None,
        }
    }
}
