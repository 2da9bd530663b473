//! What is asked of a pool, and what it gives back.

use std::time::Duration;

use bytes::Bytes;
use roundtrip_model::Target;

/// One GET.
#[derive(Debug, Clone)]
pub struct Ask {
    pub target: Target,
    /// In the order they are sent. `Accept-Encoding` is the pool's, unless it is among them.
    pub headers: Vec<(String, String)>,
    /// It may leave as early data, where anybody on the path can replay it: a lookup without credentials.
    pub early: bool,
    /// The body may have so many bytes, uncompressed.
    pub limit: u64,
}

/// What makes two asks the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    url: String,
    headers: Vec<(String, String)>,
    limit: u64,
}

impl From<&Ask> for Key {
    fn from(ask: &Ask) -> Self {
        Self {
            url: ask.target.url().as_str().to_owned(),
            headers: ask.headers.clone(),
            limit: ask.limit,
        }
    }
}

/// Bodies are kept in memory: no answer needs more.
pub const BODY_LIMIT: u64 = 10 << 20;

impl Ask {
    pub fn new(target: Target) -> Self {
        Self {
            target,
            headers: Vec::new(),
            early: true,
            limit: BODY_LIMIT,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    /// Uncompressed.
    pub body: Bytes,
    pub timing: Timing,
}

impl Reply {
    /// The first header of that name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }
}

/// Where the time of one ask went, as it was asked: what was there already cost it nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timing {
    pub dns: Duration,
    pub tcp: Duration,
    /// TLS, or QUIC's handshake.
    pub tls: Duration,
    /// From the ask to the first byte of its answer, and to the last.
    pub first_byte: Duration,
    pub total: Duration,
    /// Waiting for its turn, on a connection that was there.
    pub queued: Duration,
    /// "1.0", "1.1", "2" or "3".
    pub version: String,
    /// The connection was there already.
    pub reused: bool,
    /// The connection was opened for this ask, with a ticket; and this ask left in its early data; and in its SYN.
    pub resumed: bool,
    pub early: bool,
    pub fast_open: bool,
    /// Another ask for the same was answered with it.
    pub coalesced: bool,
    /// How often it was sent again.
    pub resent: u32,
    /// Round trips that were waited for, counted; a handshake that was half over counts half.
    pub round_trips: Option<f64>,
    /// The path's.
    pub rtt: Option<Duration>,
}
