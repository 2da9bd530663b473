//! Adds the near cache's counters, and those of logins, to the thread's ledger once a second.

use std::sync::{Arc, Weak};
use std::time::Duration;

use roundtrip_store::Counts as StoreCounts;
use tokio::time::{MissedTickBehavior, interval};

use crate::judge::openid::LoginCounts;
use crate::judge::sessions::{NearSessions, Outage};
use crate::record::{Counted, Gauge, Ledger, Store, Streams};

const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs for as long as the thread serves.
pub(crate) async fn sessions(known: NearSessions, outage: Outage, ledger: Arc<Ledger>) {
    let mut ticks = interval(COUNT_INTERVAL);
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
