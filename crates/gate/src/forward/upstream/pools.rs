//! Decides which exchange gets which connection: the pools of all servers of an upstream in one
//! thread, the choice between them, and the queue of waiting exchanges. An exchange that gets a
//! [`PoolSlot`] opens the connection.

mod choice;
mod shares;
mod slot;

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::counts::ThreadCounts;
use super::outlier_ejection::{EjectionConfig, OutlierEjection};
use super::pool::{Bounds, Pool, Poolable, PooledConnection};
use crate::config::Balance;
use crate::fair_queue::{FairQueue, Waiter};
use shares::Shares;

#[derive(Debug, Clone, Copy)]
pub(super) struct PoolConfig {
    pub(super) bounds: Bounds,
    pub(super) balance: Balance,
    pub(super) ejecting: EjectionConfig,
    /// The largest number of connections to each server that requests may hold while their bodies
    /// are arriving. While others wait, answers that are read slowly count towards it as well.
    pub(super) uploads: usize,
    /// The largest number of tunnels and streams to each server, besides its other connections.
    pub(super) tunnels: usize,
    /// The largest number of requests of either kind that may wait.
    pub(super) waiting: usize,
}

#[derive(Debug)]
pub(super) struct Pools<C: Poolable> {
    rules: PoolConfig,
    /// The results of the checks of each server, for all threads.
    well: Arc<[AtomicBool]>,
    state: RefCell<PoolsState<C>>,
    counts: Arc<ThreadCounts>,
}

#[derive(Debug)]
struct PoolsState<C: Poolable> {
    servers: Vec<PooledServer<C>>,
    /// Requests that are complete, and requests that are still arriving; the latter may have to
    /// wait while the former get connections.
    queues: [FairQueue<WaitingExchange<C>>; 2],
    /// The connections that clients hold, in three counts: all, those with requests that are still
    /// arriving, and tunnels and streams.
    holding: Shares,
    uploading: Shares,
    tunnelling: Shares,
    /// The first to arrive has the lowest number.
    arrivals: u64,
    /// The server whose turn it is.
    turn: usize,
}

#[derive(Debug)]
struct PooledServer<C> {
    pool: Pool<C>,
    /// Exchanges in progress, and those among them whose request is still arriving.
    busy: usize,
    uploads: usize,
    /// Exchanges whose client reads the answer slowly.
    slow: usize,
    /// Connections that tunnels and streams have taken out of the pool.
    detached: usize,
    standing: OutlierEjection,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PoolRequest {
    /// Whether only a new connection can be used.
    pub(super) fresh: bool,
    /// The server to use only if there is no other.
    pub(super) not: Option<usize>,
    /// The request cannot be sent again if a kept connection turns out to be closed.
    pub(super) once: bool,
    /// The request's body is still arriving.
    pub(super) upload: bool,
    /// The connection may become a tunnel, or its answer a stream.
    pub(super) tunnel: bool,
    /// Clients wait in turn.
    pub(super) client: Option<IpAddr>,
}

#[derive(Debug)]
struct WaitingExchange<C: Poolable> {
    /// The first to arrive has the lowest number.
    arrival: u64,
    want: PoolRequest,
    grant: oneshot::Sender<PoolGrant<C>>,
}

impl<C: Poolable> Waiter for WaitingExchange<C> {
    fn client(&self) -> Option<IpAddr> {
        self.want.client
    }

