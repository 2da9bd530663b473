//! The facts an observer appends to a [`Timeline`](crate::Timeline) while an exchange runs.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

/// One fact. Its time stands beside it in the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The client begins to ask for the target's addresses.
    LookupStarted,
    /// The addresses are known.
    LookupFinished,
    /// A connection attempt leaves (one of several, with Happy Eyeballs).
    AttemptStarted {
        peer: SocketAddr,
    },
    AttemptFailed {
        peer: SocketAddr,
    },
    /// The transport can carry bytes. With `deferred`, no SYN has left yet: fast open holds it for the first write.
    Connected {
        peer: SocketAddr,
        deferred: bool,
    },
    /// The SYN-ACK of a fast-open connection came and acknowledged `data_acked` of `data_sent` bytes.
    SynAcked {
        data_sent: u64,
        data_acked: u64,
    },
    /// A proxy was asked for a tunnel, and has opened it.
    TunnelStarted,
    TunnelReady,
    /// The TLS or QUIC handshake: from the first key generated to the peer proven.
    HandshakeStarted,
    HandshakeFinished,
    /// The server did not take the early data; what it held is sent again after the handshake.
    EarlyDataRefused,
    RequestStarted,
    /// The last byte of the request was handed to the kernel.
    RequestSent,
    /// The first byte of the response arrived.
    FirstByte,
    /// The exchange is over, well or badly.
    Finished,
    /// Bytes handed to the kernel.
    Sent {
        bytes: u64,
    },
    /// Bytes that arrived, at the time the kernel received them where it tells.
    Received {
        bytes: u64,
    },
    /// The bytes that come next answer something of which the kernel had to send so many segments again. For `unacked`
    /// of the wait, not all that had been sent was acknowledged.
    Resent {
        segments: u32,
        unacked: Duration,
    },
    /// So many segments had come before what comes now, which they follow: it was lost, or late. One of them had come so
    /// long before.
    Overtaken {
        segments: u32,
        late: Duration,
    },
    /// A flight is over: this many segments had come without a pause, and then nothing for a while.
    Paused {
        segments: u64,
        bytes: u64,
    },
    /// The flight ended in the middle of a TLS record: whoever sealed it had handed over the rest as well.
    CutOff,
    /// The client computed; the event stands at the end of the work.
    Worked {
        task: Task,
        took: Duration,
    },
}

/// Work that a client does between packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Building the TLS configuration.
    Configure,
    /// Reading the trusted certificates.
    LoadRoots,
    /// Generating key shares and the first flight.
    GenerateKeys,
    /// Verifying the certificate chain and its signature.
    Verify,
    /// Everything else the TLS library did with received bytes.
    Decrypt,
}

impl Task {
    pub const ALL: [Self; 5] = [
        Self::Configure,
        Self::LoadRoots,
        Self::GenerateKeys,
        Self::Verify,
        Self::Decrypt,
    ];

    /// For programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::LoadRoots => "load_roots",
            Self::GenerateKeys => "generate_keys",
            Self::Verify => "verify",
            Self::Decrypt => "decrypt",
        }
    }

    /// The same, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::LoadRoots => "load roots",
            Self::GenerateKeys => "generate keys",
            other => other.as_str(),
        }
    }
}
