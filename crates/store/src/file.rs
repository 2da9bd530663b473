//! Sessions in one file (redb), which several processes can have open: the gate that serves, and a
//! command that revokes.
//!
//! Reads take microseconds and run on the calling thread; another thread writes, and waits for the
//! disk. Changes are recorded in the file too, so that every process learns of them.

mod index;
mod once;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redb::backends::FileBackend;
use redb::{
    ConcurrencyMode, Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};
use roundtrip_model::WallClock;
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::journal::MAX_ENTRIES;
use crate::memory::page_end;
use crate::{Change, Page, Record, Store, StoreError, check_sid, is_sid};
use once::Keeping;

/// Maps a name to its expiry in milliseconds since 1970 (0: none) and its record.
const SESSIONS: TableDefinition<&str, (u64, &[u8])> = TableDefinition::new("sessions");
/// Sessions in the order of their expiry.
const ENDS: TableDefinition<(u64, &str), ()> = TableDefinition::new("ends");
/// Maps a number to the name of the session that changed.
const JOURNAL: TableDefinition<u64, &str> = TableDefinition::new("journal");

const CACHE: usize = 16 << 20;
/// The largest number of expired sessions that one write removes.
const MAX_SWEPT: usize = 64;
/// The time in milliseconds between two removals of expired sessions when nothing is written.
const SWEEP_INTERVAL: u64 = 30_000;

/// The sessions in one file, shared by all threads.
#[derive(Clone)]
pub struct Redb {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    latest: watch::Sender<u64>,
    clock: Arc<dyn WallClock + Send + Sync>,
    swept: AtomicU64,
    keeping: Keeping,
}

impl Redb {
    /// Opens the file, or creates it. Fails if anyone but its owner has access to it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, Arc::new(SystemTime::now))
    }

    pub fn open_with(
        path: &Path,
        clock: Arc<dyn WallClock + Send + Sync>,
    ) -> Result<Self, StoreError> {
        let file = private_file(path)?;
        let backend = FileBackend::new(file).map_err(StoreError::file)?;
        let database = Database::builder()
            .set_cache_size(CACHE)
            .set_concurrency_mode(ConcurrencyMode::MultiWriter)
            // Where a file is damaged, redb panics when it reads it.
            .set_check_integrity_on_open(true)
            .create_with_backend(backend)
            .map_err(StoreError::file)?;
        let redb = Self {
            shared: Arc::new(Shared {
                database,
                latest: watch::Sender::new(0),
                clock,
                swept: AtomicU64::new(0),
                keeping: Keeping::default(),
            }),
        };
        // Sweeping also creates the tables, so later reads find them.
        let now = millis(redb.now());
        redb.write(|transaction| {
            index::sweep(transaction, now)?;
            once::sweep(transaction, now)
        })?;
        let (latest, _) = redb.since(u64::MAX - 1);
        redb.shared.latest.send_replace(latest);
        Ok(redb)
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.shared.clock.now()
    }

    pub(crate) fn latest(&self) -> watch::Receiver<u64> {
        self.shared.latest.subscribe()
    }

    /// The changes after `seen`, by any process. If the file cannot be read, reports that anything
    /// could have changed.
    pub(crate) fn since(&self, seen: u64) -> (u64, Vec<Change>) {
        self.read(|transaction| {
            let journal = transaction.open_table(JOURNAL)?;
            let first = journal.first()?.map_or(1, |(number, _)| number.value());
            let latest = journal.last()?.map_or(0, |(number, _)| number.value());
            if seen >= latest {
                return Ok((latest, Vec::new()));
            }
            if seen + 1 < first {
                return Ok((latest, vec![Change::Everything]));
            }
            let mut changes = Vec::new();
            for entry in journal.range(seen + 1..)? {
                changes.push(Change::Touched(entry?.1.value().to_owned()));
            }
            Ok((latest, changes))
        })
        .unwrap_or_else(|_| {
            let known = *self.shared.latest.borrow();
            (known.max(seen), vec![Change::Everything])
        })
    }

    /// Removes some expired sessions if nothing has been written for a while.
    pub(crate) fn sweep_now_and_then(&self) {
        let now = millis(self.now());
        let last = self.shared.swept.load(Ordering::Relaxed);
        if now.saturating_sub(last) < SWEEP_INTERVAL {
            return;
        }
        let swept = &self.shared.swept;
        let mine = swept.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
        if mine.is_ok() && self.has_expired(now).unwrap_or(false) {
            let this = self.clone();
            tokio::task::spawn_blocking(move || this.write(|_| Ok(())));
        }
    }

    fn has_expired(&self, now: u64) -> Result<bool, StoreError> {
        self.read(|transaction| {
            let ends = transaction.open_table(ENDS)?;
            let first = ends.first()?;
            Ok(first.is_some_and(|(key, _)| key.value().0 <= now))
        })
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let transaction = self
            .shared
            .database
            .begin_read()
            .map_err(StoreError::file)?;
        work(&transaction).map_err(StoreError::file)
    }

    /// Runs a write, which also removes some expired sessions.
    fn write<T>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let now = millis(self.now());
        let done = || -> Result<(T, u64), redb::Error> {
            let transaction = self.shared.database.begin_write()?;
            sweep(&transaction, now)?;
            let value = work(&transaction)?;
            let latest = trim(&transaction)?;
            transaction.commit()?;
            Ok((value, latest))
        };
        let (value, latest) = done().map_err(StoreError::file)?;
        let newer = |known: &mut u64| {
            let newer = latest > *known;
            *known = latest.max(*known);
            newer
        };
        self.shared.latest.send_if_modified(newer);
        Ok(value)
    }

    pub(crate) async fn write_apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let this = self.clone();
        let writing = tokio::task::spawn_blocking(move || this.write(work));
        writing
            .await
            .map_err(|_| StoreError::down("the writer ended"))?
    }
}

