//! A client that has begun a connection and was not answered yet.

use std::net::SocketAddr;

use roundtrip_quic::Code;

use super::Link;

/// Let go of, it is ignored.
#[derive(Debug)]
pub struct Caller(Link);

impl Caller {
    pub(super) fn new(link: Link) -> Self {
        Self(link)
    }

    pub fn remote(&self) -> Option<SocketAddr> {
        self.0.remote()
    }

    /// Goes on with the handshake.
    pub fn answer(self) -> Link {
        self.0.unmute();
        self.0
    }

    pub fn refuse(self) {
        self.0.unmute();
        self.0.close(Code::CONNECTION_REFUSED.0, b"");
    }

    /// Says nothing, now and later, as if nobody were there.
    pub fn ignore(self) {
        drop(self);
    }
}
