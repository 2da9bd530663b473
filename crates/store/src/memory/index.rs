//! Indexes of sessions, in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::index::{Indexes, MAX_INDEXED};
use crate::{Memory, StoreError};

/// The largest number of indexes that are looked through for expired ones at each entry.
const MAX_SWEPT: usize = 4;

/// Each index's sessions, with their ends.
#[derive(Default)]
pub(super) struct IndexEntries(Mutex<HashMap<String, BTreeMap<String, SystemTime>>>);

impl Indexes for Memory {
    async fn enter(&self, index: &str, sid: &str, end: SystemTime) -> Result<(), StoreError> {
        let now = self.now();
        // A panic leaves nothing half done, so a poisoned lock can be used.
        let locked = self.shared.indexes.0.lock();
        let mut indexes = locked.unwrap_or_else(PoisonError::into_inner);
        let over = |sids: &BTreeMap<String, SystemTime>| sids.values().all(|end| *end <= now);
        let gone = indexes
            .iter()
            .take(MAX_SWEPT)
            .filter(|(_, sids)| over(sids));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            indexes.remove(&name);
        }
        let sids = indexes.entry(index.to_owned()).or_default();
        sids.retain(|_, end| *end > now);
        sids.insert(sid.to_owned(), end);
        while sids.len() > MAX_INDEXED {
            sids.pop_first();
        }
        Ok(())
    }

    async fn entered(&self, index: &str) -> Result<Vec<String>, StoreError> {
        let now = self.now();
        let locked = self.shared.indexes.0.lock();
        let indexes = locked.unwrap_or_else(PoisonError::into_inner);
        let sids = indexes.get(index).into_iter().flatten();
        let left = sids.filter(|(_, end)| **end > now);
        Ok(left.map(|(sid, _)| sid.clone()).collect())
    }
}
