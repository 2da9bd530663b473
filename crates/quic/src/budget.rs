//! The number of bytes that all connections of one endpoint may keep, and the number for the
//! connections of one client.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A connection counts as keeping this much more than it does, so that it need not report each
/// change.
const STEP: u64 = 16 << 10;
/// When a limit was exceeded, connections are closed until a sixteenth of it is free.
const RELIEF: u64 = 16;

/// A budget of bytes that the connections of one endpoint share, each through
/// [`crate::Transport::budget`].
///
/// Once half of it is used, the windows of connections shrink. When it is exceeded, the endpoint
/// closes connections until the budget is no longer exceeded. Each time it chooses the client that
/// keeps most, and closes that client's largest connection. The connections of one client (an IPv4
/// address or an IPv6 /64) have half of the budget, by the same rules. New connections are refused
/// when nothing is left.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicU64,
    for_connection: u64,
    for_stream: u64,
    used: AtomicU64,
    /// More is used than permitted, in total or by one client.
    is_exceeded: AtomicBool,
    clients: Mutex<HashMap<IpAddr, Arc<AtomicU64>>>,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self {
            limit: AtomicU64::new(limit),
            for_connection: 0,
            for_stream: 0,
            used: AtomicU64::new(0),
            is_exceeded: AtomicBool::new(false),
            clients: Mutex::default(),
        }
    }

    /// Adds fixed costs for each connection and for each of its streams: the memory that an idle
    /// one takes, here and in the application.
    #[must_use]
    pub fn with_costs(self, for_connection: u64, for_stream: u64) -> Self {
        Self {
            for_connection,
            for_stream,
            ..self
        }
    }

    /// Sets another limit, which counts from the next report of a connection on.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// The number of bytes that count as used: at least as many as the connections keep.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether the budget is used up.
    pub fn is_exhausted(&self) -> bool {
        self.used() >= self.limit()
    }

    /// Whether the share of the client with this address is used up.
    pub(crate) fn is_exhausted_for(&self, client: IpAddr) -> bool {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let used = clients.get(&network(client));
        let used = used.map_or(0, |used| used.load(Ordering::Relaxed));
        self.is_exhausted() || used >= self.client_limit()
    }

    /// Whether connections have to be closed. The caller has to close them, because `true` is
    /// returned only once.
    #[inline]
    pub(crate) fn take_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed) && self.is_exceeded.swap(false, Ordering::Relaxed)
    }

    /// The limits after closing connections: in total, and for a client that uses `used` bytes.
    pub(crate) fn goals(&self, used: u64) -> (u64, u64) {
        let goal = |used, limit| {
            if used > limit {
                limit - limit / RELIEF
            } else {
                limit
            }
        };
        (
            goal(self.used(), self.limit()),
            goal(used, self.client_limit()),
        )
    }

    fn client_limit(&self) -> u64 {
        self.limit() / 2
    }
}

/// The part of `wanted` that is granted: everything while half of the limit is left, and after that
/// less and less.
fn granted(wanted: u64, limit: u64, used: u64) -> u64 {
    let half = (limit / 2).max(1);
    let left = limit.saturating_sub(used).min(half);
    let share = u128::from(wanted) * u128::from(left) / u128::from(half);
    u64::try_from(share).unwrap_or(wanted)
}

/// The network of a client: a host with one IPv6 address usually has 2⁶⁴ of them, so a /64 counts
/// as one client.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

/// What one connection has reported to its budget.
#[derive(Debug, Default)]
pub(crate) struct BudgetShare(Option<Reported>);

#[derive(Debug)]
struct Reported {
    budget: Arc<Budget>,
    /// The client that began the connection (even if it has moved since), and what it uses.
    client: IpAddr,
    by_client: Arc<AtomicU64>,
    counted: u64,
    was_short: bool,
}

impl BudgetShare {
    pub(crate) fn new(budget: Option<Arc<Budget>>, client: IpAddr) -> Self {
        let mut share = Self(budget.map(|budget| {
            let client = network(client);
            let by_client = {
                let mut clients = budget
                    .clients
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                clients.entry(client).or_default().clone()
            };
            Reported {
                budget,
                client,
                by_client,
                counted: 0,
                was_short: false,
            }
        }));
        share.settle(0, 0);
        share
    }

    /// Whether there is a budget to report to.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Reports that the connection now keeps `memory` bytes, and has that many streams. Returns
    /// true if windows have to follow the budget.
    #[inline]
    pub(crate) fn settle(&mut self, memory: u64, streams: usize) -> bool {
        let Some(reported) = &mut self.0 else {
            return false;
        };
        let budget = &reported.budget;
        let used = memory + budget.for_connection + budget.for_stream * streams as u64;
        if used >= reported.counted || used + 2 * STEP < reported.counted {
            reported.count(used + STEP);
        }
        let is_short = reported.is_short();
        let follows = is_short || reported.was_short;
        reported.was_short = is_short;
        follows
    }

