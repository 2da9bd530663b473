//! quinn's connections as a server takes them in: so early that it may answer early data, and no earlier.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use quinn::{Connection, ConnectionError, Incoming, ZeroRttAccepted};

/// Whether the handshake is complete. Until then, what arrives may be a replay.
pub(crate) enum Confirmation {
    Awaited(ZeroRttAccepted),
    Complete,
}

impl Confirmation {
    pub(crate) fn is_complete(&mut self) -> bool {
        if let Self::Awaited(confirmed) = self {
            let mut idle = Context::from_waker(Waker::noop());
            if Pin::new(confirmed).poll(&mut idle).is_pending() {
                return false;
            }
            *self = Self::Complete;
        }
        true
    }
}

/// Shakes hands. Where early data is taken, only so far that it can be read and answered.
pub(crate) async fn take_in(
    incoming: Incoming,
    early_data: bool,
) -> Result<(Connection, Confirmation), ConnectionError> {
    let mut connecting = incoming.accept()?;
    if !early_data {
        return Ok((connecting.await?, Confirmation::Complete));
    }
    // Before the whole ClientHello (two datagrams, with a post-quantum share) has told how many streams the client
    // allows, opening one would wait for a limit that is never announced again.
    connecting.handshake_data().await?;
    match connecting.into_0rtt() {
        Ok((connection, confirmed)) => Ok((connection, Confirmation::Awaited(confirmed))),
        // For a server this never happens: it may speak as soon as it has heard the ClientHello.
        Err(connecting) => Ok((connecting.await?, Confirmation::Complete)),
    }
}
