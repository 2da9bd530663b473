//! Reads how long the cgroups of this process were throttled by their CPU quota.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The mount points of systemd and container runtimes: version 2 alone or beside version 1, and
/// version 1's controller.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const CONTROLLER: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/// The cgroups of this process, as in `/proc/self/cgroup`, and their accounting files.
struct Accounts {
    groups: String,
    files: Vec<File>,
}

impl Accounts {
    fn of(groups: String) -> Self {
        let paths = groups.lines().flat_map(accounts);
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

/// The accounting files of a process's cgroup and of the groups around it, any of which can have a
/// quota. `line` is one of `/proc/self/cgroup`. In a container, the group's own files can be at the
/// root, although `line` has the path from outside.
fn accounts(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let roots = if controllers.is_empty() {
        UNIFIED
    } else if controllers.split(',').any(|c| c == "cpu") {
        CONTROLLER
    } else {
        return Vec::new();
    };
    let group = Path::new(group.trim_start_matches('/'));
    let places = roots
        .iter()
        .flat_map(|root| group.ancestors().map(move |g| Path::new(root).join(g)));
    places.map(|place| place.join("cpu.stat")).collect()
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

    #[test]
    fn parent_groups_count_as_well() {
        let text = |line| -> Vec<String> {
            let paths = accounts(line);
            paths.iter().map(|p| p.display().to_string()).collect()
        };
        let two = text("0::/a/b");
        for place in ["/a/b/cpu.stat", "/a/cpu.stat", "/cpu.stat"] {
            assert!(two.contains(&format!("/sys/fs/cgroup{place}")), "{two:?}");
        }
        let one = text("4:cpu,cpuacct:/a");
        assert!(
            one.contains(&"/sys/fs/cgroup/cpu/a/cpu.stat".to_owned()),
            "{one:?}"
        );
        assert!(text("5:memory:/a").is_empty() && text("x").is_empty());
    }
}