impl Store for Redb {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        let stored = self.read(|transaction| {
            let sessions = transaction.open_table(SESSIONS)?;
            let found = sessions.get(sid)?;
            Ok(found.map(|guard| {
                let (end, bytes) = guard.value();
                (end, zeroize::Zeroizing::new(bytes.to_vec()))
            }))
        })?;
        let Some((end, bytes)) = stored else {
            return Ok(None);
        };
        let record = Record::from_json(&bytes, time(end))?;
        Ok((!record.is_expired(self.now())).then_some(record))
    }

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError> {
        self.put_all(&[(sid, record)]).await
    }

    /// Stores all of them, or none.
    async fn put_all(&self, sessions: &[(&str, &Record)]) -> Result<(), StoreError> {
        let written = |(sid, record): &(&str, &Record)| {
            check_sid(sid)?;
            let end = record.expires.map_or(0, |end| millis(end).max(1));
            Ok(((*sid).to_owned(), end, record.to_json()?))
        };
        let written: Result<Vec<_>, StoreError> = sessions.iter().map(written).collect();
        let written = written?;
        self.write_apart(move |transaction| {
            for (sid, end, json) in &written {
                insert(transaction, sid, *end, json)?;
            }
            Ok(())
        })
        .await
    }

    async fn replace(
        &self,
        sid: &str,
        credentials: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError> {
        let replaced = self.replace_all(&[(sid, credentials, record)]).await?;
        Ok(replaced == [true])
    }

    /// All that can be replaced, or none.
    async fn replace_all(
        &self,
        sessions: &[(&str, &[u8], &Record)],
    ) -> Result<Vec<bool>, StoreError> {
        let written = |(sid, credentials, record): &(&str, &[u8], &Record)| {
            let before = Zeroizing::new(credentials.to_vec());
            Ok(((*sid).to_owned(), before, record.to_json()?))
        };
        let written: Result<Vec<_>, StoreError> = sessions.iter().map(written).collect();
        let (written, now) = (written?, millis(self.now()));
        self.write_apart(move |transaction| {
            let replaced = written.iter();
            replaced
                .map(|(sid, before, json)| replace(transaction, sid, before, json, now))
                .collect()
        })
        .await
    }

    async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        if !is_sid(sid) {
            return Ok(false);
        }
        let (sid, now) = (sid.to_owned(), millis(self.now()));
        self.write_apart(move |transaction| {
            let end = remove(transaction, &sid)?;
            note(transaction, &sid)?;
            Ok(end.is_some_and(|end| end == 0 || end > now))
        })
        .await
    }

    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        let now = millis(self.now());
        let mut sids = self.read(|transaction| {
            let sessions = transaction.open_table(SESSIONS)?;
            let mut sids = Vec::new();
            for entry in sessions.range(after.unwrap_or_default()..)? {
                let (sid, session) = entry?;
                let end = session.value().0;
                if after == Some(sid.value()) || (end > 0 && end <= now) {
                    continue;
                }
                sids.push(sid.value().to_owned());
                if sids.len() > limit {
                    break;
                }
            }
            Ok(sids)
        })?;
        Ok(Page {
            next: page_end(&mut sids, limit),
            sids,
        })
    }
}

