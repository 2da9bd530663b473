//! QUIC connections: accepted, retried, ignored or refused as the knobs say, then passed to HTTP/3.
//! `own` uses our engine. `quinn` is an independent server to test clients against.

pub(crate) mod own;
#[cfg(feature = "peers")]
pub(crate) mod quinn;

use std::time::Duration;

use crate::{EarlyData, FaultPhase, Knobs};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The phases that QUIC combines into one handshake.
const BEFORE_REQUESTS: [FaultPhase; 3] =
    [FaultPhase::Accept, FaultPhase::Hello, FaultPhase::Handshake];

/// How to perform handshakes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandshakeConfig {
    #[cfg(feature = "peers")] // our own engine has its own place for it
    pub(crate) retry: bool,
    pub(crate) early_data: bool,
}

impl HandshakeConfig {
    pub(crate) fn from_knobs(knobs: &Knobs) -> Self {
        Self {
            #[cfg(feature = "peers")]
            retry: knobs.listen.quic_retry,
            early_data: knobs.tls.early_data != EarlyData::Off,
        }
    }
}
