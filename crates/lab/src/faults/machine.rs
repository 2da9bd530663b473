//! Delays that this machine added to an exchange: threads that were ready and did not run, and
//! packets that the relay released late. A finding of about that size is true.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use roundtrip_net::cpu;
use roundtrip_path::PathCounters;

/// How long each thread of this process has waited for a processor.
#[derive(Debug, Default)]
pub(super) struct RunDelays(HashMap<String, Duration>);

impl RunDelays {
    pub(super) fn now() -> Self {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
        let delays = threads.filter_map(|thread| {
            let thread = thread.ok()?;
            let (_, waited) = cpu::schedstat(thread.path().join("schedstat"))?;
            Some((thread.file_name().to_string_lossy().into_owned(), waited))
        });
        Self(delays.collect())
    }

    /// The longest time that one thread has waited since then.
    pub(super) fn longest_since(&self) -> Duration {
        let now = Self::now().0.into_iter();
        now.map(|(thread, waited)| {
            waited.saturating_sub(self.0.get(&thread).copied().unwrap_or_default())
        })
        .max()
        .unwrap_or_default()
    }
}

/// How long this thread has waited for a processor.
pub(super) fn of_this_thread() -> Duration {
    cpu::schedstat(cpu::THIS_THREAD).map_or(Duration::ZERO, |(_, waited)| waited)
}

/// The largest lateness with which the relay released a packet.
pub(super) fn lateness(counters: &PathCounters) -> Duration {
    counters.up.lateness.max.max(counters.down.lateness.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_one_of_those() {
        let before = RunDelays::now();
        assert!(!before.0.is_empty());
        assert!(of_this_thread() >= before.0.values().min().copied().unwrap_or_default());
        assert!(before.longest_since() < Duration::from_mins(1));
    }
}
