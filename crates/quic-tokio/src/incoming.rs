//! A client that has begun a connection and was not answered yet.

use std::net::SocketAddr;

use roundtrip_quic::CloseReason;

use crate::Link;

/// Let go of, it is ignored.
#[derive(Debug)]
pub struct Caller(Link);

impl Caller {
    pub(crate) fn new(link: Link) -> Self {
        Self(link)
    }

    pub fn remote(&self) -> Option<SocketAddr> {
        self.0.remote()
    }

    /// Waits until `look` makes something of the client's hello, which it is shown as far as it has come, each time that
    /// more has. Only where the endpoint holds hellos is there one to be seen.
    pub async fn hello<R>(
        &self,
        mut look: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<R, CloseReason> {
        self.0.when(|connection| look(connection.hello()?)).await
    }

    /// Goes on with the handshake.
    pub fn answer(self) -> Link {
        self.0.unmute();
        // Where it is over, nothing goes on.
        let _ = self.0.act(|connection, _, now| connection.proceed(now));
        self.0
    }

    pub fn refuse(self) {
        self.0.unmute();
        // Where it is over, nobody is to be told.
        let _ = self.0.act(|connection, _, now| connection.refuse(now));
    }

    /// Says nothing, now and later, as if nobody were there.
    pub fn ignore(self) {
        drop(self);
    }
}
