//! Lists of sessions that have something in common, such as their user, so that all of them can be
//! found and ended.

use std::time::SystemTime;

use crate::StoreError;

/// The largest number of sessions that an index returns.
pub(crate) const MAX_INDEXED: usize = 10_000;

#[allow(async_fn_in_trait)] // used within one thread: its futures need not be `Send`
pub trait Indexes {
    /// Adds a session to an index until `end`, when the session expires.
    async fn enter(&self, index: &str, sid: &str, end: SystemTime) -> Result<(), StoreError>;

    /// The sessions of an index. Some may have been revoked.
    async fn entered(&self, index: &str) -> Result<Vec<String>, StoreError>;
}
