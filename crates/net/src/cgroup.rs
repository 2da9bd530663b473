//! The files of this process's cgroups (cgroups(7)), and the memory that it may use.

use std::path::{Path, PathBuf};

/// The mount points of version 2: of systemd and container runtimes, alone or beside version 1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// The directory under which version 1 mounts its controllers.
const CONTROLLERS: &str = "/sys/fs/cgroup";

/// A file with one value, in both versions.
pub(crate) struct CgroupFile {
    pub(crate) controller: &'static str,
    pub(crate) version_2: &'static str,
    pub(crate) version_1: &'static str,
}

const MEMORY: CgroupFile = CgroupFile {
    controller: "memory",
    version_2: "memory.max",
    version_1: "memory.limit_in_bytes",
};

impl CgroupFile {
    /// The files of a process's cgroup and of the groups around it, any of which can have a limit.
    /// `line` is one of `/proc/self/cgroup`. In a container, the group's own files can be at the
    /// root, although `line` has the path from outside.
    pub(crate) fn places(&self, line: &str) -> Vec<PathBuf> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            return Vec::new();
        };
        let (roots, file) = if controllers.is_empty() {
            (UNIFIED.map(PathBuf::from).to_vec(), self.version_2)
        } else if controllers.split(',').any(|c| c == self.controller) {
            // Mounted by either name.
            let mounts = [self.controller, controllers];
            let roots = mounts.map(|name| Path::new(CONTROLLERS).join(name));
            (roots.to_vec(), self.version_1)
        } else {
            return Vec::new();
        };
        let group = Path::new(group.trim_start_matches('/'));
        let groups = |root: PathBuf| group.ancestors().map(move |g| root.join(g).join(file));
        roots.into_iter().flat_map(groups).collect()
    }
}

/// The number of bytes that this process may use at most: the machine's memory, or less if a cgroup
/// limits it. `None` if the kernel does not say.
pub fn memory_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let places = groups.lines().flat_map(|line| MEMORY.places(line));
    // Without a limit, version 2 says `max`.
    let limits = places.filter_map(|place| {
        let text = std::fs::read_to_string(place).ok()?;
        text.trim().parse().ok()
    });
    let machine = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    limits.chain(total(&machine)).min()
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CgroupFile = CgroupFile {
        controller: "cpu",
        version_2: "cpu.stat",
        version_1: "cpu.stat",
    };

    #[test]
    fn parent_groups_count_as_well() {
        let text = |file: &CgroupFile, line| -> Vec<String> {
            let paths = file.places(line);
            paths.iter().map(|p| p.display().to_string()).collect()
        };
        let two = text(&MEMORY, "0::/a/b");
        for place in ["/a/b/memory.max", "/a/memory.max", "/memory.max"] {
            assert!(two.contains(&format!("/sys/fs/cgroup{place}")), "{two:?}");
        }
        let one = text(&CPU, "4:cpu,cpuacct:/a");
        for place in ["cpu/a/cpu.stat", "cpu,cpuacct/cpu.stat"] {
            assert!(one.contains(&format!("/sys/fs/cgroup/{place}")), "{one:?}");
        }
        assert!(text(&CPU, "5:memory:/a").is_empty() && text(&CPU, "x").is_empty());
        let old = text(&MEMORY, "5:memory:/a");
        assert!(
            old[0].ends_with("/memory/a/memory.limit_in_bytes"),
            "{old:?}"
        );
    }

    #[test]
    fn the_machine_has_memory() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:   24 kB\n"), Some(24 << 10));
        assert_eq!(total("MemTotal: much kB\n"), None);
        assert!(memory_limit().unwrap() > 16 << 20);
    }
}
