//! What an application is told.

use std::net::SocketAddr;

use bytes::Bytes;

use crate::CloseReason;
use crate::streams::StreamEvent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete: the peer has proved who it is, and the application protocol is
    /// known.
    Connected,
    /// The peer knows that it is complete. RFC 9001 §4.1.2.
    HandshakeConfirmed,
    /// The server took no early data: what was sent so far is sent again. RFC 9001 §4.6.2.
    EarlyRefused,
    Stream(StreamEvent),
    /// For a next connection to the same server. RFC 9000 §8.1.3.
    NewToken(Bytes),
    /// The peer is elsewhere now, and has proved it. RFC 9000 §9.
    PathChanged(SocketAddr),
    /// The last event.
    Closed(CloseReason),
}
