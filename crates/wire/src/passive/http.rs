//! The events of HTTP on a connection of others, the same for all versions. Each event says from
//! which bytes of its side's stream it came.

mod head;
mod http1;
mod http2;
mod http3;
mod streams;

use std::ops::Range;

use crate::quic::Side;

pub use head::{RequestFacts, ResponseFacts};
pub use http1::Http1Reader;
pub use http2::Http2Reader;
pub use http3::Http3Reader;

/// An event that one side caused.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpEvent {
    /// The side that sent what the event reports.
    pub side: Side,
    /// The request that the event belongs to: in HTTP/1, its number on the connection, from 0 on;
    /// otherwise the id of the stream. `None` for events of the connection.
    pub stream: Option<u64>,
    /// The positions that its first and last bytes came from. This is exact if each push gave a
    /// range as long as its bytes; otherwise it covers the ranges of those pushes.
    pub at: Range<u64>,
    pub what: HttpFact,
}

#[derive(Debug, Clone, PartialEq)]
pub enum HttpFact {
    Request(Box<RequestFacts>),
    /// An interim response: 100, 103.
    Interim(u16),
    Response(Box<ResponseFacts>),
    /// This many bytes of content, as they were sent.
    Body(u64),
    /// The side has sent everything.
    End,
    /// The connection carries another protocol from here on: after CONNECT, or an upgrade.
    Switched,
    Reset {
        code: u64,
    },
    /// The side can send no more on this stream, or on any, until the peer allows it: in HTTP/2 the
    /// window is used up, in HTTP/3 the side reports it.
    Blocked,
    /// The side allows this many more bytes; in HTTP/3, this many in total.
    Window(u64),
    GoAway {
        last: u64,
        code: u64,
    },
    Ping {
        ack: bool,
    },
    /// The number of requests that the side permits: at once in HTTP/2, in total in HTTP/3.
    MaxStreams(u64),
    /// The client would begin another request if the server permitted more.
    StreamsBlocked,
    /// The next part cannot be read, or not yet: bytes are missing, or another protocol is used.
    Lost,
}

/// The bytes of a push, and where they came from.
#[derive(Debug, Clone)]
struct PushRange {
    at: Range<u64>,
    exact: bool,
}

impl PushRange {
    fn new(bytes: &[u8], at: Range<u64>) -> Self {
        let exact = at.end.checked_sub(at.start) == Some(bytes.len() as u64);
        Self { at, exact }
    }

    /// The position that the byte at this place came from.
    fn start(&self, place: usize) -> u64 {
        if self.exact {
            self.at.start + place as u64
        } else {
            self.at.start
        }
    }

    /// The end position of the byte before this place.
    fn end(&self, place: usize) -> u64 {
        if self.exact {
            self.at.start + place as u64
        } else {
            self.at.end
        }
    }
}

impl HttpEvent {
    fn new(side: Side, stream: impl Into<Option<u64>>, at: Range<u64>, what: HttpFact) -> Self {
        let stream = stream.into();
        Self {
            side,
            stream,
            at,
            what,
        }
    }
}
