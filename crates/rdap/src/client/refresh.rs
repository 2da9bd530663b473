//! Renews IANA's registries: after the answer has been told, conditionally, at most once a day, and
//! only with complete files. A failed attempt is repeated after an hour at the earliest.

use std::time::Duration;

use roundtrip_model::Target;
use tokio::time::{Instant, timeout_at};

use super::Client;
use crate::bootstrap::Registry;
use crate::memory::registries::RegistryCopy;
use crate::pool::PoolRequest;

/// How long a copy is used without asking.
const LASTS: Duration = Duration::from_hours(24);
/// How long to wait after a failed attempt.
const AGAIN_AFTER: Duration = Duration::from_hours(1);
/// Short, because the answer has been told and the user waits for the prompt.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest registry has some hundred kilobytes.
const LARGEST: u64 = 16 << 20;

impl Client {
    /// Loads the copy of an earlier run if it is newer than the embedded one; once, when the
    /// registry is first needed.
    pub(super) fn recall(&self, registry: Registry) {
        if self.used.borrow().contains(&registry) {
            return;
        }
        self.used.borrow_mut().push(registry);
        if let Some(copy) = self.memory.registry(registry.as_str()) {
            // A stored copy that is no longer valid is ignored.
            let _ = self.bootstrap.borrow_mut().renew(registry, &copy.body);
        }
    }

    /// Asks IANA for changes to the registries that this run used and that were not asked for
    /// today. Returns what went wrong; that is not an error, because the current copies remain.
    /// Does nothing if copies cannot be stored.
    pub async fn refresh(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let base = self.options.registries.as_ref();
        let Some(base) = base.filter(|_| self.memory.is_somewhere()) else {
            return notes;
        };
        let deadline = Instant::now() + PATIENCE;
        let used = self.used.borrow().clone();
        for registry in used {
            let name = registry.as_str();
            let copy = self.memory.registry(name);
            let due = |copy: &RegistryCopy| Self::now().since(copy.fetched_at) >= LASTS;
            if !copy.as_ref().is_none_or(due) {
                continue;
            }
            let refreshed = timeout_at(deadline, self.refresh_one(base, registry, copy.as_ref()));
            let refreshed = refreshed.await;
            let refreshed = refreshed.unwrap_or_else(|_| Err("it took too long".to_owned()));
            if let Err(why) = refreshed {
                let tried = RegistryCopy {
                    fetched_at: Self::now().minus(LASTS).plus(AGAIN_AFTER),
                    ..copy.unwrap_or_default()
                };
                self.memory.keep_registry(name, &tried);
                let publication = self.bootstrap.borrow().publication(registry).to_owned();
                notes.push(format!(
                    "IANA's registry of {registry} was not renewed, and the copy of {publication} stays: {why}"
                ));
            }
        }
        notes
    }

    async fn refresh_one(
        &self,
        base: &Target,
        registry: Registry,
        known: Option<&RegistryCopy>,
    ) -> Result<(), String> {
        let now = Self::now();
        let target = base.join(&registry.file_name());
        let mut ask = PoolRequest::new(target.map_err(|e| e.to_string())?);
        ask.limit = LARGEST;
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
            (304, Some(copy)) => RegistryCopy {
                fetched_at: now,
                ..copy.clone()
            },
            (200, _) => {
                let mut bootstrap = self.bootstrap.borrow_mut();
                bootstrap
                    .renew(registry, &reply.body)
                    .map_err(|e| e.to_string())?;
                RegistryCopy {
                    body: reply.body.to_vec(),
                    etag: field("etag"),
                    last_modified: field("last-modified"),
                    fetched_at: now,
                }
            }
            (status, _) => return Err(format!("HTTP {status}")),
        };
        self.memory.keep_registry(registry.as_str(), &renewed);
        Ok(())
    }
}
