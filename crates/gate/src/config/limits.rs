//! `[limits]`: how much a client may use. Each limit that is reached is counted.

use serde::Deserialize;

use super::{Bytes, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open connections in total, and from one address.
    pub connections: usize,
    pub connections_per_client: usize,
    /// The time for the handshake with the first head, and for each further head once it has begun.
    pub head_time: Span,
    pub head: Bytes,
    pub fields: usize,
    pub body: Bytes,
    /// A connection to a backend is requested when this much of a body has arrived, or all of it,
    /// or after this time.
    pub body_ahead: Bytes,
    pub body_ahead_time: Span,
    /// Bytes of bodies that are read ahead, or that routes with `buffer_request` hold: in total,
    /// and for one address.
    pub buffered: Bytes,
    pub buffered_per_client: Bytes,
    /// The minimum rate at which a client must send a body, in bytes a second over ten seconds.
    pub body_rate: Bytes,
    /// Every ten seconds the minimum rate for a body doubles, up to this rate.
    pub body_rate_most: Bytes,
    /// The rate at which a client must read an answer, in bytes a second, while others wait for a
    /// connection; 0 means no minimum.
    pub read_rate: Bytes,
    /// How long a connection may have no request.
    pub idle_time: Span,
    /// Requests on one connection before the client is asked to connect again; 0 means no limit.
    pub requests: u64,
    /// Exchanges in progress for one address, and for one session; 0 means no limit.
    pub exchanges_per_client: usize,
    pub exchanges_per_session: usize,
    /// Streams open at once on one connection of HTTP/2 or HTTP/3.
    pub streams: u32,
    /// Streams that a client may reset, or make gate reset, before the connection ends.
    pub resets: u32,
    /// HTTP/2 frames that carry neither a request nor data, beyond those that answers justify.
    pub control_frames: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 65_536,
            connections_per_client: 4096,
            head_time: Span::seconds(10),
            head: Bytes(64 * 1024),
            fields: 100,
            body: Bytes(1 << 30),
            body_ahead: Bytes(64 * 1024),
            body_ahead_time: Span::seconds(1),
            buffered: Bytes(256 << 20),
            buffered_per_client: Bytes(32 << 20),
            body_rate: Bytes(512),
            body_rate_most: Bytes(4096),
            read_rate: Bytes(16 * 1024),
            idle_time: Span::seconds(75),
            requests: 0,
            exchanges_per_client: 1024,
            exchanges_per_session: 256,
            streams: 128,
            resets: 100,
            control_frames: 1000,
        }
    }
}
