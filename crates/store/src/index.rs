//! Lists of sessions that have something in common, such as their user, so that all of them can be
//! found and ended.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Store, StoreError};

/// The largest number of sessions in an index.
pub(crate) const MAX_INDEXED: usize = 10_000;

#[allow(async_fn_in_trait)] // used within one thread: its futures need not be `Send`
pub trait Indexes: Store {
    /// Adds a session to an index until `end`, when the session expires. If the index is full, the
    /// session that expires first is revoked: one that no index has could not be found any more.
    async fn enter(&self, index: &str, sid: &str, end: SystemTime) -> Result<(), StoreError> {
        for surplus in self.insert(index, sid, end).await? {
            self.revoke(&surplus).await?;
            self.insert(index, &surplus, UNIX_EPOCH).await?;
        }
        Ok(())
    }

    /// Sets the end of a session in an index: an end in the past removes it. Returns other sessions
    /// that are too many and expire first, but not always all of them.
    async fn insert(
        &self,
        index: &str,
        sid: &str,
        end: SystemTime,
    ) -> Result<Vec<String>, StoreError>;

    /// The sessions of an index. Some may have been revoked.
    async fn entered(&self, index: &str) -> Result<Vec<String>, StoreError>;
}
