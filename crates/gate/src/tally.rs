//! What stores and upstreams count by themselves, taken into a ledger once a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::Counts as StoreCounts;
use tokio::time::{MissedTickBehavior, interval};

use crate::record::{Counted, Gauge, Ledger, Link, Pool, Store, Streams};
use crate::sessions::Known;
use crate::upstream::{Counts, Group};

const EVERY: Duration = Duration::from_secs(1);

/// Of one thread's sessions, for as long as the thread serves.
pub(crate) async fn sessions(known: Known, ledger: Arc<Ledger>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = StoreCounts::default();
    loop {
        ticks.tick().await;
        let now = known.counts();
        more(&ledger, Store::Outage, before.outages, now.outages);
        more(
            &ledger,
            Store::Invalidated,
            before.invalidated,
            now.invalidated,
        );
        more(&ledger, Store::Flushed, before.flushes, now.flushes);
        more(&ledger, Streams::Revoked, before.revoked, now.revoked);
        before = now;
        ledger.set(Gauge::Sessions, known.remembered() as u64);
        ledger.set(Gauge::StoreDown, u64::from(known.is_down()));
    }
}

/// Of all threads' upstreams.
#[derive(Default)]
pub(crate) struct Upstreams(BTreeMap<String, Counts>);

impl Upstreams {
    pub(crate) fn take<'a>(
        &mut self,
        groups: impl Iterator<Item = (&'a String, &'a Arc<Group>)>,
        ledger: &Ledger,
    ) {
        let (mut open, mut unused, mut servers, mut down) = (0, 0, 0, 0);
        for (name, group) in groups {
            let now = group.counts();
            let before = self.0.insert(name.clone(), now).unwrap_or_default();
            more(ledger, Link::Opened, before.opened, now.opened);
            more(ledger, Link::Failed, before.unreached, now.unreached);
            more(ledger, Link::Closed, before.closed(), now.closed());
            more(ledger, Pool::Waited, before.waited, now.waited);
            more(ledger, Pool::Ejected, before.ejected, now.ejected);
            open += now.open;
            unused += now.unused;
            for (_, well) in group.servers() {
                servers += 1;
                down += u64::from(!well);
            }
        }
        ledger.set(Gauge::Links, open);
        ledger.set(Gauge::IdleLinks, unused);
        ledger.set(Gauge::Servers, servers);
        ledger.set(Gauge::ServersDown, down);
    }
}

/// A group that was made anew counts from nothing.
fn more(ledger: &Ledger, what: impl Counted, before: u64, now: u64) {
    ledger.add(what, now.checked_sub(before).unwrap_or(now));
}
