//! Tickets of HTTP/3 for a later run: a QUIC connection that carries no request, opened beside TCP
//! connections when an answer announces HTTP/3. A run that ends meanwhile does not wait for it.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_model::{Http, Memory};
use tokio::time::sleep;

use super::super::knowledge::OriginFacts;
use super::super::opening::open_quic;
use super::{Lane, Site};

/// A run that ends with this answer opens no connection.
const PAUSE: Duration = Duration::from_millis(10);
/// The additional wait for a ticket, after the round trip that it needs.
const EXTRA_WAIT: Duration = Duration::from_millis(100);

/// The search for a ticket: it begins once.
#[derive(Default)]
pub(super) struct Seeking {
    is_over: bool,
    pub(super) lane: Option<Arc<Lane>>,
}

impl Site {
    /// Begins the search for a ticket, if it is time. Called for each answer; `lane` carried it.
    pub(in crate::pool) fn seek_ticket(self: &Arc<Self>, lane: &Lane) {
        let settings = &self.context.settings;
        let strategy = settings.strategy;
        let wants = settings.seeks_tickets
            && strategy.reuse
            && strategy.memory == Memory::EarlyData
            && strategy.http == Http::Auto
            && !strategy.fast_open;
        if !wants || lane.transport.is_quic() || self.known(|known| known.h3_port()).is_none() {
            return;
        }
        let mut state = self.state();
        if state.seeking.is_none() {
            state.seeking = Some(Seeking::default());
            tokio::spawn(self.clone().fetch_ticket());
        }
    }

    pub(in crate::pool) fn is_seeking(&self) -> bool {
        let state = self.state();
        state
            .seeking
            .as_ref()
            .is_some_and(|seeking| !seeking.is_over)
    }

    async fn fetch_ticket(self: Arc<Self>) {
        sleep(PAUSE).await;
        if !self.is_seeking() {
            // All connections were closed meanwhile.
            return;
        }
        match open_quic(&self.context, &self).await {
            Ok((lane, _)) => self.await_ticket(Arc::new(lane)).await,
            Err(_) => self.known(OriginFacts::quic_failed),
        }
        if let Some(seeking) = &mut self.state().seeking {
            *seeking = Seeking {
                is_over: true,
                lane: None,
            };
        }
    }

    /// A server sends tickets when it has received the end of the handshake, so they arrive a round
    /// trip after the client sent that.
    async fn await_ticket(&self, lane: Arc<Lane>) {
        let is_wanted = match &mut self.state().seeking {
            Some(seeking) => {
                seeking.lane = Some(lane.clone());
                true
            }
            None => false,
        };
        if is_wanted && lane.proven().await {
            sleep(lane.rtt().unwrap_or_default() + EXTRA_WAIT).await;
        }
        if let Some(shared) = &lane.shared {
            shared.close().await;
        }
    }
}
