//! The state of what gate depends on: the servers of its upstreams, and the session store, as all
//! threads together see them. The admin pages show it, `/readyz` uses it, and each change is
//! reported once, in one line.

mod expiry;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::forward::upstream::{Group, ServerState, ServerView};
use crate::judge::acme::{ActiveAcme, CertificateView};
use crate::judge::sessions::Outage;
use crate::record::{Gauge, Snapshot};
pub(crate) use expiry::Expiry;

/// The minimum time between two lines about the same thing; if it changes more often, its state at
/// the end of that time is reported.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

/// Shared by the maintenance thread and the admin connections.
#[derive(Default)]
pub(crate) struct Dependencies(Mutex<Watched>);

/// The dependencies of the present plan.
#[derive(Default)]
struct Watched {
    upstreams: Vec<UpstreamStatus>,
    /// `None` if no route needs a session.
    store: Option<StoreStatus>,
    acme: Option<Arc<ActiveAcme>>,
}

struct UpstreamStatus {
    group: Arc<Group>,
    /// The last report about each server.
    told: Vec<LastLogged>,
}

struct StoreStatus {
    outage: Outage,
    /// When the store stopped answering.
    down: Option<Instant>,
    told: LastLogged,
    grace: Duration,
    /// Whether some route works without the store.
    spared: bool,
}

/// The state that was last reported, and when.
#[derive(Debug, Clone, Copy, Default)]
struct LastLogged {
    down: Option<Instant>,
    at: Option<Instant>,
}

/// One upstream at this moment.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamView {
    pub(crate) name: Arc<str>,
    pub(crate) servers: Vec<ServerView>,
}

/// The session store at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreView {
    NotNeeded,
    Up,
    /// For how long the store has been down, and whether requests can no longer be served.
    Down {
        since: Duration,
        hopeless: bool,
    },
}

/// The state of all dependencies at one moment.
#[derive(Debug, Clone)]
pub(crate) struct DependencyView {
    pub(crate) upstreams: Vec<UpstreamView>,
    pub(crate) store: StoreView,
    /// The names for which certificates come from a CA, and its events.
    pub(crate) certificates: Vec<CertificateView>,
    pub(crate) acme_events: Vec<(&'static str, u64)>,
}

impl UpstreamView {
    /// The number of servers that may be used.
    pub(crate) fn up(&self) -> usize {
        let up = self.servers.iter().filter(|s| s.state == ServerState::Up);
        up.count()
    }
}

impl Dependencies {
    /// Follows a new plan. For unchanged upstreams and an unchanged store, earlier reports are
    /// remembered.
    pub(crate) fn follow<'g>(
        &self,
        config: &Config,
        groups: impl Iterator<Item = &'g Arc<Group>>,
        outage: &Outage,
    ) {
        let mut watched = self.watched();
        let before = std::mem::take(&mut *watched);
        let mut known = before.upstreams;
        let upstreams = groups.map(|group| {
            let at = known.iter().position(|u| Arc::ptr_eq(&u.group, group));
            at.map_or_else(|| UpstreamStatus::new(group), |at| known.swap_remove(at))
        });
        watched.upstreams = upstreams.collect();
        let routes = &config.route;
        let same = before.store.filter(|store| store.outage.is(outage));
        watched.store = routes.iter().any(|route| route.auth).then(|| StoreStatus {
            outage: outage.clone(),
            down: same.as_ref().and_then(|store| store.down),
            told: same.map(|store| store.told).unwrap_or_default(),
            grace: config.session.grace.0,
            spared: routes.iter().any(|route| !route.auth),
        });
    }

    /// Shows these certificates from now on.
    pub(crate) fn follow_acme(&self, acme: Option<Arc<ActiveAcme>>) {
        self.watched().acme = acme;
    }

    /// Reports changes, one line each.
    pub(crate) fn look(&self, snapshot: &Snapshot, now: Instant, tell: &mut dyn FnMut(String)) {
        let mut watched = self.watched();
        for upstream in &mut watched.upstreams {
            upstream.look(now, tell);
        }
        if let Some(store) = &mut watched.store {
            store.look(snapshot, now, tell);
        }
    }

    pub(crate) fn view(&self, now: Instant) -> DependencyView {
        let watched = self.watched();
        let upstream = |upstream: &UpstreamStatus| UpstreamView {
            name: upstream.group.name().clone(),
            servers: upstream.group.view(),
        };
        DependencyView {
            upstreams: watched.upstreams.iter().map(upstream).collect(),
            certificates: watched.acme.iter().flat_map(|acme| acme.views()).collect(),
            acme_events: watched.acme.iter().flat_map(|acme| acme.events()).collect(),
            store: watched
                .store
                .as_ref()
                .map_or(StoreView::NotNeeded, |store| store.view(now)),
        }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UpstreamStatus {
    fn new(group: &Arc<Group>) -> Self {
        Self {
            group: group.clone(),
            told: vec![LastLogged::default(); group.view().len()],
        }
    }

    fn look(&mut self, now: Instant, tell: &mut dyn FnMut(String)) {
        let servers = self.group.view();
        let of = servers.len();
        let left = servers
            .iter()
            .filter(|s| s.state == ServerState::Up)
            .count();
        for (server, told) in servers.iter().zip(&mut self.told) {
            let Some(change) = told.change(server.state != ServerState::Up, now) else {
                continue;
            };
            let what = match server.state.why() {
                Some(why) => why.to_owned(),
                None => format!("is back after {}", span(change)),
            };
            tell(format!(
                "upstream {}: {} {what}; {left} of {of} servers left",
                self.group.name(),
                server.address
            ));
        }
    }
}

impl StoreStatus {
    fn look(&mut self, snapshot: &Snapshot, now: Instant, tell: &mut dyn FnMut(String)) {
        // If one thread reaches it, it is up.
        let threads = snapshot.gauge(Gauge::Accepting).max(1);
        let is_down = snapshot.gauge(Gauge::StoreDown) >= threads;
        match (is_down, self.down) {
            (true, None) => self.down = Some(now),
            (false, Some(_)) => self.down = None,
            _ => {}
        }
        let Some(was_down) = self.told.change(is_down, now) else {
            return;
        };
        tell(if is_down {
            let why = self.outage.why();
            let grace = self.grace.as_secs();
            format!("store down: {why}; known sessions stay valid for {grace} s")
        } else {
            format!("store back after {}", span(was_down))
        });
    }

    fn view(&self, now: Instant) -> StoreView {
        match self.down {
            None => StoreView::Up,
            Some(down) => {
                let since = now.saturating_duration_since(down);
                StoreView::Down {
                    since,
                    hopeless: !self.spared && since >= self.grace,
                }
            }
        }
    }
}

impl LastLogged {
    /// How long the dependency was down, if its current state differs from the last report and must
    /// be reported now.
    fn change(&mut self, is_down: bool, now: Instant) -> Option<Duration> {
        let since = |then: Instant| now.saturating_duration_since(then);
        if self.down.is_some() == is_down || self.at.is_some_and(|at| since(at) < MIN_INTERVAL) {
            return None;
        }
        let was_down = self.down.map(since).unwrap_or_default();
        self.down = is_down.then_some(now);
        self.at = Some(now);
        Some(was_down)
    }
}

fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests;
