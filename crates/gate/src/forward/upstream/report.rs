//! Reports the counts of a thread's upstreams to its ledger, periodically.

use std::cell::Cell;
use std::rc::Rc;

use super::{Counts, Upstream};
use crate::record::{Gauge, Ledger, Limit, Link, Pool};

/// What has been reported to the ledger.
#[derive(Debug, Default)]
pub(super) struct Reported(Cell<Counts>);

/// Reports for all upstreams of the thread; each gauge is the sum over them.
pub(crate) fn report<'a>(upstreams: impl Iterator<Item = &'a Rc<Upstream>>, ledger: &Ledger) {
    let mut all = Counts::default();
    let (mut servers, mut down) = (0, 0);
    for upstream in upstreams {
        upstream.pools.gauge(upstream.shared_open());
        upstream.report(ledger);
        upstream.pools.counts().read(&mut all);
        servers += upstream.group.well.len();
        down += upstream.pools.down();
    }
    ledger.set(Gauge::Links, all.open);
    ledger.set(Gauge::IdleLinks, all.unused);
    ledger.set(Gauge::Servers, servers as u64);
    ledger.set(Gauge::ServersDown, down as u64);
}

impl Upstream {
    /// Reports what was counted since the last time.
    fn report(&self, ledger: &Ledger) {
        let mut now = Counts::default();
        self.pools.counts().read(&mut now);
        let before = self.told.0.replace(now);
        let more = |of: fn(&Counts) -> u64| of(&now).saturating_sub(of(&before));
        ledger.add(Link::Opened, more(|c| c.opened));
        ledger.add(Link::Closed, more(Counts::closed));
        ledger.add(Link::Failed, more(|c| c.unreached));
        ledger.add(Pool::Waited, more(|c| c.waited));
        ledger.add(Pool::Ejected, more(|c| c.ejected));
        ledger.add(Limit::UpstreamConnections, more(|c| c.refused));
        ledger.add(Limit::RetryBudget, more(|c| c.over_budget));
    }
}

impl Counts {
    /// The connections that were closed for any reason.
    pub(crate) fn closed(&self) -> u64 {
        self.idled + self.aged + self.left + self.surplus + self.spent
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::forward::upstream::Group;
    use crate::record::Ledgers;

    #[test]
    fn the_ledger_hears_of_everything_once() {
        let config = crate::config::Upstream {
            servers: vec!["http://127.0.0.1:1".into(), "http://127.0.0.1:2".into()],
            ..crate::config::Upstream::default()
        };
        let group = Group::new("app", 0, &config).unwrap();
        let book = Ledgers::new(1);
        let ledger: Arc<Ledger> = book.ledger(0);
        let all = [Upstream::new(&group), Upstream::new(&group)];
        for (turn, waited) in [(1, 5), (2, 5), (3, 7)] {
            for upstream in &all {
                let counts = upstream.pools.counts();
                counts.waited.add(waited - counts.waited.get());
            }
            report(all.iter(), &ledger);
            let sum = book.snapshot();
            assert_eq!(sum.get(Pool::Waited), 2 * waited, "turn {turn}");
            assert_eq!(sum.gauge(Gauge::Servers), 4);
            assert_eq!(sum.gauge(Gauge::ServersDown), 0);
        }
        group.well[0].store(false, std::sync::atomic::Ordering::Relaxed);
        report(all.iter().take(1), &ledger);
        assert_eq!(book.snapshot().gauge(Gauge::ServersDown), 1);
    }
}
