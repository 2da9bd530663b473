//! Observes the handshake bytes that TLS reads: they let TLS sessions outlive the process.

use std::fmt;

use rustls::Error;
use rustls::pki_types::CertificateDer;
use rustls::quic::Connection;

/// Observes the handshake of one connection.
pub trait HandshakeObserver: fmt::Debug + Send {
    /// Called for each reading. TLS reads the bytes when this calls [`HandshakeBytes::read`], or
    /// otherwise when it returns.
    fn on_handshake_bytes(&mut self, reading: &mut HandshakeBytes<'_>);
}

/// Handshake bytes that TLS is about to read. Calls continue each other: one level after the other,
/// each in order and without gaps. RFC 9001 §4.1.3.
pub struct HandshakeBytes<'a> {
    tls: &'a mut Connection,
    bytes: &'a [u8],
    outcome: Option<Result<(), Error>>,
}

impl<'a> HandshakeBytes<'a> {
    pub(crate) fn new(tls: &'a mut Connection, bytes: &'a [u8]) -> Self {
        Self {
            tls,
            bytes,
            outcome: None,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Lets TLS read the bytes, once.
    pub fn read(&mut self) {
        if self.outcome.is_none() {
            self.outcome = Some(self.tls.read_hs(self.bytes));
        }
    }

    /// The certificates that the peer has shown so far.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.tls.peer_certificates()
    }

    /// Reads the bytes, unless that has been done.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        self.read();
        self.outcome.unwrap_or(Ok(()))
    }
}

impl fmt::Debug for HandshakeBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandshakeBytes")
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
