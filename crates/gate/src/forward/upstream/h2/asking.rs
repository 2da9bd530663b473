//! The shared connections of one upstream: opened by an exchange that finds all others full, closed
//! when they are too old.

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout_at};

use super::{H2Stream, MAX_STREAMS, SharedEnd, SharedH2};
use crate::config::UpstreamProtocol;
use crate::forward::upstream::{Upstream, UpstreamError};

/// The shared connections to one server: those for all requests, and those for requests with a
/// large head, because some servers answer a head that is too large by ending the connection.
pub(in crate::forward::upstream) type SharedSlot = [Mutex<Vec<SharedH2>>; 2];

impl Upstream {
    /// A stream to a server, and whether its connection was open before.
    pub(in crate::forward::upstream) async fn stream(
        &self,
        server: usize,
        large_head: bool,
        deadline: Instant,
    ) -> Result<(H2Stream, bool), UpstreamError> {
        let mut place = self.place(server, large_head, deadline).await?;
        self.give_up(&mut place);
        // The first that has room, so that the last ones become idle.
        while let Some(at) = place.iter().position(|shared| !shared.is_full()) {
            if let Some(shared) = place.get_mut(at)
                && let Ok(Ok(stream)) = timeout_at(deadline, shared.stream()).await
            {
                self.pools.counts().reused.add(1);
                return Ok((stream, true));
            }
            // The server sent GOAWAY; exchanges in progress continue.
            place.remove(at);
            self.pools.counts().left.add(1);
        }
        // The server's other connections have its limit.
        let most = place.last().map_or(MAX_STREAMS, SharedH2::most_streams);
        let mut shared = self.share(server, most, deadline).await?;
        let stream = shared.stream().await;
        let stream = stream.map_err(|source| self.no_h2(server, source))?;
        place.push(shared);
        Ok((stream, false))
    }

    /// Opens a connection before it is needed.
    pub(in crate::forward::upstream) async fn share_early(
        &self,
        server: usize,
    ) -> Result<(), UpstreamError> {
        let deadline = self.deadline();
        let mut place = self.place(server, false, deadline).await?;
        if place.is_empty() {
            let shared = self.share(server, MAX_STREAMS, deadline).await?;
            place.push(shared);
        }
        Ok(())
    }

    /// Gives up the connections that are too old.
    pub(in crate::forward::upstream) fn look_after_shared(&self) {
        for place in self.shared.as_flattened() {
            // The task that holds the lock is opening a connection.
            if let Ok(mut place) = place.try_lock() {
                self.give_up(&mut place);
            }
        }
    }

    /// The number of shared connections, if connections are shared.
    pub(in crate::forward::upstream) fn shared_open(&self) -> Option<usize> {
        if self.protocol() != UpstreamProtocol::H2 {
            return None;
        }
        let places = self.shared.as_flattened().iter();
        let places = places.filter_map(|place| place.try_lock().ok());
        Some(places.map(|place| place.len()).sum())
    }

    async fn place(
        &self,
        server: usize,
        large_head: bool,
        deadline: Instant,
    ) -> Result<MutexGuard<'_, Vec<SharedH2>>, UpstreamError> {
        let [usual, large] = self
            .shared
            .get(server)
            .ok_or_else(|| UpstreamError::NoneWell {
                upstream: self.group.name.clone(),
            })?;
        let place = if large_head { large } else { usual };
        timeout_at(deadline, place.lock())
            .await
            .map_err(|_| self.silent(server))
    }

    fn silent(&self, server: usize) -> UpstreamError {
        UpstreamError::Silent {
            server: self.group.shown(server),
            within: self.group.config.connect.0,
        }
    }

    fn give_up(&self, place: &mut Vec<SharedH2>) {
        let config = &self.group.config;
        let counts = self.pools.counts();
        place.retain(|shared| {
            match shared.over(config.idle_time.0, config.age.0) {
                None => return true,
                Some(SharedEnd::Left) => counts.left.add(1),
                Some(SharedEnd::Aged) => counts.aged.add(1),
                Some(SharedEnd::Idled) => counts.idled.add(1),
            }
            false
        });
    }

    async fn share(
        &self,
        server: usize,
        most: usize,
        deadline: Instant,
    ) -> Result<SharedH2, UpstreamError> {
        let counts = self.pools.counts();
        let opened = self.group.open(server, false, deadline).await;
        let opened = opened.inspect_err(|_| counts.unreached.add(1))?;
        let shared = timeout_at(deadline, SharedH2::open(opened.wire, most)).await;
        let shared = shared.map_err(|_| self.silent(server))?;
        let shared = shared.map_err(|source| self.no_h2(server, source))?;
        counts.opened.add(1);
        counts.resumed.add(opened.resumed.into());
        Ok(shared)
    }

    fn no_h2(&self, server: usize, source: h2::Error) -> UpstreamError {
        UpstreamError::H2 {
            server: self.group.shown(server),
            source,
        }
    }
}
