//! Reads how long the cgroups of this process were throttled by their CPU quota.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::cgroup::CgroupFile;

const CPU: CgroupFile = CgroupFile {
    controller: "cpu",
    version_2: "cpu.stat",
    version_1: "cpu.stat",
};

/// The cgroups of this process, as in `/proc/self/cgroup`, and their accounting files.
struct Accounts {
    groups: String,
    files: Vec<File>,
}

impl Accounts {
    fn of(groups: String) -> Self {
        let paths = groups.lines().flat_map(|line| CPU.places(line));
        let mut files: Vec<File> = paths.filter_map(|path| File::open(path).ok()).collect();
        // The root's file has no such line.
        files.retain(|file| read(file).is_some());
        Self { groups, files }
    }
}

/// The total throttled time of all processes in the cgroups since their creation. Zero if there is
/// no quota.
pub(crate) fn throttled() -> Duration {
    static ACCOUNTS: Mutex<Option<Accounts>> = Mutex::new(None);
    // A process can be moved to another group at any time.
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut accounts = ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    if accounts.as_ref().is_none_or(|known| known.groups != groups) {
        *accounts = Some(Accounts::of(groups));
    }
    let files = accounts.iter().flat_map(|known| &known.files);
    files.filter_map(read).sum()
}

fn read(file: &File) -> Option<Duration> {
    let mut text = [0; 1024];
    let n = file.read_at(&mut text, 0).ok()?;
    parse(&String::from_utf8_lossy(text.get(..n)?))
}

fn parse(account: &str) -> Option<Duration> {
    account.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        let value = value.parse().ok()?;
        match key {
            "throttled_usec" => Some(Duration::from_micros(value)),
            "throttled_time" => Some(Duration::from_nanos(value)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_parsed() {
        let second = "usage_usec 9\nnr_periods 3\nnr_throttled 2\nthrottled_usec 1500\n";
        let first = "nr_periods 3\nnr_throttled 2\nthrottled_time 1500000\n";
        let told = Some(Duration::from_micros(1500));
        assert_eq!([parse(second), parse(first)], [told, told]);
        assert_eq!(parse("usage_usec 9\nthrottled_usec much\n"), None);
    }
}
