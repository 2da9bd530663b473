//! The events that a connection reports to the application.

use std::net::SocketAddr;

use bytes::Bytes;

use crate::CloseReason;
use crate::streams::StreamEvent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete: the peer is authenticated, and the application protocol is known.
    Connected,
    /// The peer knows that the handshake is complete. RFC 9001 §4.1.2.
    HandshakeConfirmed,
    /// The server refused early data: what was sent so far is sent again. RFC 9001 §4.6.2.
    EarlyRefused,
    Stream(StreamEvent),
    /// A token for a later connection to the same server. RFC 9000 §8.1.3.
    NewToken(Bytes),
    /// The peer has another address now, which is validated. RFC 9000 §9.
    PathChanged(SocketAddr),
    /// The connection has ended. No event follows.
    Closed(CloseReason),
}
