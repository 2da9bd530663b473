//! Indexes of sessions, in the file.

use std::time::SystemTime;

use redb::{ReadableTable, TableDefinition, WriteTransaction};

use super::millis;
use crate::index::{Indexes, MAX_INDEXED};
use crate::{Redb, StoreError};

/// The largest number of expired entries that one write removes.
const MAX_SWEPT: usize = 64;

/// Maps an index and a session to the session's end in milliseconds since 1970.
const ENTRIES: TableDefinition<(&str, &str), u64> = TableDefinition::new("indexed");
/// Entries in the order of their ends.
const ENDS: TableDefinition<(u64, &str, &str), ()> = TableDefinition::new("indexed_ends");

impl Indexes for Redb {
    async fn insert(
        &self,
        index: &str,
        sid: &str,
        end: SystemTime,
    ) -> Result<Vec<String>, StoreError> {
        let (index, sid) = (index.to_owned(), sid.to_owned());
        let (now, end) = (millis(self.now()), millis(end));
        self.write_apart(move |transaction| {
            sweep(transaction, now)?;
            let mut entries = transaction.open_table(ENTRIES)?;
            let mut ends = transaction.open_table(ENDS)?;
            let (index, sid) = (index.as_str(), sid.as_str());
            let before = entries.insert((index, sid), end)?.map(|old| old.value());
            if let Some(before) = before {
                ends.remove((before, index, sid))?;
            }
            ends.insert((end, index, sid), ())?;
            let (mut count, mut first) = (0, None);
            for entry in entries.range((index, "")..)? {
                let (key, end) = entry?;
                let (of, other) = key.value();
                if of != index {
                    break;
                }
                count += 1;
                let is_first = |(before, _): &(u64, String)| end.value() < *before;
                if other != sid && first.as_ref().is_none_or(is_first) {
                    first = Some((end.value(), other.to_owned()));
                }
            }
            let surplus = first.filter(|_| count > MAX_INDEXED);
            Ok(surplus.map(|(_, sid)| sid).into_iter().collect())
        })
        .await
    }

    async fn entered(&self, index: &str) -> Result<Vec<String>, StoreError> {
        let now = millis(self.now());
        self.read(|transaction| {
            let entries = transaction.open_table(ENTRIES)?;
            let mut sids = Vec::new();
            for entry in entries.range((index, "")..)? {
                let (key, end) = entry?;
                let (of, sid) = key.value();
                if of != index || sids.len() >= MAX_INDEXED {
                    break;
                }
                if end.value() > now {
                    sids.push(sid.to_owned());
                }
            }
            Ok(sids)
        })
    }
}

/// Removes expired entries, and creates the tables.
pub(super) fn sweep(transaction: &WriteTransaction, now: u64) -> Result<(), redb::Error> {
    let mut entries = transaction.open_table(ENTRIES)?;
    let mut ends = transaction.open_table(ENDS)?;
    for _ in 0..MAX_SWEPT {
        let first = ends.first()?.map(|(key, _)| {
            let (end, index, sid) = key.value();
            (end, index.to_owned(), sid.to_owned())
        });
        let Some((end, index, sid)) = first.filter(|(end, ..)| *end <= now) else {
            return Ok(());
        };
        ends.remove((end, index.as_str(), sid.as_str()))?;
        entries.remove((index.as_str(), sid.as_str()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Record, Store};

    #[tokio::test]
    async fn a_session_that_a_full_index_cannot_keep_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let store = Redb::open(&folder.path().join("s")).unwrap();
        let after = |seconds| store.now() + Duration::from_secs(seconds);
        for (sid, seconds) in [("z-first", 100), ("a-second", 200)] {
            store.put(sid, &Record::new("YTpi", None)).await.unwrap();
            store.enter("u", sid, after(seconds)).await.unwrap();
        }
        let end = millis(after(300));
        let fill = move |transaction: &WriteTransaction| {
            let mut entries = transaction.open_table(ENTRIES)?;
            for number in 2..MAX_INDEXED {
                entries.insert(("u", format!("m{number}").as_str()), end)?;
            }
            Ok(())
        };
        store.write_apart(fill).await.unwrap();
        for (new, revoked) in [("n1", "z-first"), ("n2", "a-second")] {
            assert!(store.get(revoked).await.unwrap().is_some());
            store.enter("u", new, after(300)).await.unwrap();
            assert_eq!(store.get(revoked).await.unwrap(), None);
            assert_eq!(store.entered("u").await.unwrap().len(), MAX_INDEXED);
        }
    }
}
