//! Why an origin could not be started. Later errors of a connection are counted, not reported here.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    #[error("cannot listen on {address} port {port}: {source}")]
    Listen {
        address: IpAddr,
        port: u16,
        source: io::Error,
    },
    #[error("no address to listen on was given")]
    NoAddress,
    #[error("cannot make the certificates: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("cannot set up the verification of client certificates: {0}")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
    #[cfg(feature = "peers")]
    #[error("HTTP/3 needs TLS 1.3 with one of its cipher suites: {0}")]
    Quic(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
    #[error("quinn is not in this program; build it with --features peers")]
    NoQuinn,
    #[error("early data needs tickets that the server remembers (tickets: stateful), not {0}")]
    EarlyDataNeedsTickets(crate::Tickets),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot start the runtime or its thread: {0}")]
    Runtime(io::Error),
    #[error("the origin's thread ended before it was ready")]
    ThreadEnded,
}
