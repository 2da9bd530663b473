//! Stores of this machine: memory and file fulfil the same contract.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_model::{Random, WallClock};
use roundtrip_store::{
    CacheStatus, Indexes, Memory, Near, NearSettings, Once, Record, Redb, SharedStore, Store,
    StoreError, TakesOnce,
};

use crate::{eventually, on_a_thread, until};

/// A clock that stands still until the test moves it.
#[derive(Clone)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_000_000)))
    }

    fn clock(&self) -> Arc<dyn WallClock + Send + Sync> {
        let seconds = self.0.clone();
        Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::Relaxed)))
    }

    fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    fn after(&self, seconds: u64) -> SystemTime {
        self.clock().now() + Duration::from_secs(seconds)
    }
}

fn both(directory: &Path, hand: &Hand) -> [SharedStore; 2] {
    let redb = Redb::open_with(&directory.join("sessions"), hand.clock()).unwrap();
    [
        SharedStore::Memory(Memory::new(hand.clock())),
        SharedStore::Redb(redb),
    ]
}

#[test]
fn sessions_are_put_found_listed_and_revoked() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    on_a_thread(async {
        for place in both(directory.path(), &hand) {
            let store = place.on_this_thread();
            let record = Record::new("YTpi", None);
            assert_eq!(store.get("s1").await.unwrap(), None);
            for sid in ["s2", "s1", "s3"] {
                store.put(sid, &record).await.unwrap();
            }
            assert_eq!(store.get("s1").await.unwrap(), Some(record));
            let page = store.list(None, 2).await.unwrap();
            assert_eq!(page.sids, ["s1", "s2"]);
            let page = store.list(page.next.as_deref(), 2).await.unwrap();
            assert_eq!((page.sids, page.next), (vec!["s3".to_owned()], None));
            assert!(store.revoke("s2").await.unwrap());
            assert!(!store.revoke("s2").await.unwrap());
            assert_eq!(store.get("s2").await.unwrap(), None);
            let long = "x".repeat(600);
            let refused = store.put(&long, &Record::new("YTpi", None)).await;
            assert!(matches!(refused, Err(StoreError::Sid)));
        }
    });
}

#[test]
fn credentials_are_replaced_only_if_they_are_unchanged() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    on_a_thread(async {
        for place in both(directory.path(), &hand) {
            let store = place.on_this_thread();
            let end = Some(hand.after(10));
            let next = Record::new("Yjpj", None);
            assert!(!store.replace("s", b"YTpi", &next).await.unwrap());
            assert_eq!(store.get("s").await.unwrap(), None);
            store.put("s", &Record::new("YTpi", end)).await.unwrap();
            assert!(!store.replace("s", b"other", &next).await.unwrap());
            assert!(store.replace("s", b"YTpi", &next).await.unwrap());
            let there = store.get("s").await.unwrap().unwrap();
            assert_eq!(
                (there.credentials.as_slice(), there.expires),
                (&b"Yjpj"[..], end)
            );
            // A near cache that has the old credentials learns of the change.
            let near = Near::new(place.on_this_thread(), NearSettings::default());
            let found = near.get("s").await.unwrap().unwrap();
            assert!(near.holds("s", &found.kept));
            assert!(
                store
                    .replace("s", b"Yjpj", &Record::new("YTpi", None))
                    .await
                    .unwrap()
            );
            assert!(!near.holds("s", &found.kept));
            let all: [(&str, &[u8], &Record); 3] = [
                ("s", b"other", &next),
                ("s", b"YTpi", &next),
                ("gone", b"YTpi", &next),
            ];
            let replaced = store.replace_all(&all).await.unwrap();
            assert_eq!(replaced, [false, true, false]);
            hand.advance(10);
            assert!(!store.replace("s", b"Yjpj", &next).await.unwrap());
            assert_eq!(store.get("s").await.unwrap(), None);
        }
    });
}

#[test]
fn an_expired_session_is_absent() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    on_a_thread(async {
        for place in both(directory.path(), &hand) {
            let store = place.on_this_thread();
            let put = async |sid, seconds| {
                let record = Record::new("YTpi", Some(hand.after(seconds)));
                store.put(sid, &record).await.unwrap();
            };
            put("short", 10).await;
            put("long", 100).await;
            put("prolonged", 10).await;
            put("prolonged", 100).await;
            hand.advance(10);
            assert_eq!(store.get("short").await.unwrap(), None);
            assert!(!store.revoke("short").await.unwrap());
            // A write removes expired sessions, and no others.
            put("other", 100).await;
            let page = store.list(None, 10).await.unwrap();
            assert_eq!(page.sids, ["long", "other", "prolonged"]);
            assert!(store.get("prolonged").await.unwrap().is_some());
        }
    });
}

