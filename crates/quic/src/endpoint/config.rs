//! What an endpoint is told about the connections it makes and takes.

use std::sync::Arc;

use bytes::Bytes;
use roundtrip_wire::quic::Version;

use crate::{Ear, Transport};

/// For one connection, or several, of a client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// TLS 1.3, and the application protocols.
    pub tls: Arc<rustls::ClientConfig>,
    pub transport: Arc<Transport>,
    /// From an earlier connection to the same server; good for one connection. RFC 9000 §8.1.3.
    pub token: Option<Bytes>,
    pub version: Version,
    /// Makes who listens to TLS, for each connection.
    pub ear: Option<fn() -> Box<dyn Ear>>,
}

impl ClientConfig {
    pub fn new(tls: Arc<rustls::ClientConfig>, transport: Arc<Transport>) -> Self {
        Self {
            tls,
            transport,
            token: None,
            version: Version::V1,
            ear: None,
        }
    }
}

/// For all connections that one endpoint takes.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub tls: Arc<rustls::ServerConfig>,
    pub transport: Arc<Transport>,
    pub retry: Retry,
    /// Clients whose address is proved get so many tokens, each of which proves it for one of their next connections.
    /// RFC 9000 §8.1.3.
    pub tokens: u8,
    /// Clients beyond that are refused.
    pub most_connections: usize,
    /// Seals tokens and makes the tokens of stateless resets, so that endpoints beside this one, and one that comes after
    /// it, take its tokens and can reset what it had forgotten; none: from the endpoint's own seed. What counts is what an
    /// endpoint began with.
    pub key: Option<[u8; 32]>,
    /// Clients' hellos are shown to the owner, and kept from TLS until [`crate::Connection::proceed`]. So much is kept of a
    /// client until then: 64 KiB of its hello, and 16 KiB of early data.
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

/// When a client has to prove its address before it gets a connection. RFC 9000 §8.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    Always,
    /// While so many clients have not proved theirs.
    AboveHandshakes(usize),
}
