//! Adds the near cache's counters to the thread's ledger once a second.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::Counts as StoreCounts;
use tokio::time::{MissedTickBehavior, interval};

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

fn more(ledger: &Ledger, what: impl Counted, before: u64, now: u64) {
    ledger.add(what, now.saturating_sub(before));
}
