//! Chooses connections to remove: those that exceed the budget, and the oldest ones that have ended
//! if there are too many.

use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;

use super::{Endpoint, Handle};
use crate::Budget;

/// The largest number of ended connections that are kept until no late packet can arrive. Each
/// holds its keys and the rest of its TLS state.
const MAX_LINGERING: usize = 1024;
/// What each takes, and the part of a budget that all may take although they do not count for it.
const LINGERING_COST: u64 = 16 << 10;
const LINGERING_DIVISOR: u64 = 16;

#[derive(Debug, Default)]
pub(super) struct Evictions {
    /// Connections that were closed and may have something to send.
    closed: Vec<Handle>,
    /// Ended connections, the oldest first; some have been removed already.
    lingering: VecDeque<Handle>,
}

/// The open connections of one client, those that keep most at the end.
#[derive(Debug, Default)]
struct Holdings {
    kept: u64,
    goal: u64,
    connections: Vec<(u64, Handle)>,
}

impl Evictions {
    pub(super) fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// Moves the connections that were closed to `due`.
    pub(super) fn append_to(&mut self, due: &mut Vec<Handle>) {
        due.append(&mut self.closed);
    }
}

impl Endpoint {
    /// Updates the state of a connection: its client may have validated its address, or it may have
    /// ended.
    #[inline]
    pub(super) fn settle(&mut self, handle: Handle) {
        let Some(entry) = self.table.get_mut(handle) else {
            return;
        };
        if entry.settles() {
            self.unvalidated.prove();
        }
        if entry.ends() {
            self.served -= usize::from(entry.first.is_some());
            self.linger(handle);
        }
    }

    /// Keeps an ended connection, and stops waiting for the packets of the oldest ones if there are
    /// too many.
    fn linger(&mut self, handle: Handle) {
        self.evictions.lingering.push_back(handle);
        let most = max_lingering(self.budget.as_deref());
        while self.evictions.lingering.len() > most
            && let Some(oldest) = self.evictions.lingering.pop_front()
        {
            if let Some(entry) = self.table.get_mut(oldest) {
                entry.connection.hasten();
                self.touch(oldest);
            }
        }
    }

    /// Closes connections while more is kept than the budget permits.
    #[inline]
    pub(super) fn relieve(&mut self) {
        let budget = self.budget.as_ref();
        if budget.is_some_and(|budget| budget.take_exceeded()) {
            self.evict();
        }
    }

    #[cold]
    fn evict(&mut self) {
        let Some(budget) = self.budget.clone() else {
            return;
        };
        let mut clients = self.holdings();
        for holdings in clients.values_mut() {
            holdings.goal = budget.goals(holdings.kept).1;
            holdings.connections.sort_unstable();
        }
        let (goal, _) = budget.goals(0);
        let kept = clients.iter().map(|(client, held)| (held.kept, *client));
        let mut worst: BinaryHeap<(u64, IpAddr)> = kept.collect();
        // If the client that keeps most is below its goal, then all clients are.
        while let Some((kept, client)) = worst.pop()
            && let Some(holdings) = clients.get_mut(&client)
            && (budget.used() > goal || kept > holdings.goal)
        {
            let Some((counted, handle)) = holdings.connections.pop() else {
                continue;
            };
            worst.push((kept.saturating_sub(counted), client));
            if let Some(entry) = self.table.get_mut(handle) {
                entry.connection.evict(self.clock);
                self.evicted += 1;
                self.evictions.closed.push(handle);
            }
            self.settle(handle);
            self.touch(handle);
        }
    }

    fn holdings(&self) -> HashMap<IpAddr, Holdings> {
        let mut clients: HashMap<IpAddr, Holdings> = HashMap::new();
        for handle in self.table.handles() {
            let entry = self.table.get(handle);
            if let Some((client, counted)) = entry.and_then(|entry| entry.connection.counted()) {
                let holdings = clients.entry(client).or_default();
                holdings.kept += counted;
                holdings.connections.push((counted, handle));
            }
        }
        clients
    }
}

fn max_lingering(budget: Option<&Budget>) -> usize {
    let fit = budget.map(|budget| budget.limit() / LINGERING_DIVISOR / LINGERING_COST);
    let fit = fit.and_then(|fit| usize::try_from(fit).ok());
    fit.map_or(MAX_LINGERING, |fit| fit.clamp(1, MAX_LINGERING))
}
