//! The shared connections of one upstream. An exchange that finds all of them full waits for a
//! stream that becomes free, or for a further connection, which a separate task opens. They are
//! closed when they are too old.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::{Instant, timeout_at};

use super::{FIRST_STREAMS, H2Stream, MAX_STREAMS, SharedEnd, SharedH2};
use crate::config::UpstreamProtocol;
use crate::fair_queue::FairLock;
use crate::forward::upstream::{Upstream, UpstreamError};

/// The pause after a further connection could not be opened, while the existing ones carry
/// exchanges.
const PAUSE: Duration = Duration::from_secs(1);

/// The shared connections to one server: those for all requests, and those for requests with a
/// large head, because some servers answer a head that is too large by ending the connection.
pub(in crate::forward::upstream) type SharedSlot = [SharedPlace; 2];

#[derive(Debug, Default)]
pub(in crate::forward::upstream) struct SharedPlace {
    open: RefCell<Vec<SharedH2>>,
    /// Clients wait in turn for this lock; the exchange that holds it waits for `room`.
    turn: FairLock,
    room: Arc<Notify>,
    opening: Cell<bool>,
    /// Why the last connection could not be opened.
    failed: RefCell<Option<UpstreamError>>,
    /// No further connection is opened before this time.
    pause: Cell<Option<Instant>>,
    /// The limit of streams that the server has stated last.
    most: Cell<Option<usize>>,
}

/// A connection that is being opened.
struct Opening<'a>(&'a SharedPlace);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.opening.set(false);
        self.0.room.notify_one();
    }
}

impl SharedPlace {
    /// Whether a further connection would help. A server that has not stated its limit may admit
    /// more streams soon; one that admits none on an unused connection admits none on the next.
    fn needs_another(&self) -> bool {
        let all = |used: fn(&SharedH2) -> bool| self.open.borrow().iter().all(used);
        !self.opening.get()
            && all(|shared| shared.stated().is_some() && shared.streams() > 0)
            && (self.open.borrow().is_empty() || self.pause().is_none())
    }

    /// Notes that a connection is being opened. An earlier failure is forgotten, so that no
    /// exchange gets it.
    fn begin_to_open(&self) {
        self.opening.set(true);
        self.failed.take();
    }

    fn pause(&self) -> Option<Instant> {
        self.pause.get().filter(|until| *until > Instant::now())
    }

    /// The most streams on the next connection until its server states its limit.
    fn expected(&self) -> usize {
        let open = self.open.borrow();
        let stated = open.iter().rev().find_map(SharedH2::stated);
        stated.or(self.most.get()).unwrap_or(FIRST_STREAMS)
    }
}

impl Upstream {
    /// A stream to a server, and whether its connection was open before.
    pub(in crate::forward::upstream) async fn stream(
        &self,
        server: usize,
        large_head: bool,
        client: Option<IpAddr>,
        deadline: Instant,
    ) -> Result<(H2Stream, bool), UpstreamError> {
        let Some(place) = self.shared_place(server, large_head) else {
            let upstream = self.group.name.clone();
            return Err(UpstreamError::NoneWell { upstream });
        };
        let began = Instant::now();
        // Exchanges that already wait come first.
        if let Some(_turn) = place.turn.try_lock()
            && let Some(joined) = self.join_open(place, began)
        {
            return Ok(joined);
        }
        let turn = timeout_at(deadline, place.turn.lock(client)).await;
        let _turn = turn.map_err(|_| self.no_stream(place, server))?;
        loop {
            if let Some(joined) = self.join_open(place, began) {
                return Ok(joined);
            }
            if Instant::now() >= deadline {
                return Err(self.no_stream(place, server));
            }
            if place.needs_another()
                && let Some(upstream) = self.this.upgrade()
            {
                // The exchange that waits for it may leave, and another one then waits for it.
                place.begin_to_open();
                spawn_local(async move { upstream.open_shared(server, large_head).await });
            }
            let until = place.pause().map_or(deadline, |until| until.min(deadline));
            let _ = timeout_at(until, place.room.notified()).await;
            let failed = place.failed.take();
            if let Some(failed) = failed.filter(|_| place.open.borrow().is_empty()) {
                return Err(failed);
            }
        }
    }

