//! An HTTP/2 or HTTP/3 connection that many tasks use at once. It has as many slots as the peer
//! allows.

mod slots;

use std::sync::Arc;

use crate::{ByteStream, Connection, HttpError, Quic, RequestRun, h2};
use slots::Slots;

/// Slots before an HTTP/2 server has said how many it allows: no server should allow fewer. RFC
/// 9113 §6.5.2.
const FIRST_SLOTS: usize = 100;
/// The largest number of slots, however many a peer allows: each stream costs both sides memory.
const MAX_SLOTS: usize = 1000;
/// The number of requests that may wait for a stream in QUIC, which counts streams itself and wakes
/// all waiters when one comes free.
const QUIC_SLOTS: usize = 256;

/// A handle on a connection that many tasks use.
#[derive(Clone)]
pub struct SharedConnection(Arc<SharedInner>);

struct SharedInner {
    carrier: Multiplexed,
    slots: Slots,
}

enum Multiplexed {
    H2(h2::H2Session),
    H3(Quic),
}

impl Connection {
    /// Lets many tasks use the connection. HTTP/1.1 carries one request at a time: its stream is
    /// returned.
    pub fn share(self) -> Result<SharedConnection, Box<dyn ByteStream>> {
        let (carrier, count) = match self {
            Self::H1(stream) => return Err(stream),
            Self::H2(session) => (Multiplexed::H2(session), FIRST_SLOTS),
            Self::H3(quic) => (Multiplexed::H3(quic), QUIC_SLOTS),
        };
        let slots = Slots::new(count);
        Ok(SharedConnection(Arc::new(SharedInner { carrier, slots })))
    }
}

impl SharedConnection {
    /// Carries one request, as soon as there is a slot for it. Requests that are made before the
    /// driver runs leave together: on a new connection in its first flight.
    pub async fn exchange(&self, run: RequestRun<'_>) -> Result<(), HttpError> {
        match &self.0.carrier {
            Multiplexed::H2(session) => {
                let _slot = self.0.slots.take_of(session).await;
                session.exchange(run).await
            }
            Multiplexed::H3(quic) => {
                let _slot = self.0.slots.take().await;
                quic.exchange(run).await
            }
        }
    }

    /// Begins the connection before anything is requested.
    pub fn start(&self) {
        if let Multiplexed::H2(session) = &self.0.carrier {
            session.start();
        }
    }

    /// Whether the connection can carry another request, as far as is known.
    pub fn is_open(&self) -> bool {
        match &self.0.carrier {
            Multiplexed::H2(session) => session.is_open() && !session.is_going_away(),
            Multiplexed::H3(quic) => quic.is_open(),
        }
    }

    /// The number of requests that may be in flight at once.
    pub fn slots(&self) -> usize {
        if let Multiplexed::H2(session) = &self.0.carrier {
            self.0.slots.refresh(session);
        }
        self.0.slots.allowed()
    }

    /// The number of requests that could leave now.
    pub fn free_slots(&self) -> usize {
        self.0.slots.free()
    }

    /// Closes the connection. Requests in flight fail.
    pub async fn close(&self) {
        match &self.0.carrier {
            Multiplexed::H2(session) => session.close(),
            Multiplexed::H3(quic) => quic.close().await,
        }
    }
}
