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

/// The longest list of cgroups that is compared; longer ones are cut.
const MAX_GROUPS: usize = 4096;

/// The cgroups of this process, as in `/proc/self/cgroup`, and their accounting files.
struct Accounts {
    /// The file that lists the thread's current cgroups whenever it is read.
    list: Option<File>,
    groups: Vec<u8>,
    files: Vec<File>,
}

impl Accounts {
    const fn new() -> Self {
        Self {
            list: None,
            groups: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Opens the files again if the process was moved to another group, which can happen at any
    /// time.
    fn refresh(&mut self) {
        if self.list.is_none() {
            self.list = File::open("/proc/self/cgroup").ok();
        }
        let mut text = [0; MAX_GROUPS];
        let length = self.list.as_ref().map(|list| list.read_at(&mut text, 0));
        let length = length.and_then(Result::ok).unwrap_or_default();
        let groups = text.get(..length).unwrap_or_default();
        if groups == self.groups {
            return;
        }
        let lines = String::from_utf8_lossy(groups);
        let paths = lines.lines().flat_map(|line| CPU.places(line));
        self.files = paths.filter_map(|path| File::open(path).ok()).collect();
        // The root's file has no such line.
        self.files.retain(|file| read(file).is_some());
        self.groups = groups.to_vec();
    }
}

/// The total throttled time of all processes in the cgroups since their creation. Zero if there is
/// no quota.
pub(crate) fn throttled() -> Duration {
    static ACCOUNTS: Mutex<Accounts> = Mutex::new(Accounts::new());
    let mut accounts = ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    accounts.refresh();
    accounts.files.iter().filter_map(read).sum()
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
