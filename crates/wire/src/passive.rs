//! Reads the connections of others as a capture shows them: what each side sent, with gaps, in the
//! order of the capture. Violations are skipped: the peers themselves accepted them.
//!
//! [`TlsReader`] and [`QuicReader`] open connections whose secrets a
//! [`KeyLog`](crate::key_log::KeyLog) has; [`Http1Reader`], [`Http2Reader`] and [`Http3Reader`]
//! read requests and responses in the opened bytes. The caller supplies times: each result says
//! which bytes of a side's stream it came from.

mod http;
mod quic;
mod tls;

pub use http::{
    Http1Reader, Http2Reader, Http3Reader, HttpEvent, HttpFact, RequestFacts, ResponseFacts,
};
pub use quic::{QuicPacket, QuicPayload, QuicReader};
pub use tls::{TlsContent, TlsEpoch, TlsReader, TlsRecord};

/// Why something stays sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SealedReason {
    /// The beginning of the connection is missing, so its keys cannot be identified.
    NoHello,
    /// The key log does not have the secrets.
    NoKeys,
    /// Bytes are missing.
    Cut,
    /// The cipher is not supported here: suites with CBC, with CCM, and older ones.
    Cipher,
    /// The packet cannot be decrypted with the keys of the connection.
    WrongKeys,
}
