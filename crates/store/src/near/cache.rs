//! A thread's cached answers: sessions, and names without a session; both are bounded.
//!
//! The oldest entries are evicted first, except for those that were used since the last check, and
//! those that are held.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::kept::{EntryHandle, Keeping};
use super::revoked::Revoked;
use crate::{Record, StorePart};

/// The number of entries that are examined to find one to evict.
const MAX_EXAMINED: usize = 16;

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) record: Rc<Record>,
    pub(super) revoked: Revoked,
    pub(super) kept: EntryHandle,
}

struct Slot {
    entry: Entry,
    _keeping: Keeping,
    /// Identifies the entry's current position in the queue; earlier ones are ignored.
    number: u64,
}

pub(super) struct Cache {
    most: usize,
    slots: HashMap<Rc<str>, Slot>,
    queue: VecDeque<(Rc<str>, u64)>,
    number: u64,
    absent: Absent,
}

/// Names that the store does not have.
struct Absent {
    most: usize,
    time: Duration,
    until: HashMap<Rc<str>, Instant>,
    queue: VecDeque<(Rc<str>, Instant)>,
}

pub(super) enum Lookup {
    Session(Entry),
    Absent,
}

impl Cache {
    pub(super) fn new(most: usize, most_absent: usize, absent_time: Duration) -> Self {
        Self {
            most,
            slots: HashMap::new(),
            queue: VecDeque::new(),
            number: 0,
            absent: Absent {
                most: most_absent,
                time: absent_time,
                until: HashMap::new(),
                queue: VecDeque::new(),
            },
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn find(&mut self, sid: &str) -> Option<Lookup> {
        if let Some(slot) = self.slots.get(sid) {
            slot.entry.kept.use_it();
            return Some(Lookup::Session(slot.entry.clone()));
        }
        let until = self.absent.until.get(sid)?;
        (*until > Instant::now()).then_some(Lookup::Absent)
    }

    pub(super) fn entry(&self, sid: &str) -> Option<&Entry> {
        self.slots.get(sid).map(|slot| &slot.entry)
    }

    /// Inserts a session, and returns how many entries were evicted for it.
    pub(super) fn insert(&mut self, sid: &Rc<str>, entry: Entry) -> usize {
        if self.most == 0 {
            return 0;
        }
        self.absent.until.remove(sid);
        self.slots.remove(sid);
        let evicted = usize::from(self.slots.len() >= self.most && self.evict());
        self.number += 1;
        let number = self.number;
        let slot = Slot {
            _keeping: Keeping::new(&entry.kept),
            entry,
            number,
        };
        self.slots.insert(sid.clone(), slot);
        self.queue.push_back((sid.clone(), number));
        self.tidy();
        evicted
    }

    pub(super) fn insert_absent(&mut self, sid: &Rc<str>) {
        self.absent.insert(sid);
    }

    pub(super) fn remove(&mut self, sid: &str) -> Option<Entry> {
        self.absent.until.remove(sid);
        self.slots.remove(sid).map(|slot| slot.entry)
    }

    /// Removes a part, and all unknown names, and returns the sessions.
    pub(super) fn drain(&mut self, part: &StorePart) -> Vec<(Rc<str>, Entry)> {
        self.absent.queue.clear();
        self.absent.until.clear();
        let slots = self.slots.extract_if(|sid, _| part.has(sid));
        let removed = slots.map(|(sid, slot)| (sid, slot.entry)).collect();
        self.tidy();
        removed
    }

    /// Evicts an unused entry, otherwise the oldest one that is not held. Evicts none if all
    /// examined entries are held; their number is bounded by the number of connections.
    fn evict(&mut self) -> bool {
        let mut oldest_free = None;
        let mut looked_at = 0;
        while looked_at < MAX_EXAMINED {
            let Some((sid, number)) = self.queue.pop_front() else {
                break;
            };
            let Some(slot) = self.slots.get(&sid).filter(|s| s.number == number) else {
                continue;
            };
            looked_at += 1;
            let held = slot.entry.revoked.is_held();
            if !slot.entry.kept.take_used() && !held {
                self.slots.remove(&sid);
                return true;
            }
            if !held && oldest_free.is_none() {
                oldest_free = Some(sid.clone());
            }
            self.queue.push_back((sid, number));
        }
        oldest_free.is_some_and(|sid| self.slots.remove(&sid).is_some())
    }

    /// Removes outdated positions, so that they do not pile up.
    fn tidy(&mut self) {
        if self.queue.len() > 2 * self.slots.len() + MAX_EXAMINED {
            let slots = &self.slots;
            self.queue
                .retain(|(sid, number)| slots.get(sid).is_some_and(|s| s.number == *number));
        }
    }
}

impl Absent {
    fn insert(&mut self, sid: &Rc<str>) {
        if self.most == 0 || self.time.is_zero() {
            return;
        }
        let now = Instant::now();
        while let Some((oldest, until)) = self.queue.front() {
            if self.queue.len() < self.most && *until > now {
                break;
            }
            if self.until.get(oldest) == Some(until) {
                self.until.remove(oldest);
            }
            self.queue.pop_front();
        }
        let until = now + self.time;
        self.until.insert(sid.clone(), until);
        self.queue.push_back((sid.clone(), until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            record: Rc::new(Record::new("YTpi", None)),
            revoked: Revoked::new(None),
            kept: EntryHandle::new(),
        }
    }

    fn has(cache: &mut Cache, sid: &str) -> bool {
        cache.slots.contains_key(sid)
    }

    #[tokio::test]
    async fn the_oldest_unused_entry_is_evicted_first_and_held_ones_stay() {
        let mut cache = Cache::new(3, 0, Duration::ZERO);
        let held = entry();
        cache.insert(&"held".into(), held.clone());
        cache.insert(&"used".into(), entry());
        cache.insert(&"idle".into(), entry());
        assert!(matches!(cache.find("used"), Some(Lookup::Session(_))));
        assert_eq!(cache.insert(&"new".into(), entry()), 1);
        assert!(!has(&mut cache, "idle"));
        assert!(has(&mut cache, "held") && has(&mut cache, "used"));
    }

    #[tokio::test]
    async fn a_handle_is_valid_until_its_entry_leaves_the_cache_in_any_way() {
        let mut cache = Cache::new(2, 0, Duration::ZERO);
        let entries: [Entry; 5] = std::array::from_fn(|_| entry());
        let kept = |n: usize| entries[n].kept.is_there();
        let put = |cache: &mut Cache, sid: &str, n: usize| {
            let Entry { record, kept, .. } = entries[n].clone();
            // Nothing holds it.
            let revoked = Revoked::new(None);
            cache.insert(
                &sid.into(),
                Entry {
                    record,
                    revoked,
                    kept,
                },
            )
        };
        assert!(!kept(0));
        put(&mut cache, "a", 0);
        assert!(kept(0));
        put(&mut cache, "a", 1);
        assert_eq!((kept(0), kept(1)), (false, true));
        put(&mut cache, "b", 2);
        // Checking whether it is still there counts as use, so it stays.
        entries[1].kept.use_it();
        assert_eq!(put(&mut cache, "c", 3), 1);
        assert_eq!((kept(1), kept(2), kept(3)), (true, false, true));
        cache.remove("a");
        assert!(!kept(1));
        cache.drain(&StorePart::Whole);
        assert!(!kept(3));
        put(&mut cache, "d", 4);
        drop(cache);
        assert!(!kept(4));
    }

    #[tokio::test]
    async fn only_held_entries_can_exceed_the_bound() {
        let mut cache = Cache::new(8, 4, Duration::from_secs(9));
        for n in 0..1000 {
            let sid: Rc<str> = format!("{}", n % 37).into();
            cache.insert(&sid, entry());
            cache.find(&sid);
            cache.insert_absent(&format!("no {n}").into());
            assert!(cache.len() <= 8);
            assert!(cache.queue.len() <= 2 * 8 + MAX_EXAMINED + 1);
            assert!(cache.absent.until.len() <= 4 && cache.absent.queue.len() <= 4);
        }
        let held: Vec<Entry> = (0..40).map(|_| entry()).collect();
        for (n, entry) in held.iter().enumerate() {
            cache.insert(&format!("held {n}").into(), entry.clone());
        }
        assert!((0..40).all(|n| has(&mut cache, &format!("held {n}"))));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unknown_name_is_remembered_for_a_while() {
        let mut cache = Cache::new(8, 4, Duration::from_secs(1));
        cache.insert_absent(&"a".into());
        assert!(matches!(cache.find("a"), Some(Lookup::Absent)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cache.find("a").is_none());
        cache.insert_absent(&"a".into());
        cache.remove("a");
        assert!(cache.find("a").is_none());
    }
}