#[test]
fn another_threads_revocation_is_reported() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    for place in both(directory.path(), &hand) {
        on_a_thread(async {
            let near = Rc::new(Near::new(place.on_this_thread(), NearSettings::default()));
            tokio::task::spawn_local(near.clone().run());
            near.put("s", &Record::new("YTpi", None)).await.unwrap();
            let held = near.get("s").await.unwrap().unwrap().revoked;
            let status = near.get("s").await.unwrap().unwrap().status;
            assert_eq!(status, CacheStatus::Hit);
            let other = place.clone();
            let revoking = std::thread::spawn(move || {
                on_a_thread(async { other.on_this_thread().revoke("s").await.unwrap() })
            });
            eventually("the revocation is reported", held.fired()).await;
            assert!(revoking.join().unwrap());
            assert!(near.get("s").await.unwrap().is_none());
        });
    }
}

/// `gate session revoke` runs while a gate serves: both open the same file separately.
#[test]
fn a_change_by_another_process_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions");
    let ours = SharedStore::Redb(Redb::open(&path).unwrap());
    let theirs = SharedStore::Redb(Redb::open(&path).unwrap());
    on_a_thread(async {
        let near = Rc::new(Near::new(ours.on_this_thread(), NearSettings::default()));
        tokio::task::spawn_local(near.clone().run());
        let theirs = theirs.on_this_thread();
        assert!(near.get("s").await.unwrap().is_none());
        theirs.put("s", &Record::new("YTpi", None)).await.unwrap();
        until("the session exists", async || {
            near.get("s").await.unwrap().is_some()
        })
        .await;
        let held = near.get("s").await.unwrap().unwrap().revoked;
        for n in 0..3 {
            theirs
                .put(&format!("{n}"), &Record::new("YTpi", None))
                .await
                .unwrap();
        }
        assert!(!held.is_fired());
        assert!(theirs.revoke("s").await.unwrap());
        eventually("the revocation is reported", held.fired()).await;
    });
}

#[test]
fn the_file_keeps_sessions_and_only_its_owner_can_open_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions");
    let record = Record::from_json(br#"{"credentials":"YTpi","app":7}"#, None).unwrap();
    on_a_thread(async {
        let store = Redb::open(&path).unwrap();
        store.put("s", &record).await.unwrap();
    });
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    on_a_thread(async {
        let store = Redb::open(&path).unwrap();
        assert_eq!(store.get("s").await.unwrap(), Some(record.clone()));
    });
    for open_to in [0o640, 0o604, 0o602] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(open_to)).unwrap();
        let refused = Redb::open(&path).err().unwrap().to_string();
        assert!(refused.contains("other users can open"), "{refused}");
    }
    std::fs::write(
        &path,
        "not a database, but long enough to be examined".repeat(100),
    )
    .unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    assert!(matches!(Redb::open(&path), Err(StoreError::File(_))));
}

/// The bytes of a file with sessions, after some were changed and some removed.
fn file_with_sessions() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions");
    on_a_thread(async {
        let store = Redb::open(&path).unwrap();
        for n in 0..120 {
            let record = Record::new(format!("credentials {n}"), None);
            store.put(&format!("session {n}"), &record).await.unwrap();
        }
        for n in 0..40 {
            store.revoke(&format!("session {}", 3 * n)).await.unwrap();
        }
    });
    std::fs::read(path).unwrap()
}

/// Uses each part of the file.
fn use_file(path: &Path) -> Result<(), StoreError> {
    on_a_thread(async {
        let store = Redb::open(path)?;
        let all = store.list(None, 1000).await?;
        for sid in &all.sids {
            store.get(sid).await?;
        }
        store.enter("u", "new", SystemTime::now()).await?;
        for n in 0..3 {
            store
                .put(&format!("new {n}"), &Record::new("YTpi", None))
                .await?;
        }
        store.revoke("session 1").await?;
        Ok(())
    })
}

