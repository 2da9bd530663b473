//! Values that can be taken only once among all that share the store: TLS sessions for early data
//! (RFC 8446 §8.1). The listener seals them and knows their content.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use redb::{ReadableTable, TableDefinition, WriteTransaction};
use roundtrip_wire::resp::Value;
use tokio::sync::watch;

use crate::file::millis;
use crate::redis::{expect_ok, refused};
use crate::{AnyStore, Memory, Redb, Redis, StoreError};

/// Outside the prefix of sessions, so that nobody is notified of changes.
const PREFIX: &[u8] = b"roundtrip-ticket:";
/// The largest number of values; beyond it, the one that expires first is removed.
const MOST: usize = 64 * 1024;
/// How many expired values one write removes.
const SWEPT: usize = 64;

/// Name → expiry in milliseconds since 1970, value.
const ENTRIES: TableDefinition<&[u8], (u64, &[u8])> = TableDefinition::new("once");
/// Values in the order of their expiry.
const ENDS: TableDefinition<(u64, &[u8]), ()> = TableDefinition::new("once_ends");

/// A value that can be taken once, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    pub name: Vec<u8>,
    pub value: Vec<u8>,
}

#[allow(async_fn_in_trait)] // a thread's own: no future of it goes to another
pub trait TakesOnce {
    /// Stores the values for `life`, or until each is taken.
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError>;

    /// Takes a value. Of all that ask for a name, only one gets the value.
    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
}

impl TakesOnce for AnyStore {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        match self {
            Self::Memory(store, _) => store.keep(entries, life).await,
            Self::Redb(store, _) => store.keep(entries, life).await,
            Self::Redis(store) => store.keep(entries, life).await,
        }
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Self::Memory(store, _) => store.take(name).await,
            Self::Redb(store, _) => store.take(name).await,
            Self::Redis(store) => store.take(name).await,
        }
    }
}

/// In memory.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<Entries>);

impl Shelf {
    /// Nothing is left half done if a thread panics, so a poisoned lock can be used.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Entries {
    values: HashMap<Vec<u8>, (SystemTime, Vec<u8>)>,
    ends: BTreeSet<(SystemTime, Vec<u8>)>,
}

impl Entries {
    fn put(&mut self, kept: Once, end: SystemTime, now: SystemTime) {
        self.remove(&kept.name);
        while let Some((first, name)) = self.ends.first() {
            if *first > now && self.values.len() < MOST {
                break;
            }
            let name = name.clone();
            self.remove(&name);
        }
        self.ends.insert((end, kept.name.clone()));
        self.values.insert(kept.name, (end, kept.value));
    }

    fn remove(&mut self, name: &[u8]) -> Option<(SystemTime, Vec<u8>)> {
        let (end, value) = self.values.remove(name)?;
        self.ends.remove(&(end, name.to_vec()));
        Some((end, value))
    }
}

impl TakesOnce for Memory {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        let now = self.now();
        let Some(end) = now.checked_add(life) else {
            return Ok(());
        };
        let mut known = self.once().lock();
        for kept in entries {
            known.put(kept, end, now);
        }
        Ok(())
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let now = self.now();
        let mut known = self.once().lock();
        let taken = known.remove(name).filter(|(end, _)| *end > now);
        Ok(taken.map(|(_, value)| value))
    }
}

/// The numbers of writes begun and completed: a client may come back sooner than the disk has
/// written.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
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

/// One write in progress, until it is dropped.
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
            let mut values = transaction.open_table(ENTRIES)?;
            let mut ends = transaction.open_table(ENDS)?;
            for kept in entries {
                let (name, value) = (kept.name.as_slice(), kept.value.as_slice());
                let old = values.insert(name, (end, value))?.map(|old| old.value().0);
                if let Some(old) = old {
                    ends.remove((old, name))?;
                }
                ends.insert((end, name), ())?;
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
            let mut values = transaction.open_table(ENTRIES)?;
            let removed = values.remove(name.as_slice())?.map(|guard| {
                let (end, value) = guard.value();
                (end, value.to_vec())
            });
            let Some((end, value)) = removed else {
                return Ok(None);
            };
            let mut ends = transaction.open_table(ENDS)?;
            ends.remove((end, name.as_slice()))?;
            Ok((end > now).then_some(value))
        })
        .await
    }
}

/// Also creates the tables.
pub(crate) fn sweep(transaction: &WriteTransaction, now: u64) -> Result<(), redb::Error> {
    let mut values = transaction.open_table(ENTRIES)?;
    let mut ends = transaction.open_table(ENDS)?;
    for _ in 0..SWEPT {
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

/// `GETDEL`, which servers have since version 6.2, is atomic.
impl TakesOnce for Redis {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        let link = self.link().await?;
        let life = life.as_millis().max(1).to_string();
        for pair in entries.chunks(2) {
            let keys: Vec<Vec<u8>> = pair.iter().map(|kept| key(&kept.name)).collect();
            let commands: Vec<[&[u8]; 5]> = pair
                .iter()
                .zip(&keys)
                .map(|(kept, key)| [b"SET", key.as_slice(), &kept.value, b"PX", life.as_bytes()])
                .collect();
            match commands.as_slice() {
                [one, other] => {
                    let (first, second) = link.ask_two(one, other).await?;
                    expect_ok("SET", first)?;
                    expect_ok("SET", second)?;
                }
                [one] => expect_ok("SET", link.ask(one).await?)?,
                _ => {}
            }
        }
        Ok(())
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let (link, key) = (self.link().await?, key(name));
        match refused("GETDEL", link.ask(&[b"GETDEL", &key]).await?)? {
            Value::Null => Ok(None),
            value => match value.bytes() {
                Some(bytes) => Ok(Some(bytes.to_vec())),
                None => Err(StoreError::NotUnderstood("it is not a string")),
            },
        }
    }
}

/// In digits, for people who look at the server's keys.
fn key(name: &[u8]) -> Vec<u8> {
    let digits = name.iter().map(|byte| format!("{byte:02x}"));
    [PREFIX, digits.collect::<String>().as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: u32) -> Once {
        Once {
            name: name.to_be_bytes().to_vec(),
            value: b"value".to_vec(),
        }
    }

    #[test]
    fn memory_is_bounded_and_the_first_to_end_goes_first() {
        let mut entries = Entries::default();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for number in 0..MOST as u32 + 10 {
            entries.put(kept(number), at(1000 + u64::from(number)), at(0));
        }
        assert_eq!((entries.values.len(), entries.ends.len()), (MOST, MOST));
        assert!(entries.remove(&9_u32.to_be_bytes()).is_none());
        assert!(entries.remove(&10_u32.to_be_bytes()).is_some());
        entries.put(kept(1), at(9_000_000), at(8_000_000));
        assert_eq!(entries.values.len(), 1, "expired ones go");
    }
}
