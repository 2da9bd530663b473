//! What an endpoint is told about the connections it makes and takes.

use std::sync::Arc;

use bytes::Bytes;
use roundtrip_wire::quic::Version;

use crate::{HandshakeObserver, Transport};

/// The configuration of one or several connections of a client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// TLS 1.3, and the application protocols.
    pub tls: Arc<rustls::ClientConfig>,
    pub transport: Arc<Transport>,
    /// From an earlier connection to the same server; good for one connection. RFC 9000 §8.1.3.
    pub token: Option<Bytes>,
    /// Tickets of one version are not taken in another: each has a TLS configuration of its own.
    /// RFC 9369 §5.
    pub version: Version,
    /// Makes the observer of each connection's handshake.
    pub observer: Option<fn() -> Box<dyn HandshakeObserver>>,
}

impl ClientConfig {
    pub fn new(tls: Arc<rustls::ClientConfig>, transport: Arc<Transport>) -> Self {
        Self {
            tls,
            transport,
            token: None,
            version: Version::V1,
            observer: None,
        }
    }
}

/// The configuration of all connections that one endpoint accepts.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub tls: Arc<rustls::ServerConfig>,
    pub transport: Arc<Transport>,
    pub retry: Retry,
    /// How many tokens a client gets once its address is proved; each proves it for one of its next
    /// connections. RFC 9000 §8.1.3.
    pub tokens: u8,
    /// How many connections of clients there may be at once; clients beyond that are refused.
    pub most_connections: usize,
    /// The key that seals address tokens. Endpoints beside this one, in whatever process, and one
    /// that comes after it take its tokens if they have the same key. None: it comes from the
    /// endpoint's seed. An endpoint keeps the key that it began with.
    pub key: Option<[u8; 32]>,
    /// Shows clients' hellos to the owner, and keeps them from TLS until
    /// [`crate::Connection::proceed`]. Until then, at most 64 KiB of a client's hello and 16 KiB of
    /// its early data are kept.
    pub holds: bool,
}

impl ServerConfig {
    pub fn new(tls: Arc<rustls::ServerConfig>, transport: Arc<Transport>) -> Self {
        Self {
            tls,
            transport,
            retry: Retry::AboveHandshakes(1000),
            tokens: 1,
            most_connections: 100_000,
            key: None,
            holds: false,
        }
    }
}

/// One of several endpoints that the same clients reach: which of them gets a datagram is decided
/// by addresses, which change. They read each other's connection ids, and hand over what is not
/// theirs.
#[derive(Debug, Clone, Copy)]
pub struct Sibling {
    /// The key of ids and of stateless resets. To be drawn anew for each group of endpoints that
    /// hand over: who has it, and not the state of its connections, could end them. RFC 9000
    /// §21.11.
    pub key: [u8; 32],
    /// Which of them this is.
    pub number: u16,
    /// How many there are.
    pub count: u16,
}

/// When a client has to prove its address before it gets a connection. RFC 9000 §8.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    Always,
    /// While this many clients have not proved theirs, those that have ended included until they
    /// are [removed](crate::Endpoint::remove); or while as many came within a quarter of a second
    /// and never proved theirs, whatever became of them.
    AboveHandshakes(usize),
}