    /// Opens a stream on the first connection that has room, so that the last ones become idle.
    fn join_open(&self, place: &SharedPlace, began: Instant) -> Option<(H2Stream, bool)> {
        self.give_up(place);
        let mut open = place.open.borrow_mut();
        while let Some(at) = open.iter().position(|shared| !shared.is_full()) {
            if let Some(shared) = open.get_mut(at)
                && let Ok(stream) = shared.stream()
            {
                let reused = shared.since < began;
                self.pools.counts().reused.add(reused.into());
                return Some((stream, reused));
            }
            // The server sent GOAWAY; exchanges in progress continue.
            open.remove(at);
            self.pools.counts().left.add(1);
        }
        None
    }

    /// Opens a connection before it is needed.
    pub(in crate::forward::upstream) async fn share_early(&self, server: usize) {
        if let Some(place) = self.shared_place(server, false)
            && place.open.borrow().is_empty()
            && place.needs_another()
        {
            self.open_shared(server, false).await;
        }
    }

    /// Gives up connections that are too old, and connections whose server is silent.
    pub(in crate::forward::upstream) fn look_after_shared(&self) {
        for place in self.shared.as_flattened() {
            place.open.borrow_mut().iter_mut().for_each(SharedH2::probe);
            self.give_up(place);
        }
    }

    /// The number of shared connections, if connections are shared.
    pub(in crate::forward::upstream) fn shared_open(&self) -> Option<usize> {
        if self.protocol() != UpstreamProtocol::H2 {
            return None;
        }
        let places = self.shared.as_flattened().iter();
        Some(places.map(|place| place.open.borrow().len()).sum())
    }

    fn shared_place(&self, server: usize, large_head: bool) -> Option<&SharedPlace> {
        let [usual, large] = self.shared.get(server)?;
        Some(if large_head { large } else { usual })
    }

    /// Why an exchange got no stream in time.
    fn no_stream(&self, place: &SharedPlace, server: usize) -> UpstreamError {
        if !place.open.borrow().is_empty() {
            return self.busy();
        }
        self.silent(server)
    }

    fn silent(&self, server: usize) -> UpstreamError {
        UpstreamError::Silent {
            server: self.group.shown(server),
            within: self.group.config.connect.0,
        }
    }

    fn give_up(&self, place: &SharedPlace) {
        let config = &self.group.config;
        let counts = self.pools.counts();
        place.open.borrow_mut().retain(|shared| {
            let Some(end) = shared.over(config.idle_time.0, config.age.0) else {
                return true;
            };
            match end {
                SharedEnd::Left => counts.left.add(1),
                SharedEnd::Aged => counts.aged.add(1),
                SharedEnd::Idled => counts.idled.add(1),
            }
            place.most.set(shared.stated().or(place.most.get()));
            false
        });
    }

    async fn open_shared(&self, server: usize, large_head: bool) {
        let Some(place) = self.shared_place(server, large_head) else {
            return;
        };
        place.begin_to_open();
        let opening = Opening(place);
        match self.share(server, place, self.deadline()).await {
            Ok(shared) => {
                place.pause.set(None);
                place.open.borrow_mut().push(shared);
            }
            Err(trouble) => {
                place.pause.set(Some(Instant::now() + PAUSE));
                *place.failed.borrow_mut() = Some(trouble);
            }
        }
        drop(opening);
    }

    async fn share(
        &self,
        server: usize,
        place: &SharedPlace,
        deadline: Instant,
    ) -> Result<SharedH2, UpstreamError> {
        let counts = self.pools.counts();
        let opened = self.group.open(server, false, deadline).await;
        let opened = opened.inspect_err(|_| counts.unreached.add(1))?;
        let most = place.expected().min(MAX_STREAMS);
        let shared = SharedH2::open(opened.wire, most, place.room.clone());
        let shared = timeout_at(deadline, shared).await;
        let shared = shared.map_err(|_| self.silent(server))?;
        let shared = shared.map_err(|source| UpstreamError::H2 {
            server: self.group.shown(server),
            source,
        })?;
        counts.opened.add(1);
        counts.resumed.add(opened.resumed.into());
        Ok(shared)
    }
}
