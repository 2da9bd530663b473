//! Where sessions are: in memory, in one file (redb), or in Redis; and the near cache before any of them.
//!
//! A store is opened once ([`Place`]) and used by each thread through a handle of its own ([`AnyStore`]). [`Near`] keeps
//! what a thread has learnt for as long as the store promises to say when it changes. What is in the credentials, and who
//! may have them, is for the gate to know.

mod change;
mod error;
mod file;
mod journal;
mod memory;
mod near;
mod once;
mod place;
mod record;
mod redis;

use std::sync::Arc;
use std::time::SystemTime;

pub use change::Change;
pub use error::StoreError;
pub use file::Redb;
pub use memory::Memory;
pub use near::{CacheStatus, Counts, Found, Kept, Near, NearSettings, Revoked};
pub use once::{Once, TakesOnce};
pub use place::{AnyStore, Place};
pub use record::Record;
pub use redis::{Address, Redis, RedisSettings};

/// What time it is; tests have their own.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The machine's time.
pub fn system_clock() -> Clock {
    Arc::new(SystemTime::now)
}

/// The longest name of a session; longer ones no store has.
pub const LONGEST_SID: usize = 512;

/// Some sessions, and where the next ones begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    pub sids: Vec<String>,
    /// To be given as `after` for what follows; `None` at the end.
    pub next: Option<String>,
}

/// Where sessions are. Expired ones are not there.
#[allow(async_fn_in_trait)] // a thread's own: no future of it goes to another
pub trait Store {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError>;

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError>;

    /// Other credentials for a session that is there with these; it ends when it did. Was it? One that was revoked
    /// meanwhile does not come back. (In Redis, one that was written anew meanwhile is written over.)
    async fn replace(
        &self,
        sid: &str,
        credentials: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError>;

    /// Was it there?
    async fn revoke(&self, sid: &str) -> Result<bool, StoreError>;

    /// About `limit` names, from where an earlier page ended. Redis gives them in no order, and some perhaps twice.
    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError>;
}

/// A store that says what changed in it.
#[allow(async_fn_in_trait)]
pub trait Source: Store {
    /// The oldest change that was not taken yet.
    fn next_change(&self) -> Option<Change>;

    /// Ends once there is a change to take. Whoever waits here also keeps the store's connection.
    async fn changed(&self);

    /// Does it say at this moment what changes? What it said earlier may be kept only as long as it does.
    fn is_watching(&self) -> bool;

    /// Was it asked in vain, and has not answered since?
    fn is_down(&self) -> bool;

    /// Then, what went wrong last.
    fn why_down(&self) -> Option<String> {
        None
    }

    /// Now, as the store's records count time.
    fn now(&self) -> SystemTime;
}

fn is_sid(sid: &str) -> bool {
    !sid.is_empty() && sid.len() <= LONGEST_SID
}

/// For those who write.
fn check_sid(sid: &str) -> Result<(), StoreError> {
    is_sid(sid).then_some(()).ok_or(StoreError::Sid)
}
