//! The facts that an observer appends to a [`Timeline`](crate::Timeline) during an exchange.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

/// One fact. The timeline stores its time beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The client begins to look up the addresses of the target.
    LookupStarted,
    /// The lookup has finished: the addresses are known.
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
    /// The client asked a proxy for a tunnel, and the proxy opened it.
    TunnelStarted,
    TunnelReady,
    /// The TLS or QUIC handshake, from the first generated key until the peer is authenticated.
    HandshakeStarted,
    HandshakeFinished,
    /// The server rejected the early data; the client sends its content again after the handshake.
    EarlyDataRefused,
    RequestStarted,
    /// The last byte of the request was handed to the kernel.
    RequestSent,
    /// The first byte of the response arrived.
    FirstByte,
    /// The head of the final response arrived. It comes later than the first byte if interim
    /// responses (1xx) preceded it.
    Answered,
    /// The exchange has ended, successfully or not.
    Finished,
    /// Bytes handed to the kernel.
    Sent {
        bytes: u64,
    },
    /// Bytes that arrived, with the time at which the kernel received them, if it reports that.
    Received {
        bytes: u64,
    },
    /// The peer ended its stream, and the client had waited for that.
    StreamEnded,
    /// The next bytes answer data of which the kernel had to retransmit this many segments. During
    /// `unacked` of the wait, some of the sent data was not acknowledged.
    Resent {
        segments: u32,
        unacked: Duration,
    },
    /// The next bytes were lost or late: this many segments that follow them in the stream had
    /// already arrived, one of them this long before.
    Overtaken {
        segments: u32,
        late: Duration,
    },
    /// A flight has ended: this many segments arrived without a pause, and then nothing arrived for
    /// a while. The client's receive window allows the peer this many bytes at once, if the kernel
    /// reports it.
    Paused {
        segments: u64,
        bytes: u64,
        window: Option<u64>,
    },
    /// The flight ended in the middle of a TLS record, or of clear text with a full segment, so the
    /// sender already had the rest.
    CutOff,
    /// When the flight had ended, the client had not yet acknowledged its last segments. It
    /// acknowledges them later, or together with the next data that it sends (RFC 1122 §4.2.3.2).
    AckDelayed,
    /// A TLS record of this many bytes began to arrive, but could not be decrypted yet.
    RecordBegan {
        bytes: u64,
    },
    /// The peer's acknowledgement arrived. It covers bytes that had left this long before, and all
    /// bytes before them. The second time says how long before they were retransmitted, if they
    /// were. Both times come from the kernel.
    Acknowledged {
        after: Duration,
        again: Option<Duration>,
    },
    /// The acknowledgement that arrives now left the peer late, as its own clock shows, or a
    /// capture beside it: the peer may have delayed it on purpose (RFC 1122 §4.2.3.2), and longer
    /// than usual because it was busy.
    AckLeftLate,
    /// Data that was handed to the kernel this long ago left the host only now.
    HeldBack {
        took: Duration,
    },
    /// Segments arrived behind a gap in the stream, and the kernel keeps them until the gap is
    /// filled. `short` is true if none of them was full.
    GapOpened {
        segments: u32,
        short: bool,
    },
    /// Before the next bytes, this many of the peer's packets did not arrive. Over QUIC, the packet
    /// numbers show it: they were lost or are late; occasionally a sender skips a number. Over TCP,
    /// a capture shows it: by now they were due, and what they carried was sent again.
    Missed {
        packets: u64,
    },
    /// The next bytes left the peer this long after the bytes before them, or after the peer had
    /// what they answer: a capture saw it, or the peer's clock in its timestamps shows it.
    Departed {
        after: Duration,
    },
    /// The client was ready to run for this long before this moment but did not run: other programs
    /// had the processors, or a quota was used up.
    Starved {
        took: Duration,
        throttled: bool,
    },
    /// The client's receive window had no room for this long before this moment: the program did
    /// not read.
    WindowClosed {
        took: Duration,
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
    /// Writing the body to the user's output; nothing is read meanwhile.
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