fn insert(
    transaction: &WriteTransaction,
    sid: &str,
    end: u64,
    json: &[u8],
) -> Result<(), redb::Error> {
    remove(transaction, sid)?;
    let mut sessions = transaction.open_table(SESSIONS)?;
    sessions.insert(sid, (end, json))?;
    if end > 0 {
        transaction.open_table(ENDS)?.insert((end, sid), ())?;
    }
    note(transaction, sid)
}

/// Replaces a session if its credentials still are `before`.
fn replace(
    transaction: &WriteTransaction,
    sid: &str,
    before: &[u8],
    json: &[u8],
    now: u64,
) -> Result<bool, redb::Error> {
    let mut sessions = transaction.open_table(SESSIONS)?;
    let end = sessions.get(sid)?.and_then(|stored| {
        let (end, bytes) = stored.value();
        let there = Record::from_json(bytes, None).ok()?;
        let same = there.credentials == before && (end == 0 || end > now);
        same.then_some(end)
    });
    let Some(end) = end else {
        return Ok(false);
    };
    sessions.insert(sid, (end, json))?;
    drop(sessions);
    note(transaction, sid)?;
    Ok(true)
}

/// Removes a session, and returns its expiry if it was there.
fn remove(transaction: &WriteTransaction, sid: &str) -> Result<Option<u64>, redb::Error> {
    let mut sessions = transaction.open_table(SESSIONS)?;
    let removed = sessions.remove(sid)?;
    let end = removed.map(|guard| guard.value().0);
    if let Some(end) = end.filter(|end| *end > 0) {
        transaction.open_table(ENDS)?.remove((end, sid))?;
    }
    Ok(end)
}

fn note(transaction: &WriteTransaction, sid: &str) -> Result<(), redb::Error> {
    let mut journal = transaction.open_table(JOURNAL)?;
    let number = journal.last()?.map_or(0, |(number, _)| number.value()) + 1;
    journal.insert(number, sid)?;
    Ok(())
}

fn sweep(transaction: &WriteTransaction, now: u64) -> Result<(), redb::Error> {
    let mut sessions = transaction.open_table(SESSIONS)?;
    let mut ends = transaction.open_table(ENDS)?;
    for _ in 0..MAX_SWEPT {
        let first = ends.first()?.map(|(key, _)| {
            let (end, sid) = key.value();
            (end, sid.to_owned())
        });
        let Some((end, sid)) = first.filter(|(end, _)| *end <= now) else {
            return Ok(());
        };
        ends.remove((end, sid.as_str()))?;
        sessions.remove(sid.as_str())?;
    }
    Ok(())
}

/// Removes the oldest entries of the journal, and returns the latest number.
fn trim(transaction: &WriteTransaction) -> Result<u64, redb::Error> {
    let mut journal = transaction.open_table(JOURNAL)?;
    let latest = journal.last()?.map_or(0, |(number, _)| number.value());
    while journal
        .first()?
        .is_some_and(|(number, _)| number.value() + MAX_ENTRIES as u64 <= latest)
    {
        journal.pop_first()?;
    }
    Ok(latest)
}

