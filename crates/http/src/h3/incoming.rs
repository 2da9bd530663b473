//! QUIC connections as a server takes them in: so early that it may answer early data, and no earlier.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use quinn::{Connection, ConnectionError, ConnectionIdGenerator, Incoming, ZeroRttAccepted};
use quinn_proto::HashedConnectionIdGenerator;

/// Whether the handshake is complete. Until then, what arrives may be a replay.
pub enum Confirmation {
    Awaited(ZeroRttAccepted),
    Complete,
}

impl Confirmation {
    pub fn is_complete(&mut self) -> bool {
        let mut idle = Context::from_waker(Waker::noop());
        self.poll(&mut idle).is_ready()
    }

    /// Waits until it is, or never will be: a connection that was closed meanwhile says so.
    pub async fn over(&mut self) {
        std::future::poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::Awaited(confirmed) = self {
            std::task::ready!(Pin::new(confirmed).poll(cx));
            *self = Self::Complete;
        }
        Poll::Ready(())
    }
}

/// Shakes hands. Where early data is taken, only so far that it can be read and answered.
pub async fn take_in(
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

/// Makes connection ids that everybody with the key knows for ours: then packets of a connection that is not here any more
/// are answered with a reset. RFC 9000 §10.3.
pub fn connection_ids(
    key: u64,
) -> impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static {
    move || Box::new(HashedConnectionIdGenerator::from_key(key))
}
