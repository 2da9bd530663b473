//! Renews IANA's registries in parallel with the lookups that use them, with conditional requests,
//! at most once a day, and only with complete files. No answer waits for this, unless no server is
//! known for the query. A failed attempt is repeated after an hour at the earliest, or after a
//! minute for such a query. An attempt that the end of the process interrupted is repeated after
//! ten minutes, with the ticket of the first.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_model::Target;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use super::Client;
use crate::bootstrap::Registry;
use roundtrip_fetch::memory::documents::Document;
use roundtrip_fetch::pool::PoolRequest;

/// How long a copy is used without a new request.
const RENEWAL_INTERVAL: Duration = Duration::from_hours(24);
/// How long a copy is used without a new request if a query has no known server; also the pause
/// after a failed attempt for such a query.
const INTERVAL_IF_WANTED: Duration = Duration::from_mins(1);
/// The time to wait after a failed attempt.
const RETRY_AFTER: Duration = Duration::from_hours(1);
/// The time to wait after an attempt that the end of the process interrupted. The interruption says
/// nothing about IANA, but cost both sides a connection.
const RETRY_AFTER_CUT: Duration = Duration::from_mins(10);
/// The age that a copy gets when an attempt to renew it fails.
const AGE_AFTER_FAILURE: Duration = RENEWAL_INTERVAL.saturating_sub(RETRY_AFTER);
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit if a query waits for the registry, so it is short.
const WANTED_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest registry has some hundred kilobytes.
const MAX_BODY: u64 = 16 << 20;

/// A registry that this run needed.
#[derive(Clone)]
pub(super) struct Used {
    registry: Registry,
    /// The daily attempt of this run.
    renewal: Rc<OnceCell<Attempt>>,
    /// The attempt for a query without a known server, if no other attempt was due.
    wanted: Rc<OnceCell<Attempt>>,
}

/// An attempt to renew a registry.
#[derive(Clone)]
enum Attempt {
    NotDue,
    Succeeded,
    /// Contains a note for the user.
    Failed(String),
}

/// The reason for an attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Age,
    Want,
}

/// The meaning of an attempt that is not complete when the wait for it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Failed,
    Interrupted,
}

impl Client {
    /// Loads the copy of an earlier run if it is newer than the embedded one; once, when the
    /// registry is first needed.
    pub(super) fn recall(&self, registry: Registry) {
        if self.used.borrow().iter().any(|u| u.registry == registry) {
            return;
        }
        self.used.borrow_mut().push(Used {
            registry,
            renewal: Rc::default(),
            wanted: Rc::default(),
        });
        if let Some(copy) = self.memory.document(registry.as_str()) {
            // A stored copy that is no longer valid is ignored.
            let _ = self.bootstrap.borrow_mut().renew(registry, &copy.body);
        }
        self.newly_used.notify_one();
    }

    /// Renews registries when they are first used. Poll it in parallel with the lookups; it never
    /// ends.
    pub async fn renew_as_used(&self) -> Infallible {
        loop {
            self.newly_used.notified().await;
            for n in 0.. {
                let used = self.used.borrow().get(n).cloned();
                let Some(used) = used else { break };
                self.renew_once(&used).await;
            }
        }
    }

    /// Waits for the renewal of the registries that this run used, but no longer than `limit`.
    /// Returns notes about failures; these are not errors, because the current copies remain. An
    /// attempt that is not complete by then has failed.
    pub async fn refresh(&self, limit: Duration) -> Vec<String> {
        self.refresh_within(limit, Cut::Failed).await
    }

    /// Like [`Self::refresh`], but for a process that may wait only briefly: an attempt that is not
    /// complete after `grace` is interrupted. That is not a failure, and the next run tries again.
    pub async fn refresh_briefly(&self, grace: Duration) -> Vec<String> {
        self.refresh_within(grace, Cut::Interrupted).await
    }

    async fn refresh_within(&self, limit: Duration, cut: Cut) -> Vec<String> {
        let deadline = Instant::now() + limit;
        let mut notes = Vec::new();
        let all = self.used.borrow().clone();
        for used in all {
            match timeout_at(deadline, self.renew_once(&used)).await {
                Ok(attempt) => notes.extend(attempt.note()),
                Err(_) if cut == Cut::Interrupted => {
                    self.stamp(
                        used.registry,
                        RENEWAL_INTERVAL.saturating_sub(RETRY_AFTER_CUT),
                    );
                }
                Err(_) => notes.push(self.gave_up(used.registry, "it did not answer in time")),
            }
            notes.extend(used.wanted.get().and_then(Attempt::note));
        }
        notes
    }

