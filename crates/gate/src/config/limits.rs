//! `[limits]`: how much a client may use. Each limit that is reached is counted.

use serde::Deserialize;

use super::{Bytes, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open connections in all, and from one address.
    pub connections: usize,
    pub connections_per_client: usize,
    /// A handshake with a head, and each further head once it has begun.
    pub head_time: Span,
    pub head: Bytes,
    pub fields: usize,
    pub body: Bytes,
    /// Of a body as much has to be there, or all of it, before a connection to a backend is asked
    /// for; or this time is over.
    pub body_ahead: Bytes,
    pub body_ahead_time: Span,
    /// Bytes a second that a body must come with, measured over ten seconds; and that an answer
    /// must be taken with.
    pub body_rate: Bytes,
    /// Every ten seconds twice as many bytes have to come of a body, up to so many a second.
    pub body_rate_most: Bytes,
    /// A connection without a request.
    pub idle_time: Span,
    /// Requests on one connection before the client is asked to come anew; 0 is no bound.
    pub requests: u64,
    /// Exchanges at once, of one address, and of one session; 0 is no bound.
    pub exchanges_per_client: usize,
    pub exchanges_per_session: usize,
    /// At once, on one connection of HTTP/2 or HTTP/3.
    pub streams: u32,
    /// Streams that a client may reset, or make us reset, before the connection ends.
    pub resets: u32,
    /// Frames of HTTP/2 that carry neither a request nor data, beyond those that answers give a
    /// reason for.
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
            body_rate: Bytes(512),
            body_rate_most: Bytes(4096),
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
