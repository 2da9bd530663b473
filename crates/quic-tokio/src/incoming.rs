//! A client that has begun a connection and has not been answered.

use std::net::SocketAddr;

use roundtrip_quic::CloseReason;

use crate::Connection;

/// A connection attempt of a client. Nothing is sent before it is accepted or refused; dropped, it
/// is ignored.
#[derive(Debug)]
pub struct Incoming(Connection);

impl Incoming {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(connection)
    }

    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.0.remote_address()
    }

    /// Has a token proved the client's address?
    pub fn remote_address_validated(&self) -> bool {
        let handle = self.0.handle();
        handle
            .get(|connection| !connection.is_unproved())
            .unwrap_or(false)
    }

    /// Waits until `look` makes something of the ClientHello.
    ///
    /// It is shown what has come of it, each time that more has. There is one to be seen only where
    /// [`ServerConfig::holds`](roundtrip_quic::ServerConfig::holds) is set.
    pub async fn client_hello<R>(
        &self,
        mut look: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<R, CloseReason> {
        let hello = |connection: &mut roundtrip_quic::Connection| look(connection.hello()?);
        self.0.until(hello).await
    }

    /// Goes on with the handshake.
    pub fn accept(self) -> Connection {
        self.0.handle().answer();
        // Nothing goes on in a connection that is over.
        let _ = self.0.handle().update(|c, _, now| c.proceed(now));
        self.0
    }

    /// Tells the client that it gets no connection.
    pub fn refuse(self) {
        self.0.handle().answer();
        // In a connection that is over, nobody is to be told.
        let _ = self.0.handle().update(|c, _, now| c.refuse(now));
    }

    /// Says nothing, now and later.
    pub fn ignore(self) {
        drop(self);
    }
}
