//! How quinn accepts a connection: early enough to answer early data, and not earlier.

use quinn::{Connection, ConnectionError, Incoming};

use crate::serve::carrier::Confirmation;

/// Performs the handshake; with early data, only until it can be read and answered.
pub(crate) async fn take_in(
    incoming: Incoming,
    early_data: bool,
) -> Result<(Connection, Confirmation), ConnectionError> {
    let mut connecting = incoming.accept()?;
    if !early_data {
        return Ok((connecting.await?, Confirmation::Complete));
    }
    // Opening a stream before the whole ClientHello is there (two datagrams, with a post-quantum
    // share) would wait for a limit that is never announced again.
    connecting.handshake_data().await?;
    match connecting.into_0rtt() {
        Ok((connection, confirmed)) => Ok((connection, Confirmation::Awaited(confirmed))),
        // Never happens for a server, which may send as soon as it has the ClientHello.
        Err(connecting) => Ok((connecting.await?, Confirmation::Complete)),
    }
}
