//! A connection of HTTP/2 or 3 on which many tasks ask at any time: each waits for a place, as many as the peer allows.

mod gate;

use std::sync::Arc;

use crate::{Connection, HttpError, Quic, Stream, Turn, h2};
use gate::Gate;

/// Requests at once before an HTTP/2 server has said how many it takes: fewer no server should allow. RFC 9113 §6.5.2.
const FIRST_FLIGHT: usize = 100;
/// However many a peer allows: each stream costs both sides memory.
const MOST: usize = 1000;
/// QUIC counts streams itself, and wakes all who wait when one comes free: these may wait there.
const QUIC_AT_ONCE: usize = 256;

#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    carrier: Carrier,
    gate: Gate,
}

enum Carrier {
    H2(h2::Session),
    H3(Quic),
}

impl Connection {
    /// For many tasks. HTTP/1.1 has but one place: its stream comes back.
    pub fn share(self) -> Result<Shared, Box<dyn Stream>> {
        let (carrier, places) = match self {
            Self::H1(stream) => return Err(stream),
            Self::H2(session) => (Carrier::H2(session), FIRST_FLIGHT),
            Self::H3(quic) => (Carrier::H3(quic), QUIC_AT_ONCE),
        };
        let gate = Gate::new(places);
        Ok(Shared(Arc::new(Inner { carrier, gate })))
    }
}

impl Shared {
    /// Carries one request, as soon as there is a place for it. Those that are asked for before anybody else's turn
    /// comes leave together: on a new connection in its first flight.
    pub async fn exchange(&self, turn: Turn<'_>) -> Result<(), HttpError> {
        match &self.0.carrier {
            Carrier::H2(session) => {
                let _place = self.0.gate.enter(session).await;
                session.exchange(turn).await
            }
            Carrier::H3(quic) => {
                let _place = self.0.gate.wait().await;
                quic.exchange(turn).await
            }
        }
    }

    /// Lets the connection live although nobody has asked for anything yet.
    pub fn start(&self) {
        if let Carrier::H2(session) = &self.0.carrier {
            session.start();
        }
    }

    /// Can another request travel on it, as far as is known?
    pub fn is_open(&self) -> bool {
        match &self.0.carrier {
            Carrier::H2(session) => session.is_open() && !session.is_leaving(),
            // That an HTTP/3 server is leaving is told to whoever asks next.
            Carrier::H3(quic) => quic.is_open(),
        }
    }

    /// How many requests may be on their way at once.
    pub fn places(&self) -> usize {
        if let Carrier::H2(session) = &self.0.carrier {
            self.0.gate.review(session);
        }
        self.0.gate.allowed()
    }

    /// How many more could leave now.
    pub fn free(&self) -> usize {
        self.0.gate.free()
    }

    /// Says goodbye. What is on its way fails.
    pub async fn close(&self) {
        match &self.0.carrier {
            Carrier::H2(session) => session.close(),
            Carrier::H3(quic) => quic.close().await,
        }
    }
}