fn private_file(path: &Path) -> Result<File, StoreError> {
    let wrong = |why: String| StoreError::Setting {
        path: path.into(),
        why,
    };
    let cannot = |e: io::Error| wrong(format!("the session file cannot be opened: {e}"));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(cannot)?;
    let facts = file.metadata().map_err(cannot)?;
    if !facts.is_file() {
        return Err(wrong("is not a file".into()));
    }
    if facts.permissions().mode() & 0o077 != 0 {
        return Err(wrong(
            "other users can open the session file; chmod 600 it".into(),
        ));
    }
    Ok(file)
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn time(millis: u64) -> Option<SystemTime> {
    (millis > 0).then(|| UNIX_EPOCH.checked_add(Duration::from_millis(millis)))?
}

#[cfg(test)]
mod tests {
    use redb::ReadableTableMetadata;

    use super::*;

    #[tokio::test]
    async fn several_sessions_are_one_write() {
        let directory = tempfile::tempdir().unwrap();
        let store = Redb::open(&directory.path().join("sessions")).unwrap();
        let [old, new] = ["YTpi", "YTpj"].map(|text| Record::new(text, None));
        let good = [("a", &old), ("b", &old), ("a", &new)];
        store.put_all(&good).await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), Some(new.clone()));
        // Each write is complete or absent.
        let bad = [("c", &new), ("", &new)];
        assert!(matches!(store.put_all(&bad).await, Err(StoreError::Sid)));
        assert_eq!(store.list(None, 9).await.unwrap().sids, ["a", "b"]);
        assert_eq!(store.since(0).0, 3);
    }

    #[tokio::test]
    async fn several_replacements_are_one_write() {
        let directory = tempfile::tempdir().unwrap();
        let store = Redb::open(&directory.path().join("sessions")).unwrap();
        let [old, new] = ["YTpi", "YTpj"].map(|text| Record::new(text, None));
        store.put_all(&[("a", &old), ("b", &old)]).await.unwrap();
        // Each write is complete or absent.
        let unwritable = Record::new([0xff], None);
        let bad: [(&str, &[u8], &Record); 2] = [("a", b"YTpi", &new), ("b", b"YTpi", &unwritable)];
        assert!(store.replace_all(&bad).await.is_err());
        assert_eq!(store.get("a").await.unwrap(), Some(old.clone()));
        let all: [(&str, &[u8], &Record); 4] = [
            ("a", b"YTpi", &new),
            ("b", b"other", &new),
            ("gone", b"YTpi", &new),
            ("b", b"YTpi", &new),
        ];
        let replaced = store.replace_all(&all).await.unwrap();
        assert_eq!(replaced, [true, false, false, true]);
        assert_eq!(store.list(None, 9).await.unwrap().sids, ["a", "b"]);
        assert_eq!(store.get("b").await.unwrap(), Some(new));
        assert_eq!(store.since(0).0, 4);
    }

    #[tokio::test]
    async fn a_write_clears_expired_sessions_out_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let seconds = Arc::new(AtomicU64::new(1000));
        let hand = seconds.clone();
        let clock =
            Arc::new(move || UNIX_EPOCH + Duration::from_secs(hand.load(Ordering::Relaxed)));
        let store = Redb::open_with(&directory.path().join("sessions"), clock).unwrap();
        let kept = || {
            let read = |t: &ReadTransaction| {
                Ok((t.open_table(SESSIONS)?.len()?, t.open_table(ENDS)?.len()?))
            };
            store.read(read).unwrap()
        };
        for sid in ["a", "b", "c"] {
            let record = Record::new("YTpi", time(1_010_000));
            store.put(sid, &record).await.unwrap();
        }
        assert_eq!(kept(), (3, 3));
        seconds.store(1010, Ordering::Relaxed);
        store.put("d", &Record::new("YTpi", None)).await.unwrap();
        assert_eq!(kept(), (1, 0));
    }
}
