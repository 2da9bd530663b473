//! Chooses the next server: one that passes its checks and is not ejected, with the fewest
//! exchanges in progress, or the next in turn.

use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::{PoolError, PoolRequest, PooledServer, Pools, PoolsState};
use crate::config::Balance;
use crate::forward::upstream::pool::Poolable;

impl<C: Poolable> Pools<C> {
    pub(super) fn choose(
        &self,
        state: &mut PoolsState<C>,
        want: PoolRequest,
        now: Instant,
    ) -> Result<usize, PoolError> {
        let count = state.servers.len();
        let last_resort = self.last_resort(state, now)?;
        let mut best: Option<((bool, usize), usize)> = None;
        for at in (state.turn..count).chain(0..state.turn.min(count)) {
            let Some(server) = state.servers.get(at) else {
                continue;
            };
            let fits = match last_resort {
                Some(only) => at == only,
                None => self.is_well(at) && !server.standing.is_ejected(now),
            };
            let may_send = !want.upload || server.uploads < self.rules.uploads;
            if !fits || !may_send || !server.pool.has_room(&self.rules.bounds) {
                continue;
            }
            let rank = (want.not == Some(at), self.load(server));
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, at));
            }
        }
        let (_, at) = best.ok_or(PoolError::Busy)?;
        state.turn = (at + 1) % count.max(1);
        Ok(at)
    }

    pub(super) fn is_well(&self, server: usize) -> bool {
        self.well
            .get(server)
            .is_some_and(|well| well.load(Ordering::Relaxed))
    }

    /// Returns, if all healthy servers are ejected, the one that was ejected longest ago. Trying
    /// none would be worse.
    fn last_resort(&self, state: &PoolsState<C>, now: Instant) -> Result<Option<usize>, PoolError> {
        let mut resort: Option<(Instant, usize)> = None;
        for (at, server) in state.servers.iter().enumerate() {
            if !self.is_well(at) {
                continue;
            }
            match server.standing.ejected_at() {
                Some(since) if server.standing.is_ejected(now) => {
                    resort = resort.into_iter().chain([(since, at)]).min();
                }
                _ => return Ok(None),
            }
        }
        resort.map(|(_, at)| Some(at)).ok_or(PoolError::NoneWell)
    }

    fn load(&self, server: &PooledServer<C>) -> usize {
        match self.rules.balance {
            Balance::LeastRequests => server.busy,
            Balance::InTurn => 0,
        }
    }
}
