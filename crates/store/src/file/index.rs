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
    async fn enter(&self, index: &str, sid: &str, end: SystemTime) -> Result<(), StoreError> {
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
            Ok(())
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

/// Also creates the tables.
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
