//! Where sessions are stored: in memory, in one file (redb), or in Redis; with a near cache in
//! front of each.
//!
//! A store is opened once ([`SharedStore`]), and each thread uses it through its own handle
//! ([`AnyStore`]). [`Near`] keeps answers for as long as the store promises to report changes. Only
//! the gate knows what the credentials contain and who may use them.
//!
//! ```
//! use roundtrip_store::{Memory, SharedStore, Record, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), roundtrip_store::StoreError> {
//! let place = SharedStore::Memory(Memory::default());
//! let store = place.on_this_thread();
//! store.put("sid", &Record::new("user:password", None)).await?;
//! assert!(store.get("sid").await?.is_some());
//! store.revoke("sid").await?;
//! assert!(store.get("sid").await?.is_none());
//! # Ok(())
//! # }
//! ```

mod change;
mod error;
mod file;
mod index;
mod journal;
mod memory;
mod near;
mod once;
mod record;
mod redis;
mod shared_store;

use std::time::SystemTime;

pub use change::{Change, SlotPart, StorePart};
pub use error::StoreError;
pub use file::Redb;
pub use index::Indexes;
pub use memory::Memory;
pub use near::{CacheStatus, Counts, EntryHandle, Found, Near, NearSettings, Revoked};
pub use once::{Once, TakesOnce};
pub use record::Record;
pub use redis::{Address, Redis, RedisSettings, RedisTopology};
pub use shared_store::{AnyStore, SharedStore};

/// The longest name of a session, in bytes.
pub const MAX_SID: usize = 512;

/// Some sessions, and where the next page begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    pub sids: Vec<String>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
}

/// A store of sessions. Expired ones are treated as absent.
#[allow(async_fn_in_trait)] // used within one thread: its futures need not be `Send`
pub trait Store {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError>;

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError>;

    /// Stores several sessions, which takes less time than storing them one by one. If two have the
    /// same name, the later one stays. After an error, some of them may be stored.
    async fn put_all(&self, sessions: &[(&str, &Record)]) -> Result<(), StoreError> {
        for (sid, record) in sessions {
            self.put(sid, record).await?;
        }
        Ok(())
    }

    /// Replaces the credentials of a session if they still equal `credentials`; its expiry stays.
    /// Returns whether they were replaced. A session that was revoked meanwhile does not come back.
    /// (In Redis, a session that was written again meanwhile is overwritten.)
    async fn replace(
        &self,
        sid: &str,
        credentials: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError>;

    /// Replaces several sessions like [`Self::replace`], each given with its name and its present
    /// credentials, in less time than one after the other takes. Returns for each whether it was
    /// replaced. After an error, some of them may be replaced.
    async fn replace_all(
        &self,
        sessions: &[(&str, &[u8], &Record)],
    ) -> Result<Vec<bool>, StoreError> {
        let mut replaced = Vec::with_capacity(sessions.len());
        for (sid, credentials, record) in sessions {
            replaced.push(self.replace(sid, credentials, record).await?);
        }
        Ok(replaced)
    }

    /// Removes a session, and returns whether it was there.
    async fn revoke(&self, sid: &str) -> Result<bool, StoreError>;

    /// Lists about `limit` names, from the end of an earlier page. Redis returns them in any order,
    /// and can repeat some.
    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError>;
}

/// A store that reports its changes.
#[allow(async_fn_in_trait)]
pub trait Source: Store {
    /// Takes the oldest change that has not been taken yet.
    fn next_change(&self) -> Option<Change>;

    /// Waits until there is a change to take. The task that waits here also maintains the store's
    /// connection.
    async fn changed(&self);

    /// Whether the store reports changes of this session, or of all, at this moment. Answers can be
    /// kept only while it does.
    fn is_watching(&self, sid: Option<&str>) -> bool;

    /// Whether the last request for this session, or for any, failed.
    fn is_down(&self, sid: Option<&str>) -> bool;

    /// The last error, if the store is down.
    fn why_down(&self) -> Option<String> {
        None
    }

    /// The current time, on the clock of the store's records.
    fn now(&self) -> SystemTime;
}

fn is_sid(sid: &str) -> bool {
    !sid.is_empty() && sid.len() <= MAX_SID
}

/// Checks a name before it is written.
fn check_sid(sid: &str) -> Result<(), StoreError> {
    is_sid(sid).then_some(()).ok_or(StoreError::Sid)
}
