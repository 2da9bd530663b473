//! Reads the connections of others as a capture shows them: what each side sent, with gaps, in the
//! order of the capture. Nothing here answers anybody, and what is wrong is passed over, because
//! those who spoke were content with it.
//!
//! [`TlsReader`] and [`QuicReader`] open what a [`KeyLog`](crate::key_log::KeyLog) has the secrets
//! of; [`Http1Reader`], [`Http2Reader`] and [`Http3Reader`] read requests and responses in what
//! they open. Times are the caller's: each result says from which bytes of a side's stream it came.

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
    /// The beginning of the connection is not there, so nobody knows which keys are its own.
    NoHello,
    /// The key log does not have them.
    NoKeys,
    /// Bytes are missing.
    Cut,
    /// The cipher is not read here: those with CBC, CCM and older ones.
    Cipher,
    /// It does not open with the keys of the connection.
    WrongKeys,
}
