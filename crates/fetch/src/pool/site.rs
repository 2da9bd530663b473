//! The connections to one origin: the tasks that wait for one, the tasks that have one, and the
//! decision to open another.

mod lease;
mod state;
mod ticket;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roundtrip_http::{Connection, Transport};
use roundtrip_model::{EarlyData, Origin};
use tokio::sync::oneshot;

use super::context::{PoolContext, count};
use super::knowledge::OriginFacts;
use super::lane::{Lane, Solo};
use super::opening::{Arrival, open, patience};
use super::plan::is_solo;
use super::{OriginKnowledge, PoolErrorKind};
pub(super) use lease::Lease;
use state::{State, Waiter};

pub(super) struct Site {
    pub(super) origin: Origin,
    context: Arc<PoolContext>,
    known: Mutex<OriginFacts>,
    state: Mutex<State>,
}

impl Site {
    pub(super) fn new(origin: Origin, context: Arc<PoolContext>) -> Arc<Self> {
        let mut told = context.settings.known.iter();
        let told = told.rfind(|k| k.origin == origin);
        let known = told.map(OriginFacts::recall).unwrap_or_default();
        Arc::new(Self {
            origin,
            context,
            known: Mutex::new(known),
            state: Mutex::default(),
        })
    }

    pub(super) fn recall(&self, told: &OriginKnowledge) {
        self.known(|known| *known = OriginFacts::recall(told));
    }

    /// Waits for a place on a connection.
    pub(super) async fn lease(self: &Arc<Self>, early: bool) -> Result<Lease, Arc<PoolErrorKind>> {
        if !self.context.settings.strategy.reuse {
            return self.seat_of_its_own(early).await;
        }
        let lease = {
            let mut state = self.state();
            if state.waiting.is_empty()
                && let Some(lease) = self.free_lease(&mut state, early)
            {
                self.open_beside(&mut state);
                return Ok(lease);
            }
            let (lease, waited_for) = oneshot::channel();
            state.waiting.push_back(Waiter { early, lease });
            self.open_more(&mut state);
            waited_for
        };
        lease
            .await
            .unwrap_or_else(|_| Err(Arc::new(PoolErrorKind::Closed)))
    }

    /// Opens a connection before a request needs it, if there is none.
    pub(super) async fn warm(self: &Arc<Self>) {
        if self.context.settings.strategy.reuse
            && let Ok(mut lease) = self.lease(false).await
        {
            lease.start().await;
        }
    }

    /// Lets no further request use that connection.
    pub(super) fn retire(self: &Arc<Self>, lane: &Arc<Lane>) {
        lane.retire();
        let mut state = self.state();
        state.lanes.retain(|l| !Arc::ptr_eq(l, lane));
        // Other connections that have been idle for as long have probably ended too.
        let idle = std::mem::take(&mut state.idle);
        let (usable, spent): (Vec<_>, Vec<_>) = idle
            .into_iter()
            .map(|mut solo| (solo.is_usable(), solo))
            .partition(|(usable, _)| *usable);
        state.solos -= spent.len();
        state.idle = usable.into_iter().map(|(_, solo)| solo).collect();
        self.open_more(&mut state);
    }