    /// Takes back what was reported. Called when the connection has ended and keeps almost nothing.
    pub(crate) fn release(&mut self) {
        if let Some(reported) = &mut self.0 {
            reported.count(0);
        }
    }

    /// Returns the share of a connection that wants `wanted` bytes: at least `least`.
    pub(crate) fn share(&self, wanted: u64, least: u64) -> u64 {
        let Some(Reported {
            budget, by_client, ..
        }) = &self.0
        else {
            return wanted;
        };
        let of_all = granted(wanted, budget.limit(), budget.used());
        let by_client = by_client.load(Ordering::Relaxed);
        let of_client = granted(wanted, budget.client_limit(), by_client);
        of_all.min(of_client).max(least).min(wanted)
    }

    /// Whether less than half is left.
    pub(crate) fn is_short(&self) -> bool {
        self.0.as_ref().is_some_and(Reported::is_short)
    }

    /// The client, and how many of the bytes that it uses are counted for this connection.
    pub(crate) fn counted(&self) -> Option<(IpAddr, u64)> {
        let reported = self.0.as_ref()?;
        Some((reported.client, reported.counted))
    }
}

impl Reported {
    #[cold]
    fn count(&mut self, used: u64) {
        for total in [&self.budget.used, &*self.by_client] {
            total.fetch_add(used, Ordering::Relaxed);
            total.fetch_sub(self.counted, Ordering::Relaxed);
        }
        self.counted = used;
        let by_client = self.by_client.load(Ordering::Relaxed);
        let is_exceeded =
            self.budget.used() > self.budget.limit() || by_client > self.budget.client_limit();
        if is_exceeded {
            self.budget.is_exceeded.store(true, Ordering::Relaxed);
        }
    }

    fn is_short(&self) -> bool {
        let by_client = self.by_client.load(Ordering::Relaxed);
        self.budget.used() > self.budget.limit() / 2 || by_client > self.budget.client_limit() / 2
    }
}

impl Drop for Reported {
    fn drop(&mut self) {
        self.count(0);
        let clients = &self.budget.clients;
        let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
        // The other one is in the map.
        if Arc::strong_count(&self.by_client) == 2 {
            clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    #[test]
    fn shares_shrink_from_half_of_the_budget_on() {
        let budget = Arc::new(Budget::new(1 << 20));
        let begin = |number| BudgetShare::new(Some(budget.clone()), client(number));
        let mut accounts: Vec<_> = (0..4).map(begin).collect();
        let first = |accounts: &[BudgetShare]| accounts[0].share(1000, 10);
        let mut shares = vec![first(&accounts)];
        for at in 0..4 {
            accounts[at].settle(250 << 10, 0);
            shares.push(first(&accounts));
        }
        assert_eq!(shares[1], 1000 * (512 - 266) / 256);
        assert!(shares[2] < 1000 && shares[3] < shares[2]);
        assert_eq!((shares[4], budget.is_exhausted()), (10, true));
        assert!(budget.take_exceeded() && !budget.take_exceeded());
        accounts.pop();
        assert!(!budget.is_exhausted());
        accounts.clear();
        assert_eq!(budget.used(), 0);
        assert!(budget.clients.lock().unwrap().is_empty());
    }

    #[test]
    fn one_client_has_half_of_the_budget_and_others_lose_nothing() {
        let budget = Arc::new(Budget::new(8 << 20));
        let begin = |address: IpAddr| BudgetShare::new(Some(budget.clone()), address);
        let mut greedy: Vec<_> = ["2001:db8::1", "2001:db8::2:0:0:7"]
            .map(|address| begin(address.parse().unwrap()))
            .into();
        let other = begin(client(9));
        for share in &mut greedy {
            share.settle(2 << 20, 0);
        }
        assert_eq!(greedy[0].share(1000, 10), 10);
        assert_eq!(other.share(1000, 10), 1000 * (4096 - 48) / 4096);
        let more = "2001:db8::3".parse().unwrap();
        assert!(budget.is_exhausted_for(more) && !budget.is_exhausted_for(client(9)));
        assert!(budget.take_exceeded());
        let (all, of_client) = budget.goals((4 << 20) + 1);
        assert_eq!((all, of_client), (8 << 20, (4 << 20) / 16 * 15));
    }

    /// The counted bytes are never fewer than the kept ones, including the costs of connections and
    /// streams.
    #[test]
    fn counted_bytes_cover_kept_bytes_and_fixed_costs() {
        let budget = Arc::new(Budget::new(1 << 30).with_costs(1000, 10));
        let mut share = BudgetShare::new(Some(budget.clone()), client(1));
        assert_eq!(budget.used(), 1000 + STEP);
        for kept in [0, 5000, 20_000, 1 << 20, 900_000, 100] {
            share.settle(kept, 7);
            let least = kept + 1070;
            assert!(
                (least..=least + 2 * STEP).contains(&budget.used()),
                "{kept}"
            );
        }
        share.release();
        assert_eq!(budget.used(), 0);
    }
}
