//! Runs the near cache, and adds its counters and those of logins to the thread's ledger once a
//! second.

use std::pin::pin;
use std::rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use roundtrip_store::Counts as StoreCounts;
use tokio::time::{MissedTickBehavior, interval};

use crate::judge::openid::LoginCounts;
use crate::judge::sessions::{NearSessions, Outage};
use crate::record::{Counted, Gauge, Ledger, Store, Streams};

const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the cache for as long as anything else uses it. After a reload with another store,
/// exchanges that began before the reload may still use this one; `current` is gone then.
pub(crate) async fn sessions(
    known: NearSessions,
    current: rc::Weak<()>,
    outage: Outage,
    ledger: Arc<Ledger>,
) {
    let mut ticks = interval(COUNT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = StoreCounts::default();
    let mut running = pin!(known.clone().run());
    // This task has two clones.
    while known.is_shared_by_more_than(2) {
        tokio::select! {
            () = &mut running => return,
            _ = ticks.tick() => {}
        }
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
        if current.strong_count() == 0 {
            continue;
        }
        ledger.set(Gauge::Sessions, known.remembered() as u64);
        if let Some(why) = known.why_down() {
            outage.is_told(why);
        }
        ledger.set(Gauge::StoreDown, u64::from(known.is_down()));
    }
}

/// Adds the events of logins to a ledger, for as long as their service runs. Each event is taken by
/// one thread.
pub(crate) async fn logins(counts: Weak<LoginCounts>, ledger: Arc<Ledger>) {
    let mut ticks = interval(COUNT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(counts) = counts.upgrade() else {
            return;
        };
        for (event, count) in counts.take() {
            ledger.add(event, count);
        }
    }
}

fn more(ledger: &Ledger, what: impl Counted, before: u64, now: u64) {
    ledger.add(what, now.saturating_sub(before));
}
