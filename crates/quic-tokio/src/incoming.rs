//! A client that has begun a connection and has not been answered.

use std::net::SocketAddr;

use roundtrip_quic::CloseReason;

use crate::Connection;

/// A connection attempt of a client. Nothing is sent before it is accepted or refused. Dropping it
/// ignores the client.
#[derive(Debug)]
pub struct Incoming(Connection);

impl Incoming {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(connection)
    }

    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.0.remote_address()
    }

    /// Whether a token has validated the client's address.
    pub fn remote_address_validated(&self) -> bool {
        let handle = self.0.handle();
        handle
            .get(|connection| !connection.is_unvalidated())
            .unwrap_or(false)
    }

    /// Waits until `look` returns a value for the ClientHello.
    ///
    /// Whenever more bytes have arrived, `look` is called with all bytes so far. This works only if
    /// [`ServerConfig::holds`](roundtrip_quic::ServerConfig::holds) is set.
    pub async fn client_hello<R>(
        &self,
        mut look: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<R, CloseReason> {
        let hello = |connection: &mut roundtrip_quic::Connection| look(connection.hello()?);
        self.0.until(hello).await
    }

    /// Continues the handshake.
    pub fn accept(self) -> Connection {
        self.0.handle().answer();
        // A connection that has ended cannot continue.
        let _ = self.0.handle().update(|c, _, clock| c.proceed(clock.now()));
        self.0
    }

    /// Refuses the connection and informs the client.
    pub fn refuse(self) {
        self.0.handle().answer();
        // If the connection has ended, the peer need not be informed.
        let _ = self.0.handle().update(|c, _, clock| c.refuse(clock.now()));
    }

    /// Never sends the client an answer.
    pub fn ignore(self) {
        drop(self);
    }
}
