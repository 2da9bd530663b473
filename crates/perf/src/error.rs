//! Errors that prevent a measurement.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_path::WordError;

#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The request contradicts itself, or cannot be fulfilled here.
    #[error("{0}")]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Path(#[from] roundtrip_path::PathError),
    #[error("cannot keep a thread on CPU {core}: {source}; --pin names others, or none")]
    Pin { core: usize, source: io::Error },
    #[error("cannot listen at {at}: {source}")]
    Listen { at: SocketAddr, source: io::Error },
    #[error("cannot connect to {to}: {source}")]
    Connect { to: SocketAddr, source: io::Error },
    #[error(
        "cannot find {host}: {source}; write a name or an address, and a port if it is not the usual, as in HOST:PORT"
    )]
    Name { host: String, source: io::Error },
    #[error(
        "cannot use congestion control '{name}': {source}; an ordinary user may use what \
         /proc/sys/net/ipv4/tcp_allowed_congestion_control lists (--cc)"
    )]
    Congestion {
        name: &'static str,
        source: io::Error,
    },
    #[error("{doing}: {source}")]
    Io {
        doing: &'static str,
        source: io::Error,
    },
    #[error("cannot prepare TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[cfg(feature = "peers")]
    #[error("QUIC: {0}")]
    Connection(#[from] quinn::ConnectionError),
    #[cfg(feature = "peers")]
    #[error("cannot begin a QUIC connection: {0}")]
    Begin(#[from] quinn::ConnectError),
    #[cfg(feature = "peers")]
    #[error("QUIC by s2n-quic: {0}")]
    S2n(#[from] s2n_quic::connection::Error),
    #[error("a stream ended too early: {0}")]
    Stream(String),
    #[error("nothing came for {}: the peer has stopped, or cannot be reached", seconds(.0))]
    Silence(Duration),
    #[error("the server could not: {0}")]
    Peer(String),
    #[error("interrupted before anything was measured")]
    Interrupted,
    #[error("the other end violated the protocol: {0}")]
    Language(String),
}

/// Wrong usage, explained for the user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error(
        "`{text}` is not a way to carry bytes; an arm is tcp, tls or quic with knobs, as in quic+ack10+gso1"
    )]
    Arm { text: String },
    #[error("`{arm}`: {knob} does not apply to {transport}, only to {concerns}")]
    Foreign {
        arm: String,
        knob: &'static str,
        transport: &'static str,
        concerns: &'static str,
    },
    #[error("--{knob} applies to none of the arms, only to {concerns}")]
    Idle {
        knob: &'static str,
        concerns: &'static str,
    },
    #[error("{engine} cannot do {what}: {instead}")]
    Engine {
        engine: &'static str,
        what: String,
        instead: &'static str,
    },
    #[error("this program was built without the engine {0}; build it with --features peers")]
    Absent(&'static str),
    #[error("{what} must be from {least} to {most}, not {given}")]
    Range {
        what: &'static str,
        least: u64,
        most: u64,
        given: u64,
    },
    #[error("the arm `{0}` is given twice")]
    Twice(String),
    #[error("{one} and {other} exclude each other: {why}")]
    Contradiction {
        one: &'static str,
        other: &'static str,
        why: &'static str,
    },
    #[error("this process may not run on CPU {core}; allowed: {allowed}")]
    Core { core: usize, allowed: String },
    #[error("the path is not valid: --{0}")]
    Word(#[from] WordError),
    #[error("`{text}` is not a valid {what}; {how}")]
    Value {
        what: &'static str,
        text: String,
        how: &'static str,
    },
}

impl PerfError {
    /// Whether the error is the user's mistake.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Plan(_))
    }

    /// An error of a stream, or of its connection.
    pub(crate) fn broken(error: impl std::fmt::Display) -> Self {
        Self::Stream(error.to_string())
    }

    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

fn seconds(time: &Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

impl PlanError {
    /// The error if an engine does not support something; it says what to use instead.
    pub(crate) fn cannot(
        engine: &'static str,
        what: impl Into<String>,
        instead: &'static str,
    ) -> Self {
        Self::Engine {
            engine,
            what: what.into(),
            instead,
        }
    }
}