    fn is_gone(&self) -> bool {
        self.grant.is_closed()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolError {
    /// All connections are in use.
    Busy,
    /// Requests of this kind, or those of this client, hold all that they may. Others may get a
    /// connection.
    Share,
    /// No server passes its checks.
    NoneWell,
}

/// A kept connection, or the right to open one.
#[derive(Debug)]
pub(super) struct PoolGrant<C: Poolable> {
    pub(super) slot: PoolSlot<C>,
    pub(super) kept: Option<PooledConnection<C>>,
}

/// One of the connections that are allowed. Dropping it means that the connection is closed.
#[derive(Debug)]
pub(super) struct PoolSlot<C: Poolable> {
    pools: Rc<Pools<C>>,
    server: usize,
    /// The connection is for an exchange, not a spare one.
    exchange: bool,
    /// The request is still arriving.
    upload: Cell<bool>,
    /// The client reads the answer slowly.
    slow: Cell<bool>,
    /// Whether the connection may become a tunnel or a stream, and whether it has become one.
    tunnel: bool,
    detached: Cell<bool>,
    /// The client for whose share the connection counts.
    client: Option<IpAddr>,
    opened: bool,
    parked: bool,
}

impl<C: Poolable> Pools<C> {
    pub(super) fn new(
        rules: PoolConfig,
        well: Arc<[AtomicBool]>,
        counts: Arc<ThreadCounts>,
    ) -> Rc<Self> {
        let server = |_| PooledServer {
            pool: Pool::new(),
            busy: 0,
            uploads: 0,
            slow: 0,
            detached: 0,
            standing: OutlierEjection::default(),
        };
        let servers = (0..well.len()).map(server).collect();
        Rc::new(Self {
            rules,
            well,
            state: RefCell::new(PoolsState {
                servers,
                queues: Default::default(),
                holding: Shares::default(),
                uploading: Shares::default(),
                tunnelling: Shares::default(),
                arrivals: 0,
                turn: 0,
            }),
            counts,
        })
    }

    pub(super) fn counts(&self) -> &ThreadCounts {
        &self.counts
    }

    /// Claims a connection without waiting, after all waiting exchanges that can be served.
    pub(super) fn claim(self: &Rc<Self>, want: PoolRequest) -> Result<PoolGrant<C>, PoolError> {
        let now = Instant::now();
        self.serve(now);
        let mut state = self.state.borrow_mut();
        self.grant(&mut state, want, now)
    }

    /// Queues behind the waiting exchanges of this client; `None` if there are too many.
    pub(super) fn wait(&self, want: PoolRequest) -> Option<oneshot::Receiver<PoolGrant<C>>> {
        let mut state = self.state.borrow_mut();
        let arrival = state.arrivals;
        let (grant, granted) = oneshot::channel();
        let waiter = WaitingExchange {
            arrival,
            want,
            grant,
        };
        if !state.queue(want).push(waiter, self.rules.waiting) {
            return None;
        }
        state.arrivals += 1;
        self.counts.waited.add(1);
        Some(granted)
    }

    /// Gives free connections to waiting exchanges in order, but skips uploads while uploads hold
    /// their maximum, and clients that hold theirs.
    pub(super) fn serve(self: &Rc<Self>, now: Instant) {
        loop {
            let mut state = self.state.borrow_mut();
            let granted = self.grant_waiting(&mut state, now);
            drop(state);
            let Some((waiter, claim)) = granted else {
                return;
            };
            // If the exchange has gone, dropping the claim returns it.
            drop(waiter.map(|waiter| waiter.grant.send(claim)));
        }
    }

    fn grant_waiting(
        self: &Rc<Self>,
        state: &mut PoolsState<C>,
        now: Instant,
    ) -> Option<(Option<WaitingExchange<C>>, PoolGrant<C>)> {
        for kind in state.kinds_by_arrival() {
            let mut position = 0;
            while let Some(want) = state.waiting(kind, position) {
                match self.grant(state, want, now) {
                    Ok(claim) => return Some((state.queue(want).pop(position), claim)),
                    Err(PoolError::Share) => position += 1,
                    Err(PoolError::Busy | PoolError::NoneWell) => break,
                }
            }
        }
        None
    }

    /// The right to open a connection that will wait for its first exchange.
    pub(super) fn spare(self: &Rc<Self>, server: usize, warm: usize) -> Option<PoolSlot<C>> {
        let now = Instant::now();
        let mut state = self.state.borrow_mut();
        let of = state.servers.get_mut(server)?;
        let wanted = of.pool.idle() < warm
            && of.pool.open() < self.rules.bounds.connections
            && !of.standing.is_ejected(now)
            && self.is_well(server);
        if !wanted {
            return None;
        }
        of.pool.reserve(&self.rules.bounds, &self.counts);
        Some(self.slot(server, None, false))
    }

    /// Closes connections that are due, and returns the time when the next one is due.
    pub(super) fn reap(self: &Rc<Self>) -> Option<Instant> {
        let now = Instant::now();
        let mut state = self.state.borrow_mut();
        let mut next = None;
        for server in &mut state.servers {
            server.pool.reap(now, &self.rules.bounds, &self.counts);
            next = next.into_iter().chain(server.pool.next_end()).min();
        }
        drop(state);
        self.serve(now);
        next
    }

    /// Records the state. If connections are shared, there are `shared` of them, and slots are
    /// streams.
    pub(super) fn gauge(&self, shared: Option<usize>) {
        let state = self.state.borrow();
        let detached: usize = state.servers.iter().map(|s| s.detached).sum();
        let sum = |of: fn(&Pool<C>) -> usize| state.servers.iter().map(|s| of(&s.pool)).sum();
        self.counts
            .open
            .set(shared.unwrap_or_else(|| sum(Pool::open) + detached));
        self.counts.unused.set(sum(Pool::idle));
        self.counts
            .waiting
            .set(state.queues.iter().map(FairQueue::len).sum());
    }

    /// Servers that are ejected at present.
    pub(super) fn down(&self) -> usize {
        let now = Instant::now();
        let state = self.state.borrow();
        state.servers.len() - self.usable(&state, now)
    }

    fn usable(&self, state: &PoolsState<C>, now: Instant) -> usize {
        let servers = state.servers.iter().enumerate();
        let usable = servers.filter(|(at, s)| self.is_well(*at) && !s.standing.is_ejected(now));
        usable.count()
    }

    fn grant(
        self: &Rc<Self>,
        state: &mut PoolsState<C>,
        want: PoolRequest,
        now: Instant,
    ) -> Result<PoolGrant<C>, PoolError> {
        // Servers that are down do not count, because nobody can get a connection to them.
        let servers = self.usable(state, now).max(1);
        let connections = self.rules.bounds.connections * servers;
        let may_hold = state.holding.leaves_some(want.client, connections);
        let may_send = state
            .uploading
            .admits(want.client, self.rules.uploads * servers);
        let may_last = state
            .tunnelling
            .admits(want.client, self.rules.tunnels * servers);
        if !may_hold || (want.upload && !may_send) || (want.tunnel && !may_last) {
            return Err(PoolError::Share);
        }
        let at = self.choose(state, want, now)?;
        let server = state.servers.get_mut(at).ok_or(PoolError::NoneWell)?;
        let (bounds, counts) = (&self.rules.bounds, &*self.counts);
        let kept = if want.fresh {
            None
        } else {
            server.pool.take(want.once, now, bounds, counts)
        };
        if kept.is_none() {
            server.pool.reserve(bounds, counts);
        } else {
            counts.reused.add(1);
        }
        server.busy += 1;
        server.uploads += usize::from(want.upload);
        state.holding.take(want.client);
        if want.upload {
            state.uploading.take(want.client);
        }
        if want.tunnel {
            state.tunnelling.take(want.client);
        }
        let slot = self.slot(at, Some(want), kept.is_some());
        Ok(PoolGrant { slot, kept })
    }

    fn slot(
        self: &Rc<Self>,
        server: usize,
        exchange: Option<PoolRequest>,
        opened: bool,
    ) -> PoolSlot<C> {
        PoolSlot {
            pools: self.clone(),
            server,
            exchange: exchange.is_some(),
            upload: Cell::new(exchange.is_some_and(|want| want.upload)),
            slow: Cell::new(false),
            tunnel: exchange.is_some_and(|want| want.tunnel),
            detached: Cell::new(false),
            client: exchange.and_then(|want| want.client),
            opened,
            parked: false,
        }
    }
}

impl<C: Poolable> PoolsState<C> {
    fn queue(&mut self, want: PoolRequest) -> &mut FairQueue<WaitingExchange<C>> {
        let [whole, uploads] = &mut self.queues;
        if want.upload { uploads } else { whole }
    }

    /// The two queues (`true`: uploads). The queue whose first request has waited longer comes
    /// first.
    fn kinds_by_arrival(&mut self) -> [bool; 2] {
        let [whole, uploads] = &mut self.queues;
        let first =
            |queue: &mut FairQueue<WaitingExchange<C>>| queue.at(0).map(|waiter| waiter.arrival);
        match (first(whole), first(uploads)) {
            (Some(whole), Some(upload)) if upload < whole => [true, false],
            _ => [false, true],
        }
    }

    /// The first request of the client at this position.
    fn waiting(&mut self, upload: bool, position: usize) -> Option<PoolRequest> {
        let kind = PoolRequest {
            upload,
            ..PoolRequest::default()
        };
        self.queue(kind).at(position).map(|waiter| waiter.want)
    }
}
