//! The text for each path of the admin server.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::history::History;
use super::{Readiness, ReadinessError, certificate_metrics, document, page, server_metrics};
use crate::admin::dependencies::{self, Dependencies};
use crate::record::prometheus::{self, Process};
use crate::record::{Ledgers, LogSender, Snapshot};

/// Shared by all admin connections.
pub(crate) struct AdminState {
    book: Ledgers,
    log: Option<LogSender>,
    /// Set when gate is about to end.
    draining: Arc<AtomicBool>,
    dependencies: Arc<Dependencies>,
    began: Instant,
    started: SystemTime,
    /// The program's name and version, such as `roundtrip 0.1.0`.
    made_by: String,
    history: Mutex<History>,
    /// Names in `Host` that are accepted.
    hosts: Mutex<Vec<String>>,
}

/// The resource that is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Page,
    /// The part of the page that changes.
    Live,
    Alive,
    Ready,
    Metrics,
    MetricsJson,
}

/// An answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) policy: Option<&'static str>,
    pub(super) body: String,
}

/// The state at one moment.
pub(super) struct AdminView<'a> {
    pub(super) snapshot: Snapshot,
    pub(super) ready: Result<(), ReadinessError>,
    /// Problems that do not make gate unready.
    pub(super) but: Vec<String>,
    pub(super) dependencies: dependencies::DependencyView,
    pub(super) process: Process,
    pub(super) uptime_s: u64,
    pub(super) made_by: &'a str,
    pub(super) history: MutexGuard<'a, History>,
}

const PLAIN: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

impl Topic {
    /// The topic of a path without its query.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::Page,
            "/live" => Self::Live,
            "/healthz" => Self::Alive,
            "/readyz" => Self::Ready,
            "/metrics" => Self::Metrics,
            "/metrics.json" => Self::MetricsJson,
            _ => return None,
        })
    }
}

impl AdminState {
    pub(crate) fn new(
        book: Ledgers,
        draining: Arc<AtomicBool>,
        dependencies: Arc<Dependencies>,
        made_by: String,
    ) -> Self {
        Self {
            book,
            log: None,
            draining,
            dependencies,
            began: Instant::now(),
            started: SystemTime::now(),
            made_by,
            history: Mutex::default(),
            hosts: Mutex::default(),
        }
    }

    /// Adds the counts of the access log.
    pub(crate) fn with_log(mut self, sender: LogSender) -> Self {
        self.log = Some(sender);
        self
    }

    /// Sets the host names that are accepted.
    pub(crate) fn is_called(&self, hosts: &[String]) {
        let mut known = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        *known = hosts.to_vec();
    }

    /// Whether this `Host` is accepted. A foreign page can make a name point here, but not an
    /// address (DNS rebinding).
    pub(super) fn answers_to(&self, host: &str) -> bool {
        let name = name(host);
        if name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Adds a point to the charts.
    pub(super) fn sample(&self, now: Instant) {
        self.history().look(now, self.book.snapshot());
    }

    pub(super) fn reply(&self, topic: Topic) -> Reply {
        let (content_type, policy, body) = match topic {
            Topic::Alive => (PLAIN, None, "alive\n".into()),
            Topic::Ready => return self.ready(),
            Topic::Metrics => {
                let view = self.view();
                let mut text = prometheus::text(&view.snapshot, &view.process);
                server_metrics::append(&mut text, &view.dependencies.upstreams);
                certificate_metrics::append(&mut text, &view.dependencies, SystemTime::now());
                (prometheus::CONTENT_TYPE, None, text)
            }
            Topic::MetricsJson => ("application/json", None, document::text(&self.view())),
            Topic::Page => (HTML, Some(page::policy()), page::whole(&self.view())),
            Topic::Live => (HTML, None, page::live(&self.view()).into_string()),
        };
        Reply {
            status: 200,
            content_type,
            policy,
            body,
        }
    }

    fn ready(&self) -> Reply {
        let dependencies = self.dependencies.view(Instant::now());
        let readiness = self.readiness(&self.book.snapshot(), &dependencies);
        let (status, body) = match readiness.verdict() {
            Ok(()) => {
                let but: String = readiness
                    .but()
                    .iter()
                    .map(|b| format!("but: {b}\n"))
                    .collect();
                (200, format!("ready\n{but}"))
            }
            Err(why) => (503, format!("not ready: {why}\n")),
        };
        Reply {
            status,
            content_type: PLAIN,
            policy: None,
            body,
        }
    }

    fn readiness(
        &self,
        snapshot: &Snapshot,
        dependencies: &dependencies::DependencyView,
    ) -> Readiness {
        Readiness::new(snapshot, dependencies, self.draining.load(Relaxed))
    }

    fn view(&self) -> AdminView<'_> {
        let snapshot = self.book.snapshot();
        let dependencies = self.dependencies.view(Instant::now());
        let readiness = self.readiness(&snapshot, &dependencies);
        let ready = readiness.verdict();
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        AdminView {
            snapshot,
            process: Process {
                started: started.as_secs(),
                ready: ready.is_ok(),
                log: self.log.as_ref().map(LogSender::counts),
            },
            ready,
            but: readiness.but(),
            dependencies,
            uptime_s: self.began.elapsed().as_secs(),
            made_by: &self.made_by,
            history: self.history(),
        }
    }

    /// A panic cannot leave the points in a harmful state.
    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host without port, brackets and trailing dot.
fn name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    let name = host.split(':').next().unwrap_or(host);
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_is_what_is_left_of_a_host() {
        for (host, expected) in [
            ("127.0.0.1:9180", "127.0.0.1"),
            ("[::1]:9180", "::1"),
            ("[::1]", "::1"),
            ("localhost.", "localhost"),
            ("gate.internal:9180", "gate.internal"),
        ] {
            assert_eq!(name(host), expected);
        }
    }
}