    /// Tries again to serve waiting requests: a handshake is complete, or a connection is free or
    /// gone.
    pub(super) fn review(self: &Arc<Self>) {
        let mut state = self.state();
        self.serve(&mut state);
        self.open_more(&mut state);
    }

    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.connections() == 0 && state.waiting.is_empty()
    }

    /// The open connections: for each, the origin, and whether QUIC carries it. Unused HTTP/1.1
    /// connections send the end of their handshake here, and read what has arrived; all others do
    /// that by themselves.
    pub(super) fn look_over(&self) -> Vec<(Origin, bool)> {
        let mut state = self.state();
        let before = state.idle.len();
        state
            .idle
            .retain_mut(|solo| solo.lane.is_open() && solo.connection.is_quiet());
        state.solos -= before - state.idle.len();
        let lanes = state.lanes.iter().filter(|lane| lane.is_open());
        let lanes = lanes.chain(state.idle.iter().map(|solo| &solo.lane));
        let open = lanes.map(|lane| (self.origin.clone(), lane.transport.is_quic()));
        open.collect()
    }

    /// Closes all connections; waiting requests fail.
    pub(super) async fn close(&self) {
        let (lanes, idle) = {
            let mut state = self.state();
            state.waiting.clear();
            state.solos -= state.idle.len();
            let beside = state.seeking.take().and_then(|seeking| seeking.lane);
            let mut lanes = std::mem::take(&mut state.lanes);
            lanes.extend(beside);
            (lanes, std::mem::take(&mut state.idle))
        };
        for lane in lanes {
            lane.retire();
            if let Some(shared) = &lane.shared {
                shared.close().await;
            }
        }
        for solo in idle {
            solo.connection.close().await;
        }
    }

    pub(super) fn known<T>(&self, work: impl FnOnce(&mut OriginFacts) -> T) -> T {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn learnt(&self) -> OriginKnowledge {
        let mut told = self.known(|known| known.tell(&self.origin));
        self.context.names.tell(&mut told);
        told
    }

    /// Stores the knowledge from a new connection; its answers add to it.
    pub(super) fn learn_from(&self, lane: &Lane) {
        let rtt = lane.rtt();
        self.known(|known| {
            known.rtt = rtt.or(known.rtt);
            known.learn_address(&lane.attempts);
            match &lane.transport {
                Transport::Quic(_) if !lane.early_data => known.quic_works(),
                Transport::Quic(_) => {}
                Transport::Tcp { .. } if lane.shared.is_some() => known.alpn = Some("h2".into()),
                Transport::Tcp { .. } => known.alpn = Some("http/1.1".into()),
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place that is free now.
    fn free_lease(self: &Arc<Self>, state: &mut State, early: bool) -> Option<Lease> {
        state.lanes.retain(|lane| lane.is_open());
        let lanes = state.lanes.iter();
        let usable = lanes.filter(|lane| early || lane.is_proven());
        if let Some(lane) = usable.max_by_key(|lane| lane.free_places()) {
            return Some(Lease::shared(self, lane.clone()));
        }
        let place = state
            .idle
            .iter()
            .rposition(|solo| early || solo.lane.is_proven());
        let mut solo = state.idle.remove(place?);
        if solo.is_usable() {
            return Some(Lease::solo(self, solo));
        }
        state.solos -= 1;
        self.free_lease(state, early)
    }

    /// Gives free places to waiting requests.
    fn serve(self: &Arc<Self>, state: &mut State) {
        let mut passed_over = VecDeque::new();
        while let Some(waiter) = state.waiting.pop_front() {
            if waiter.lease.is_closed() {
                continue;
            }
            match self.free_lease(state, waiter.early) {
                Some(lease) => state.hand(waiter, lease),
                // A later request that may leave in early data can use a place that this one
                // cannot.
                None if !waiter.early && state.has_unproven() => passed_over.push_back(waiter),
                None => {
                    passed_over.push_back(waiter);
                    break;
                }
            }
        }
        passed_over.append(&mut state.waiting);
        state.waiting = passed_over;
    }

    /// Opens another HTTP/2 or HTTP/3 connection if the present ones are full and the settings
    /// allow it. The request that filled them already has a place; the new connection is for later
    /// ones.
    fn open_beside(self: &Arc<Self>, state: &mut State) {
        let most = self.context.settings.shared_connections;
        let full = state.lanes.iter().all(|lane| lane.free_places() == 0);
        let there = state.lanes.len() + state.opening;
        if full && there < most && state.opening == 0 && state.solos == 0 {
            state.opening += 1;
            tokio::spawn(self.clone().bring_up(true));
        }
    }

    /// Opens the necessary connections: one, unless each is known to carry only one request at a
    /// time.
    fn open_more(self: &Arc<Self>, state: &mut State) {
        let strategy = self.context.settings.strategy;
        let solo = self.known(|known| is_solo(strategy, &self.origin, known));
        let most = if solo {
            self.context.settings.h1_connections.max(1)
        } else {
            1
        };
        let most = most.min(state.ceiling.unwrap_or(usize::MAX)).max(1);
        let there = state.connections();
        let unserved = state.waiting.len().saturating_sub(state.opening);
        for _ in 0..unserved.min(most.saturating_sub(there)) {
            state.opening += 1;
            let early = state.waiting.iter().any(|waiter| waiter.early);
            tokio::spawn(self.clone().bring_up(early));
        }
    }

    async fn bring_up(self: Arc<Self>, early: bool) {
        let outcome = open(&self.context, &self, early).await;
        let mut state = self.state();
        state.opening -= 1;
        match outcome {
            Ok(arrival) => self.arrived(&mut state, arrival),
            Err(fault) => state.failed(fault),
        }
        self.open_more(&mut state);
    }

    fn arrived(self: &Arc<Self>, state: &mut State, (lane, solo): Arrival) {
        let lane = Arc::new(lane);
        self.watch(&lane);
        // The server can accept more connections again.
        state.ceiling = None;
        match solo {
            None => state.lanes.push(lane),
            Some(connection) => {
                state.solos += 1;
                state.idle.push(Solo { lane, connection });
            }
        }
        self.serve(state);
    }

    /// Watches a connection with early data, which counts as open before it is answered. If no
    /// answer arrives in time, it is abandoned.
    fn watch(self: &Arc<Self>, lane: &Arc<Lane>) {
        if !lane.early_data {
            return;
        }
        let (site, lane) = (self.clone(), lane.clone());
        let quic = lane.transport.is_quic();
        let rtt = self.known(|known| known.rtt).filter(|_| quic);
        let limit = patience(&self.context, quic, rtt);
        tokio::spawn(async move {
            let proven = tokio::time::timeout(limit, lane.proven()).await == Ok(true);
            if proven && quic {
                site.known(OriginFacts::quic_works);
                if lane.early_outcome() == EarlyData::Refused {
                    count(&site.context.counters.early_refused);
                }
            }
            if proven {
                return site.review();
            }
            if quic {
                site.known(OriginFacts::quic_failed);
            }
            lane.make_void();
            if let Some(shared) = &lane.shared {
                shared.close().await;
            }
            site.retire(&lane);
        });
    }

    async fn seat_of_its_own(self: &Arc<Self>, early: bool) -> Result<Lease, Arc<PoolErrorKind>> {
        let opened = Box::pin(open(&self.context, self, early)).await;
        let (lane, connection) = opened.map_err(Arc::new)?;
        let lane = Arc::new(lane);
        self.watch(&lane);
        Ok(Lease::exclusive(self, lane, connection))
    }

    /// Takes back a connection over HTTP/1.1.
    fn take_back(self: &Arc<Self>, solo: Option<Solo>) {
        let mut state = self.state();
        match solo {
            Some(solo) => state.idle.push(solo),
            None => state.solos -= 1,
        }
        self.serve(&mut state);
        self.open_more(&mut state);
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.state().held()
    }

    fn adopt(connection: Connection, lane: &Arc<Lane>) -> Solo {
        let lane = lane.clone();
        Solo { lane, connection }
    }
}
