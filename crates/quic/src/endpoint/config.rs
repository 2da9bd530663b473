//! The configuration of an endpoint, for the connections that it makes and accepts.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use roundtrip_wire::quic::Version;
use rustls::server::StoresServerSessions;

use crate::{HandshakeObserver, Transport};

/// The configuration of one or more client connections.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// TLS 1.3, and the application protocols.
    pub tls: Arc<rustls::ClientConfig>,
    pub transport: Arc<Transport>,
    /// A token from an earlier connection to the same server; valid for one connection. RFC 9000
    /// §8.1.3.
    pub token: Option<Bytes>,
    /// A ticket of one version is not accepted in another, so each version needs a separate TLS
    /// configuration. RFC 9369 §5.
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
    /// How many tokens a client gets once its address is validated; each validates the address for
    /// one later connection. RFC 9000 §8.1.3.
    pub tokens: u8,
    /// The largest number of client connections at once, without those that have ended; further
    /// clients are refused.
    pub most_connections: usize,
    /// The key that seals address tokens. Other endpoints with the same key, in any process, at the
    /// same time or later, accept the tokens. `None`: the key is derived from the endpoint's seed.
    /// An endpoint keeps the key that it began with.
    pub key: Option<[u8; 32]>,
    /// Shows clients' hellos to the owner, and withholds them from TLS until
    /// [`crate::Connection::proceed`]. Until then, at most 64 KiB of a client's hello and 16 KiB of
    /// its early data are kept.
    pub holds: bool,
    /// Where each client's TLS sessions are stored. `None`: where the TLS configuration says.
    pub sessions: Option<Arc<dyn SessionStorage>>,
}

/// Knows where TLS sessions are stored, client by client.
pub trait SessionStorage: Debug + Send + Sync {
    /// The storage for one connection; `client` is the address that it began with.
    fn for_connection(&self, client: IpAddr) -> Arc<dyn StoresServerSessions>;
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
            sessions: None,
        }
    }
}

/// One of several endpoints at the same address. A datagram's source address decides which of them
/// gets it, and that can change. The endpoints can read each other's connection ids, and hand over
/// datagrams that belong to another.
#[derive(Debug, Clone, Copy)]
pub struct Sibling {
    /// The key of ids and of stateless resets. Choose a random one for each group of endpoints that
    /// hand datagrams to each other: an endpoint that has the key, but not the state of the
    /// connections, could end them. RFC 9000 §21.11.
    pub key: [u8; 32],
    /// The number of this endpoint.
    pub number: u16,
    /// The number of endpoints.
    pub count: u16,
}

/// When a client has to validate its address before it gets a connection. RFC 9000 §8.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    Always,
    /// Validates while this many clients have not validated their address, including those whose
    /// connection has ended but is not [removed](crate::Endpoint::remove), or while as many arrived
    /// within a quarter of a second and did not validate theirs.
    AboveHandshakes(usize),
}
