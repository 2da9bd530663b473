//! The requests that a pool takes, and its answers.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_model::Target;

/// A request. One that changes something or has a body must have neither `early` nor `shares`,
/// which [`PoolRequest::post`] sees to.
#[derive(Debug, Clone)]
pub struct PoolRequest {
    pub method: &'static str,
    pub target: Target,
    pub body: Bytes,
    /// The fields in the order in which they are sent. The pool adds `Accept-Encoding` unless it is
    /// among them.
    pub headers: Vec<(String, String)>,
    /// Whether the request may be sent as early data, which anyone on the path can replay: true for
    /// a lookup without credentials.
    pub early: bool,
    /// The largest uncompressed size of the body in bytes.
    pub limit: u64,
    /// Whether an equal request in flight may answer this one too. A caller without equal requests
    /// saves memory by setting it to false.
    pub shares: bool,
}

/// The key that makes two requests equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    limit: u64,
}

impl From<&PoolRequest> for Key {
    fn from(ask: &PoolRequest) -> Self {
        Self {
            method: ask.method,
            url: ask.target.url().as_str().to_owned(),
            headers: ask.headers.clone(),
            limit: ask.limit,
        }
    }
}

/// The default limit in bytes. Bodies are kept in memory, and no answer needs more.
pub const BODY_LIMIT: u64 = 10 << 20;

impl PoolRequest {
    pub fn new(target: Target) -> Self {
        Self {
            method: "GET",
            target,
            body: Bytes::new(),
            headers: Vec::new(),
            early: true,
            limit: BODY_LIMIT,
            shares: true,
        }
    }

    /// A request that changes something: it is never early, never shared, and sent a second time
    /// only if the server said that it did not process it.
    pub fn post(target: Target, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            method: "POST",
            body: body.into(),
            headers: vec![("Content-Type".into(), content_type.into())],
            early: false,
            shares: false,
            ..Self::new(target)
        }
    }
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    /// The uncompressed body.
    pub body: Bytes,
    pub timing: Timing,
}

impl Reply {
    /// The first header with that name, compared without case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }
}

/// How the time of one request was spent. Steps that were completed before it have no time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timing {
    pub dns: Duration,
    pub tcp: Duration,
    /// TLS, or the QUIC handshake.
    pub tls: Duration,
    /// The times from the request to the first byte of its answer, and to the last.
    pub first_byte: Duration,
    pub total: Duration,
    /// Time spent waiting for its turn on an open connection.
    pub queued: Duration,
    /// The version of HTTP: "1.0", "1.1", "2" or "3".
    pub version: String,
    /// The connection was already open.
    pub reused: bool,
    /// The connection was opened for this request with a ticket; the request was sent in its early
    /// data; and in its SYN.
    pub resumed: bool,
    pub early: bool,
    pub fast_open: bool,
    /// The request was answered with the answer to an equal one.
    pub coalesced: bool,
    /// The number of times that the request was repeated.
    pub resent: u32,
    /// The number of round trips that the request waited for; half a handshake counts half.
    pub round_trips: Option<f64>,
    /// The round-trip time of the path.
    pub rtt: Option<Duration>,
}
