//! Single-use values in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::once::{Once, TakesOnce};
use crate::{Memory, StoreError};

/// The largest number of values; beyond it, the one that expires first is removed.
const MAX_VALUES: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct OnceValues(Mutex<Entries>);

impl OnceValues {
    /// Locks the values. A panic leaves nothing half done, so a poisoned lock can be used.
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
            if *first > now && self.values.len() < MAX_VALUES {
                break;
            }
            let name = name.clone();
            self.remove(&name);
        }
        self.ends.insert((end, kept.name.clone()));
        self.values.insert(kept.name, (end, kept.value));
    }

    /// Whether a value with this name is stored and has not expired.
    fn has(&self, name: &[u8], now: SystemTime) -> bool {
        self.values.get(name).is_some_and(|(end, _)| *end > now)
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
        let mut known = self.shared.once.lock();
        for kept in entries {
            known.put(kept, end, now);
        }
        Ok(())
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let now = self.now();
        let mut known = self.shared.once.lock();
        let taken = known.remove(name).filter(|(end, _)| *end > now);
        Ok(taken.map(|(_, value)| value))
    }

    async fn claim(&self, name: &[u8], life: Duration) -> Result<bool, StoreError> {
        let now = self.now();
        let mut known = self.shared.claims.lock();
        if known.has(name, now) {
            return Ok(false);
        }
        let claim = Once {
            name: name.to_vec(),
            value: Vec::new(),
        };
        known.put(claim, now.checked_add(life).unwrap_or(now), now);
        Ok(true)
    }

    async fn release(&self, name: &[u8]) -> Result<(), StoreError> {
        self.shared.claims.lock().remove(name);
        Ok(())
    }
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
    fn memory_is_bounded_and_the_first_to_expire_is_removed_first() {
        let mut entries = Entries::default();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for number in 0..MAX_VALUES as u32 + 10 {
            entries.put(kept(number), at(1000 + u64::from(number)), at(0));
        }
        assert_eq!(
            (entries.values.len(), entries.ends.len()),
            (MAX_VALUES, MAX_VALUES)
        );
        assert!(entries.remove(&9_u32.to_be_bytes()).is_none());
        assert!(entries.remove(&10_u32.to_be_bytes()).is_some());
        entries.put(kept(1), at(9_000_000), at(8_000_000));
        assert_eq!(entries.values.len(), 1, "expired ones go");
    }
}
