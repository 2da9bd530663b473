//! Indexes of sessions, in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::index::{Indexes, MAX_INDEXED};
use crate::{Memory, StoreError};

/// The largest number of indexes in which each new entry looks for expired ones.
const MAX_SWEPT: usize = 4;

/// Each index's sessions, with their ends.
#[derive(Default)]
pub(super) struct IndexEntries(Mutex<HashMap<String, BTreeMap<String, SystemTime>>>);

impl Indexes for Memory {
    async fn insert(
        &self,
        index: &str,
        sid: &str,
        end: SystemTime,
    ) -> Result<Vec<String>, StoreError> {
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
        sids.insert(sid.to_owned(), end);
        sids.retain(|_, end| *end > now);
        let others = sids.iter().filter(|(other, _)| *other != sid);
        let first = others.min_by_key(|(_, end)| **end);
        let surplus = first.filter(|_| sids.len() > MAX_INDEXED);
        Ok(surplus.map(|(sid, _)| sid.clone()).into_iter().collect())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Record, Store};

    #[tokio::test]
    async fn a_session_that_a_full_index_cannot_keep_is_revoked() {
        let store = Memory::default();
        let after = |seconds| store.now() + Duration::from_secs(seconds);
        for (sid, seconds) in [("z-first", 100), ("a-second", 200)] {
            store.put(sid, &Record::new("YTpi", None)).await.unwrap();
            store.enter("u", sid, after(seconds)).await.unwrap();
        }
        let others = (2..MAX_INDEXED).map(|number| (format!("m{number}"), after(300)));
        let fill = || {
            let mut indexes = store.shared.indexes.0.lock().unwrap();
            indexes.get_mut("u").unwrap().extend(others);
        };
        fill();
        for (new, revoked) in [("n1", "z-first"), ("n2", "a-second")] {
            assert!(store.get(revoked).await.unwrap().is_some());
            store.enter("u", new, after(300)).await.unwrap();
            assert_eq!(store.get(revoked).await.unwrap(), None);
            assert_eq!(store.entered("u").await.unwrap().len(), MAX_INDEXED);
        }
    }
}