    /// Renews the registry that lists no server for a query: it could list one by now.
    pub(super) async fn renew_for_want(&self, registry: Registry) {
        let used = {
            let all = self.used.borrow();
            all.iter().find(|u| u.registry == registry).cloned()
        };
        let Some(used) = used else { return };
        // A longer attempt continues in parallel to the lookups.
        let renewed = timeout(WANTED_TIMEOUT, self.renew_once(&used)).await;
        if matches!(renewed, Ok(Attempt::NotDue)) {
            let attempt = || self.renew(used.registry, Reason::Want);
            used.wanted.get_or_init(attempt).await;
        }
    }

    /// Makes one attempt for all callers: the first one makes it, and the others wait for it.
    async fn renew_once(&self, used: &Used) -> Attempt {
        let attempt = || self.renew(used.registry, Reason::Age);
        used.renewal.get_or_init(attempt).await.clone()
    }

    /// Asks IANA whether the registry changed. Because of its age alone, IANA is asked only if the
    /// new copy can be stored.
    async fn renew(&self, registry: Registry, reason: Reason) -> Attempt {
        let Some(base) = self.options.registries.as_ref() else {
            return Attempt::NotDue;
        };
        let copy = self.memory.document(registry.as_str());
        let is_due = match (&copy, reason) {
            (None, Reason::Age) => self.memory.is_somewhere(),
            (None, Reason::Want) => true,
            (Some(copy), _) => is_due(Self::now().since(copy.fetched_at), reason),
        };
        if !is_due {
            return Attempt::NotDue;
        }
        let limit = match reason {
            Reason::Age => RENEWAL_TIMEOUT,
            Reason::Want => WANTED_TIMEOUT,
        };
        let renewed = timeout(limit, self.refresh_one(base, registry, copy.as_ref())).await;
        match renewed.unwrap_or_else(|_| Err("it took too long".to_owned())) {
            Ok(()) => Attempt::Succeeded,
            Err(why) => Attempt::Failed(self.gave_up(registry, &why)),
        }
    }

    /// Notes the failed attempt, so that it is not repeated soon. Returns a note for the user.
    fn gave_up(&self, registry: Registry, why: &str) -> String {
        self.stamp(registry, AGE_AFTER_FAILURE);
        let publication = self.bootstrap.borrow().publication(registry).to_owned();
        format!(
            "IANA's registry of {registry} was not renewed, and the copy of {publication} stays in use: {why}"
        )
    }

    /// Gives the stored copy this age, which determines when it is due again.
    fn stamp(&self, registry: Registry, age: Duration) {
        let copy = self.memory.document(registry.as_str());
        let tried = Document {
            fetched_at: Self::now().minus(age),
            ..copy.unwrap_or_default()
        };
        self.memory.keep_document(registry.as_str(), &tried);
    }

    async fn refresh_one(
        &self,
        base: &Target,
        registry: Registry,
        known: Option<&Document>,
    ) -> Result<(), String> {
        let now = Self::now();
        let target = base.join(&registry.file_name());
        let target = target.map_err(|e| e.to_string())?;
        // Without the ticket of an earlier run, a short process might never get the answer.
        self.saved.load(&target, &self.pool, now);
        let mut ask = PoolRequest::new(target);
        ask.limit = MAX_BODY;
        ask.headers = self.plain_headers();
        let fields = [
            ("If-None-Match", known.and_then(|c| c.etag.clone())),
            (
                "If-Modified-Since",
                known.and_then(|c| c.last_modified.clone()),
            ),
        ];
        for (field, value) in fields {
            ask.headers.extend(value.map(|v| (field.to_owned(), v)));
        }
        let reply = self.pool.fetch(&ask).await.map_err(|e| e.to_string())?;
        let field = |name: &str| {
            let value = reply.header(name)?;
            std::str::from_utf8(value).ok().map(str::to_owned)
        };
        let renewed = match (reply.status, known) {
            (304, Some(copy)) => Document {
                fetched_at: now,
                ..copy.clone()
            },
            (200, _) => {
                let mut bootstrap = self.bootstrap.borrow_mut();
                bootstrap
                    .renew(registry, &reply.body)
                    .map_err(|e| e.to_string())?;
                Document {
                    body: reply.body.to_vec(),
                    etag: field("etag"),
                    last_modified: field("last-modified"),
                    fetched_at: now,
                }
            }
            (status, _) => return Err(format!("HTTP {status}")),
        };
        self.memory.keep_document(registry.as_str(), &renewed);
        Ok(())
    }
}

/// Whether to renew a copy of that age.
fn is_due(age: Duration, reason: Reason) -> bool {
    let wanted = reason == Reason::Want;
    let since_attempt = age.checked_sub(AGE_AFTER_FAILURE).unwrap_or(age);
    age >= RENEWAL_INTERVAL || wanted && since_attempt >= INTERVAL_IF_WANTED
}

impl Attempt {
    fn note(&self) -> Option<String> {
        match self {
            Self::Failed(note) => Some(note.clone()),
            Self::NotDue | Self::Succeeded => None,
        }
    }
}
