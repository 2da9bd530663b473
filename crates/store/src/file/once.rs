//! Single-use values in the file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};
use tokio::sync::watch;

use super::millis;
use crate::once::{Once, TakesOnce};
use crate::{Redb, StoreError};

/// The largest number of expired values that one write removes.
const MAX_SWEPT: usize = 64;

/// Maps a name to its expiry in milliseconds since 1970 and its value.
const ENTRIES: TableDefinition<&[u8], (u64, &[u8])> = TableDefinition::new("once");
/// Values in the order of their expiry.
const ENDS: TableDefinition<(u64, &[u8]), ()> = TableDefinition::new("once_ends");
/// Before the name of a claim, so that it is never taken for a value.
const CLAIM: &[u8] = b"claim\0";

/// The numbers of writes begun and completed. A take waits for them, because a client can come back
/// before the disk has written.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    begun: AtomicU64,
    done: watch::Sender<u64>,
}

impl Keeping {
    fn begin(&self) -> Kept<'_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Kept(self)
    }

    /// Waits until all writes that have begun by now are completed.
    async fn settled(&self) {
        let begun = self.begun.load(Ordering::Relaxed);
        // The sender is a field of this struct, so the channel stays open.
        let _ = self.done.subscribe().wait_for(|done| *done >= begun).await;
    }
}

/// One write in progress. Dropping it completes the write.
struct Kept<'a>(&'a Keeping);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.0.done.send_modify(|done| *done += 1);
    }
}

impl TakesOnce for Redb {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        let _kept = self.shared.keeping.begin();
        let now = millis(self.now());
        let end = now.saturating_add(u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
        self.write_apart(move |transaction| {
            sweep(transaction, now)?;
            let mut tables = Tables::open(transaction)?;
            for kept in entries {
                tables.insert(&kept.name, end, &kept.value)?;
            }
            Ok(())
        })
        .await
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.shared.keeping.settled().await;
        // Invented names cause only a read, not a write.
        let known = self.read(|transaction| {
            let values = transaction.open_table(ENTRIES)?;
            Ok(values.get(name)?.is_some())
        })?;
        if !known {
            return Ok(None);
        }
        let (name, now) = (name.to_vec(), millis(self.now()));
        self.write_apart(move |transaction| {
            let removed = Tables::open(transaction)?.remove(&name)?;
            let valid = removed.filter(|(end, _)| *end > now);
            Ok(valid.map(|(_, value)| value))
        })
        .await
    }

    async fn claim(&self, name: &[u8], life: Duration) -> Result<bool, StoreError> {
        let name = [CLAIM, name].concat();
        let now = millis(self.now());
        let end = now.saturating_add(u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
        self.write_apart(move |transaction| {
            sweep(transaction, now)?;
            let mut tables = Tables::open(transaction)?;
            let before = tables.values.get(name.as_slice())?;
            if before.is_some_and(|entry| entry.value().0 > now) {
                return Ok(false);
            }
            tables.insert(&name, end, b"")?;
            Ok(true)
        })
        .await
    }

    async fn release(&self, name: &[u8]) -> Result<(), StoreError> {
        let name = [CLAIM, name].concat();
        self.write_apart(move |transaction| {
            Tables::open(transaction)?.remove(&name)?;
            Ok(())
        })
        .await
    }
}

/// Both tables within one write.
struct Tables<'t> {
    values: Table<'t, &'static [u8], (u64, &'static [u8])>,
    ends: Table<'t, (u64, &'static [u8]), ()>,
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            values: transaction.open_table(ENTRIES)?,
            ends: transaction.open_table(ENDS)?,
        })
    }

    /// Replaces the value that has this name.
    fn insert(&mut self, name: &[u8], end: u64, value: &[u8]) -> Result<(), redb::Error> {
        let old = self.values.insert(name, (end, value))?;
        if let Some(old) = old.map(|old| old.value().0) {
            self.ends.remove((old, name))?;
        }
        self.ends.insert((end, name), ())?;
        Ok(())
    }

    fn remove(&mut self, name: &[u8]) -> Result<Option<(u64, Vec<u8>)>, redb::Error> {
        let removed = self.values.remove(name)?.map(|guard| {
            let (end, value) = guard.value();
            (end, value.to_vec())
        });
        if let Some((end, _)) = &removed {
            self.ends.remove((*end, name))?;
        }
        Ok(removed)
    }
}

/// Removes expired values; also creates the tables.
pub(super) fn sweep(transaction: &WriteTransaction, now: u64) -> Result<(), redb::Error> {
    let Tables {
        mut values,
        mut ends,
    } = Tables::open(transaction)?;
    for _ in 0..MAX_SWEPT {
        let first = ends.first()?.map(|(key, _)| {
            let (end, name) = key.value();
            (end, name.to_vec())
        });
        let Some((end, name)) = first.filter(|(end, _)| *end <= now) else {
            return Ok(());
        };
        ends.remove((end, name.as_slice()))?;
        values.remove(name.as_slice())?;
    }
    Ok(())
}
