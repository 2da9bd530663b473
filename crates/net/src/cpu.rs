//! Pins threads to processors, and measures their processor time. `sys` makes the system calls.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::sys::thread::{self, Mask};

/// Pins the calling thread to one processor, by the kernel's number.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    let mut mask: Mask = [0; 128];
    let bits = mask.get_mut(cpu / 64).ok_or(io::ErrorKind::InvalidInput)?;
    *bits |= 1 << (cpu % 64);
    thread::set_affinity(&mask)
}

/// The processors on which the calling thread can run, ascending.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let mask = thread::affinity()?;
    let is_allowed = |cpu: &usize| {
        mask.get(cpu / 64)
            .is_some_and(|b| b & (1 << (cpu % 64)) != 0)
    };
    Ok((0..mask.len() * 64).filter(is_allowed).collect())
}

/// The scheduler's account of the calling thread.
pub const THIS_THREAD: &str = "/proc/thread-self/schedstat";

/// How long a thread has run, and how long it has been ready to run without running; `None` if the
/// kernel keeps no such account.
pub fn schedstat(file: impl AsRef<Path>) -> Option<(Duration, Duration)> {
    let text = fs::read_to_string(file).ok()?;
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let mut next = || fields.next()?.ok().map(Duration::from_nanos);
    Some((next()?, next()?))
}

/// The processor time that the calling thread has used so far.
///
/// Interrupt work, such as carrying a packet to the other end of a veth pair, is charged to the
/// interrupted thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// The user's part, from `getrusage`: the sum of both is exact to the microsecond, and most
    /// kernels estimate the split from ticks.
    pub user: Duration,
    pub system: Duration,
    /// User and system time together from `CLOCK_THREAD_CPUTIME_ID`, in nanoseconds.
    pub exact: Duration,
}

impl ThreadCpu {
    pub fn now() -> Self {
        let (user, system) = thread::usage();
        Self {
            user,
            system,
            exact: thread::cpu_time(),
        }
    }

    /// The time used between two readings of the same thread.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            exact: self.exact.saturating_sub(earlier.exact),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::thread;

    use super::*;

    #[test]
    fn a_pinned_thread_can_run_only_there() {
        let all = allowed_cpus().unwrap();
        for cpu in all.clone() {
            let seen = thread::spawn(move || {
                pin_to(cpu).unwrap();
                allowed_cpus().unwrap()
            });
            assert_eq!(seen.join().unwrap(), [cpu]);
        }
        assert_eq!(
            allowed_cpus().unwrap(),
            all,
            "other threads keep their processors"
        );
    }

    #[test]
    fn pinning_to_a_missing_processor_fails() {
        for cpu in [8191, 8192, usize::MAX] {
            assert_eq!(
                pin_to(cpu).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{cpu}"
            );
        }
    }

    #[test]
    fn only_this_threads_work_counts() {
        let before = ThreadCpu::now();
        let worker = thread::spawn(|| {
            let before = ThreadCpu::now();
            let mut sum = 0_u64;
            while ThreadCpu::now().since(before).exact < Duration::from_millis(30) {
                sum = (0..10_000).fold(sum, |sum, n| black_box(sum.wrapping_add(n)));
            }
            black_box(sum);
            ThreadCpu::now().since(before)
        });
        let work = worker.join().unwrap();
        let waited = ThreadCpu::now().since(before);
        assert!(work.exact >= Duration::from_millis(30), "{work:?}");
        assert!(work.user + work.system >= Duration::from_millis(15));
        assert!(waited.exact < work.exact / 4, "{waited:?}, {work:?}");
    }
}
