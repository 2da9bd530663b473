//! The facts that an observer appends to a [`Timeline`](crate::Timeline) during an exchange.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

/// One fact. The timeline stores its time beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The client begins to look up the target's addresses.
    LookupStarted,
    /// The addresses are known.
    LookupFinished,
    /// A connection attempt begins (one of several, with Happy Eyeballs).
    AttemptStarted {
        peer: SocketAddr,
    },
    AttemptFailed {
        peer: SocketAddr,
    },
    /// The transport can carry bytes. With `deferred`, no SYN has been sent yet: fast open holds it
    /// back for the first write.
    Connected {
        peer: SocketAddr,
        deferred: bool,
    },
    /// The SYN-ACK of a fast-open connection arrived and acknowledged `data_acked` of `data_sent`
    /// bytes.
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
    /// The server rejected the early data; its content is sent again after the handshake.
    EarlyDataRefused,
    RequestStarted,
    /// The last byte of the request was handed to the kernel.
    RequestSent,
    /// The first byte of the response arrived.
    FirstByte,
    /// The head of the final response arrived. It comes later than the first byte if interim
    /// responses (1xx) preceded it.
    Answered,
    /// The exchange is over, successfully or not.
    Finished,
    /// Bytes handed to the kernel.
    Sent {
        bytes: u64,
    },
    /// Bytes that arrived, at the time when the kernel received them, if it tells.
    Received {
        bytes: u64,
    },
    /// The next bytes answer something of which the kernel had to retransmit this many segments.
    /// For `unacked` of the wait, some of what had been sent was not acknowledged.
    Resent {
        segments: u32,
        unacked: Duration,
    },
    /// The next bytes were lost or late: this many segments that follow them in the stream had
    /// arrived before. One of those had arrived this long before.
    Overtaken {
        segments: u32,
        late: Duration,
    },
    /// A flight is over: this many segments arrived without a pause, and then nothing for a while.
    /// The client's receive window allows the peer this many bytes at once, if the kernel tells.
    Paused {
        segments: u64,
        bytes: u64,
        window: Option<u64>,
    },
    /// The flight ended in the middle of a TLS record, so its sender had the rest ready as well.
    CutOff,
    /// When the flight was over, the client had not acknowledged its last segments yet: it does so
    /// later, or with what it sends next (RFC 1122 §4.2.3.2).
    AckDelayed,
    /// A TLS record of so many bytes began to arrive, and nothing of it could be read yet.
    RecordBegan {
        bytes: u64,
    },
    /// The peer's acknowledgement arrived of bytes that had left this long before, and of everything
    /// before them; and how long before they had left again, if they did. The kernel's times, on both
    /// ends.
    Acknowledged {
        after: Duration,
        again: Option<Duration>,
    },
    /// What had been handed to the kernel this long before left the host only now.
    HeldBack {
        took: Duration,
    },
    /// Segments arrived behind a gap in the stream, and the kernel keeps them until it is filled.
    /// `short` says that none of them was full.
    GapOpened {
        segments: u32,
        short: bool,
    },
    /// Before the next bytes, this many packets of the peer's did not come: QUIC numbers them. They
    /// were lost or are late; now and then a sender leaves a number out.
    Missed {
        packets: u64,
    },
    /// The client could have run for this long before this moment, and did not: others had the
    /// processors, or a quota was used up.
    Starved {
        took: Duration,
        throttled: bool,
    },
    /// The client computed; the event is recorded at the end of the work.
    Worked {
        task: Task,
        took: Duration,
    },
}

/// Work that the client does between packets.
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
    /// Everything else that the TLS library does with received bytes.
    Decrypt,
    /// Writing the body to where the user wants it; nothing is read meanwhile.
    Write,
}

impl Task {
    pub const ALL: [Self; 6] = [
        Self::Configure,
        Self::LoadRoots,
        Self::GenerateKeys,
        Self::Verify,
        Self::Decrypt,
        Self::Write,
    ];

    /// The name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::LoadRoots => "load_roots",
            Self::GenerateKeys => "generate_keys",
            Self::Verify => "verify",
            Self::Decrypt => "decrypt",
            Self::Write => "write",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::LoadRoots => "load roots",
            Self::GenerateKeys => "generate keys",
            other => other.as_str(),
        }
    }
}
