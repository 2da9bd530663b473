//! Removes data about origins that were not asked for a long time, or if there are too many: any
//! answer can name a new server to ask.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use crate::memory::directory::{Directory, Item};
use crate::memory::limits;
use crate::memory::{Memory, Stamp};

/// After this time without a request, nothing about an origin is still of use.
const MAX_AGE: Duration = Duration::from_hours(90 * 24);
/// Far more than there are registries and registrars.
const MAX_ORIGINS: usize = 4096;
const MAX_SIZE: u64 = 64 << 20;
/// The largest number of files that are examined at once.
const MAX_ITEMS: usize = 200_000;
/// The number of new origins after which the directory is examined again.
const INTERVAL: u64 = 256;

/// The limits for the data about all origins.
#[derive(Debug, Clone, Copy)]
pub(super) struct PruningLimits {
    pub(super) age: Duration,
    pub(super) origins: usize,
    pub(super) size: u64,
}

/// The files of one origin.
#[derive(Default)]
struct OriginFiles {
    /// The time of the last writing in nanoseconds since 1970.
    written: i128,
    size: u64,
    items: Vec<Item>,
}

impl Memory {
    /// Records that data about another origin is stored, and examines the directory if it is time.
    pub(in crate::memory) fn added_origin(&self, directory: &Directory) {
        let before = self.count_added.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(INTERVAL) {
            let limits = PruningLimits {
                age: MAX_AGE,
                origins: MAX_ORIGINS,
                size: MAX_SIZE,
            };
            prune(directory, limits, Stamp::from_time(SystemTime::now()));
        }
    }
}

/// Removes the origins that are too old, and then, if there are too many, the oldest ones until a
/// tenth of the limits is free.
pub(super) fn prune(directory: &Directory, limits: PruningLimits, now: Stamp) {
    let Ok(items) = directory.finished(MAX_ITEMS, now) else {
        return;
    };
    let mut by_name: BTreeMap<String, OriginFiles> = BTreeMap::new();
    for item in items {
        let Some(name) = origin_name(&item.name) else {
            continue;
        };
        let files = by_name.entry(name.to_owned()).or_default();
        files.written = files.written.max(item.written);
        files.size += item.size;
        files.items.push(item);
    }
    let mut size: u64 = by_name.values().map(|files| files.size).sum();
    let mut count = by_name.len();
    let is_over = count > limits.origins || size > limits.size;
    let mut oldest_first: Vec<_> = by_name.into_iter().collect();
    oldest_first.sort_by_key(|(_, files)| files.written);
    for (name, files) in oldest_first {
        let is_old = files.items.iter().all(|i| i.is_older(limits.age, now));
        let is_too_much = count > limits.origins / 10 * 9 || size > limits.size / 10 * 9;
        if is_old || is_over && is_too_much {
            remove(directory, &name, &files);
            count -= 1;
            size -= files.size;
        }
    }
}

/// Removes the files of an origin, unless a process uses them now.
fn remove(directory: &Directory, name: &str, files: &OriginFiles) {
    let lock_name = limits::file_name(name);
    // A process that waits for this lock sees that its file has been removed.
    let Ok(_lock) = directory.lock_at_once(&lock_name) else {
        return;
    };
    for item in files.items.iter().filter(|item| item.name != lock_name) {
        let _ = directory.remove(&item.name);
    }
    let _ = directory.remove(&lock_name);
}

/// The origin in the name of a file: everything before the suffix, which follows the port.
fn origin_name(file: &str) -> Option<&str> {
    let port = file.rfind('_')? + 1;
    let digits = file.get(port..)?.bytes().take_while(u8::is_ascii_digit);
    file.get(..port + digits.count())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::thread;

    use super::*;
    use crate::memory::limits::{LimitsFile, LimitsFileError};
    use crate::memory::{Authority, DEFAULT_SIZE};

    const LIMITS: PruningLimits = PruningLimits {
        age: MAX_AGE,
        origins: 10,
        size: MAX_SIZE,
    };

    fn open(path: &Path) -> Memory {
        Memory::open(path, DEFAULT_SIZE).unwrap()
    }

    fn now() -> Stamp {
        Stamp::from_time(SystemTime::now())
    }

    fn add(memory: &Memory, host: &str) {
        let origin = Authority::new(host, 443);
        memory.change_origin(&origin, now(), |state| state.alpn = Some("h2".into()));
    }

    fn make_older(path: &Path, days: u64) {
        let age = Duration::from_hours(24 * days);
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn origins_that_were_not_asked_for_long_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let origins = place.path().join("origins");
        let memory = open(place.path());
        for host in ["old.example", "new.example", "_.example"] {
            add(&memory, host);
        }
        for name in ["old.example_443.state.broken-1", ".new-1-1", ".new-1-2"] {
            fs::write(origins.join(name), "").unwrap();
        }
        for name in [
            "old.example_443.state",
            "old.example_443.limits",
            "old.example_443.state.broken-1",
            // A server can be asked without anything new about how to reach it.
            "new.example_443.state",
            "%5f.example_443.state",
            "%5f.example_443.limits",
            ".new-1-1",
        ] {
            make_older(&origins.join(name), 91);
        }
        add(&memory, "another.example");
        assert!(origins.join("old.example_443.state").exists());
        // The next process that adds an origin removes the old ones.
        add(&open(place.path()), "first.example");
        let left = [
            ".new-1-2",
            "another.example_443.limits",
            "another.example_443.state",
            "first.example_443.limits",
            "first.example_443.state",
            "new.example_443.limits",
            "new.example_443.state",
        ];
        assert_eq!(names(&origins), left);
    }

    #[test]
    fn the_oldest_of_too_many_origins_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let origins = place.path().join("origins");
        let memory = open(place.path());
        for n in 0..12 {
            let host = format!("{n:02}.example");
            add(&memory, &host);
            for suffix in ["state", "limits"] {
                make_older(&origins.join(format!("{host}_443.{suffix}")), 30 - n);
            }
        }
        let directory = Directory::open(&origins).unwrap();
        let fitting = PruningLimits {
            origins: 12,
            ..LIMITS
        };
        prune(&directory, fitting, now());
        assert_eq!(names(&origins).len(), 24);
        // A process uses this one.
        let lock = directory.lock("01.example_443.limits").unwrap();
        prune(&directory, LIMITS, now());
        drop(lock);
        let left = names(&origins);
        assert_eq!(left.len(), 2 * (1 + 9), "{left:?}");
        assert_eq!(left[..2], ["01.example_443.limits", "01.example_443.state"]);
        assert_eq!(left[2], "03.example_443.limits");
        let small = PruningLimits { size: 1, ..LIMITS };
        prune(&directory, small, now());
        assert!(names(&origins).is_empty());
    }

    #[test]
    fn a_removed_file_protects_nothing() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let lock = directory.lock("a").unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| directory.lock("a").unwrap());
            thread::sleep(Duration::from_millis(20));
            directory.remove("a").unwrap();
            drop(lock);
            let _held = waiting.join().unwrap();
            assert!(directory.lock_at_once("a").is_err());
        });
        let path = place.path().join("b");
        fs::write(&path, "").unwrap();
        let limits = LimitsFile::from_file(File::options().append(true).open(&path).unwrap());
        fs::remove_file(&path).unwrap();
        let changed = limits.change(|_| ((), [0; limits::NUMBERS]));
        assert!(matches!(changed, Err(LimitsFileError::Busy)), "{changed:?}");
    }
}
