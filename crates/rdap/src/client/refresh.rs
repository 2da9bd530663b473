//! IANA's registries, renewed: after the answer was told, conditionally, at most once a day, and never by anything that
//! is not whole.

use std::time::Duration;

use roundtrip_model::Target;

use super::Client;
use crate::bootstrap::Registry;
use crate::memory::registries::RegistryCopy;
use crate::pool::Ask;

/// How long a copy is believed without asking.
const LASTS: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest has some hundred kilobytes.
const LARGEST: u64 = 16 << 20;

impl Client {
    /// Takes the copy of an earlier run, where it is newer than the one built in; once, when the registry is first needed.
    pub(super) fn recall(&self, registry: Registry) {
        if self.used.borrow().contains(&registry) {
            return;
        }
        self.used.borrow_mut().push(registry);
        if let Some(copy) = self.memory.registry(registry.as_str()) {
            // One that was good when it was kept and is not now is like none.
            let _ = self.bootstrap.borrow_mut().renew(registry, &copy.body);
        }
    }

    /// Asks IANA for what has changed in the registries that this run used and that were not asked for today. Says what went wrong, which is no error:
    /// the copies at hand stay.
    pub async fn refresh(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let used = self.used.borrow().clone();
        for registry in used {
            if let Err(why) = self.refresh_one(registry).await {
                let publication = self.bootstrap.borrow().publication(registry).to_owned();
                notes.push(format!(
                    "IANA's registry of {registry} was not renewed, and the copy of {publication} stays: {why}"
                ));
            }
        }
        notes
    }

    async fn refresh_one(&self, registry: Registry) -> Result<(), String> {
        let name = registry.as_str();
        let copy = self.memory.registry(name);
        let now = self.now();
        if copy
            .as_ref()
            .is_some_and(|c| now.since(c.fetched_at) < LASTS)
        {
            return Ok(());
        }
        let mut ask = Ask::new(Target::parse(&registry.url()).map_err(|e| e.to_string())?);
        ask.limit = LARGEST;
        ask.headers = self.plain_headers();
        let known = copy.as_ref();
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
        let renewed = match (reply.status, copy) {
            (304, Some(copy)) => RegistryCopy {
                fetched_at: now,
                ..copy
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
        self.memory.keep_registry(name, &renewed);
        Ok(())
    }
}
