//! What an exchange tells the pool about its connection, and how the connection comes back.

use tokio::time::Instant;

use super::PoolSlot;
use crate::forward::upstream::counts::ThreadCounts;
use crate::forward::upstream::pool::{Poolable, PooledConnection};

impl<C: Poolable> PoolSlot<C> {
    pub(in crate::forward::upstream) fn server(&self) -> usize {
        self.server
    }

    /// Records that the connection was established.
    pub(in crate::forward::upstream) fn opened(&mut self) {
        self.opened = true;
        self.pools.counts.opened.add(1);
    }

    /// Returns the connection for the next exchange.
    pub(in crate::forward::upstream) fn keep(mut self, kept: PooledConnection<C>) {
        let now = Instant::now();
        let bounds = &self.pools.rules.bounds;
        let mut state = self.pools.state.borrow_mut();
        let Some(server) = state.servers.get_mut(self.server) else {
            return;
        };
        if self.detached.get() {
            // Another connection may have taken this one's place.
            if server.pool.open() >= bounds.connections {
                drop(state);
                return kept.carrier.close();
            }
            server.pool.reserve(bounds, &self.pools.counts);
        }
        server.pool.put(kept, now, bounds);
        drop(state);
        self.parked = true;
    }

    /// Takes the connection out of the pool, because the exchange lasts for as long as its client
    /// likes: another may be opened.
    pub(in crate::forward::upstream) fn detach(&self) {
        if !self.tunnel || self.detached.replace(true) {
            return;
        }
        let mut state = self.pools.state.borrow_mut();
        state.holding.give_back(self.client);
        if let Some(server) = state.servers.get_mut(self.server) {
            server.pool.release();
            server.detached += 1;
        }
        drop(state);
        self.pools.serve(Instant::now());
    }

    /// Notes that the request is complete, so another upload may take its place.
    pub(in crate::forward::upstream) fn uploaded(&self) {
        if !self.upload.replace(false) {
            return;
        }
        let mut state = self.pools.state.borrow_mut();
        state.uploading.give_back(self.client);
        if let Some(server) = state.servers.get_mut(self.server) {
            server.uploads = server.uploads.saturating_sub(1);
        }
        drop(state);
        self.pools.serve(Instant::now());
    }

    pub(in crate::forward::upstream) fn client_is_slow(&self, slow: bool) {
        if self.slow.replace(slow) == slow {
            return;
        }
        let mut state = self.pools.state.borrow_mut();
        if let Some(server) = state.servers.get_mut(self.server) {
            server.slow = if slow {
                server.slow + 1
            } else {
                server.slow.saturating_sub(1)
            };
        }
    }

    /// Whether others wait while too many exchanges, this one among them, are slow. Slow readers
    /// may hold what arriving requests leave of `uploads`, and half of `uploads` in any case.
    pub(in crate::forward::upstream) fn is_needed(&self) -> bool {
        let state = self.pools.state.borrow();
        let Some(server) = state.servers.get(self.server) else {
            return false;
        };
        let most = self.pools.rules.uploads;
        let allowed = most.saturating_sub(server.uploads).max(most / 2);
        let [whole, uploads] = &state.queues;
        self.slow.get()
            && server.slow > allowed
            && (whole.is_waited_for() || (server.uploads < most && uploads.is_waited_for()))
    }

    pub(in crate::forward::upstream) fn succeeded(&self) {
        let mut state = self.pools.state.borrow_mut();
        if let Some(server) = state.servers.get_mut(self.server) {
            server.standing.succeeded();
        }
    }

    pub(in crate::forward::upstream) fn failed(&self) {
        let mut state = self.pools.state.borrow_mut();
        let Some(server) = state.servers.get_mut(self.server) else {
            return;
        };
        if server
            .standing
            .failed(Instant::now(), self.pools.rules.ejecting)
        {
            self.pools.counts.ejected.add(1);
        }
    }

    pub(in crate::forward::upstream) fn counts(&self) -> &ThreadCounts {
        &self.pools.counts
    }
}

impl<C: Poolable> Drop for PoolSlot<C> {
    fn drop(&mut self) {
        let pools = &self.pools;
        let mut state = pools.state.borrow_mut();
        if self.exchange && !self.detached.get() {
            state.holding.give_back(self.client);
        }
        if self.upload.get() {
            state.uploading.give_back(self.client);
        }
        if self.tunnel {
            state.tunnelling.give_back(self.client);
        }
        if let Some(server) = state.servers.get_mut(self.server) {
            let detached = self.detached.get();
            server.detached = server.detached.saturating_sub(detached.into());
            server.busy = server.busy.saturating_sub(self.exchange.into());
            server.uploads = server.uploads.saturating_sub(self.upload.get().into());
            server.slow = server.slow.saturating_sub(self.slow.get().into());
            if !self.parked {
                if !detached {
                    server.pool.release();
                }
                pools.counts.spent.add(self.opened.into());
            }
        }
        let waited_for = state.queues.iter().any(|queue| !queue.is_empty());
        drop(state);
        if waited_for {
            pools.serve(Instant::now());
        }
        if self.parked
            && let Some(server) = pools.state.borrow_mut().servers.get_mut(self.server)
        {
            server.pool.trim(&pools.rules.bounds, &pools.counts);
        }
    }
}