/// A disk can damage a file. Such a file is refused, or it is good after redb repaired it.
#[test]
fn a_damaged_file_causes_no_panic() {
    let whole = file_with_sessions();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions");
    let mut random = Random::seeded(1);
    let mut refused = 0;
    for number in 0..100 {
        let mut bytes = whole.clone();
        if number % 10 == 0 {
            bytes.truncate(random.below(whole.len()));
        }
        // A sector, or a byte.
        let length = [1, 1, 4, 512][number % 4];
        let from = random.below(bytes.len().max(1));
        for byte in bytes.iter_mut().skip(from).take(length) {
            *byte = random.next_u64().to_le_bytes()[0];
        }
        std::fs::write(&path, &bytes).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let used = std::panic::catch_unwind(|| use_file(&path));
        let used = used.unwrap_or_else(|_| panic!("{number}: {length} bytes at {from}"));
        refused += u32::from(used.is_err());
    }
    assert!(refused > 10, "{refused} of 100");
}

#[test]
fn a_kept_value_is_taken_only_once() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    let minute = Duration::from_mins(1);
    let entry = |name: &[u8], value: &[u8]| Once {
        name: name.to_vec(),
        value: value.to_vec(),
    };
    on_a_thread(async {
        for place in both(directory.path(), &hand) {
            let (one, other) = (place.on_this_thread(), place.on_this_thread());
            assert_eq!(one.take(b"a").await.unwrap(), None);
            let entries = vec![entry(b"a", b"1"), entry(b"b", b"2"), entry(b"c", b"3")];
            one.keep(entries, minute).await.unwrap();
            one.keep(vec![entry(b"b", b"4")], minute * 3).await.unwrap();
            assert!(
                one.list(None, 9).await.unwrap().sids.is_empty(),
                "no sessions"
            );
            let both = tokio::join!(one.take(b"a"), other.take(b"a"));
            let mut taken = [both.0.unwrap(), both.1.unwrap()];
            taken.sort();
            assert_eq!(taken, [None, Some(b"1".to_vec())]);
            hand.advance(120);
            assert_eq!(other.take(b"c").await.unwrap(), None, "it has expired");
            assert_eq!(other.take(b"b").await.unwrap(), Some(b"4".to_vec()));
            assert_eq!(one.take(b"b").await.unwrap(), None);
        }
    });
}

#[test]
fn a_name_is_claimed_only_once_until_its_time_is_over() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    let minute = Duration::from_mins(1);
    on_a_thread(async {
        for place in both(directory.path(), &hand) {
            let (one, other) = (place.on_this_thread(), place.on_this_thread());
            let both = tokio::join!(one.claim(b"a", minute), other.claim(b"a", minute));
            let claimed = [both.0.unwrap(), both.1.unwrap()];
            assert_ne!(claimed[0], claimed[1]);
            assert_eq!(one.take(b"a").await.unwrap(), None, "a claim is no value");
            assert!(one.claim(b"b", minute).await.unwrap());
            hand.advance(61);
            assert!(other.claim(b"a", minute).await.unwrap());
            assert!(!one.claim(b"a", minute).await.unwrap());
            other.release(b"a").await.unwrap();
            assert!(one.claim(b"a", minute).await.unwrap());
        }
    });
}

#[test]
fn an_index_has_the_sessions_that_have_not_ended() {
    let (directory, hand) = (tempfile::tempdir().unwrap(), Hand::new());
    on_a_thread(async {
        for place in both(directory.path(), &hand) {
            let (one, other) = (place.on_this_thread(), place.on_this_thread());
            one.enter("u", "s1", hand.after(60)).await.unwrap();
            other.enter("u", "s2", hand.after(600)).await.unwrap();
            one.enter("v", "s3", hand.after(600)).await.unwrap();
            assert_eq!(other.entered("u").await.unwrap(), ["s1", "s2"]);
            hand.advance(61);
            assert_eq!(one.entered("u").await.unwrap(), ["s2"]);
            assert!(one.entered("w").await.unwrap().is_empty());
            hand.advance(600);
            one.enter("w", "s4", hand.after(60)).await.unwrap();
            assert!(one.entered("u").await.unwrap().is_empty());
            assert_eq!(one.entered("w").await.unwrap(), ["s4"]);
            assert!(
                one.list(None, 9).await.unwrap().sids.is_empty(),
                "no sessions"
            );
        }
    });
}
