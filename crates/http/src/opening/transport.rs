//! The gauges of a transport, which can be read while HTTP owns the transport.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roundtrip_model::{EarlyData, KeptFacts, QuicFacts, TcpFacts, TlsFacts};
use roundtrip_net::Gauge;

use crate::QuicGauge;

pub enum Transport {
    Tcp {
        gauge: Gauge,
        tls: Option<Arc<OnceLock<TlsFacts>>>,
    },
    Quic(Arc<QuicGauge>),
}

impl Transport {
    /// The path's round trip, as far as it is known.
    pub fn min_rtt(&self) -> Option<Duration> {
        match self {
            Self::Tcp { gauge, .. } => gauge.min_rtt(),
            Self::Quic(gauge) => gauge.min_rtt(),
        }
    }

    /// The transport's earlier activity, as far as the kernel reports it.
    pub fn past(&self) -> Option<KeptFacts> {
        match self {
            Self::Tcp { gauge, .. } => gauge.past(),
            Self::Quic(_) => None,
        }
    }

    pub fn tcp_facts(&self) -> Option<TcpFacts> {
        match self {
            Self::Tcp { gauge, .. } => Some(gauge.facts()),
            Self::Quic(_) => None,
        }
    }

    pub fn quic_facts(&self) -> Option<QuicFacts> {
        match self {
            Self::Tcp { .. } => None,
            Self::Quic(gauge) => Some(gauge.facts()),
        }
    }

    /// The handshake's facts, once it is complete.
    pub fn tls_facts(&self) -> Option<TlsFacts> {
        match self {
            Self::Tcp { tls, .. } => tls.as_ref().and_then(|f| f.get()).cloned(),
            Self::Quic(gauge) => Some(gauge.tls_facts()),
        }
    }

    /// The outcome of early data, once that is known.
    pub fn early_data(&self) -> EarlyData {
        match self {
            Self::Tcp { tls, .. } => {
                let facts = tls.as_ref().and_then(|f| f.get());
                facts.map_or(EarlyData::NotOffered, |facts| facts.early_data)
            }
            Self::Quic(gauge) => gauge.early_data(),
        }
    }

    pub fn is_quic(&self) -> bool {
        matches!(self, Self::Quic(_))
    }
}
