//! Reads the kernel's accounts: the thread's clock, the core's line in `/proc/stat`, its
//! `ksoftirqd`.

use std::fs;
use std::net::UdpSocket;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use roundtrip_net::cpu::{self, ThreadCpu};

use super::{Core, Usage};

/// The unit of `/proc/stat`: `USER_HZ` is 100 on every current Linux, whatever the kernel uses
/// internally.
const TICK: Duration = Duration::from_millis(10);
/// The duration of the trial: long enough to include time slices.
const TRIAL: Duration = Duration::from_millis(60);
/// The share of the trial's time that must be missing to conclude that interrupts are counted
/// separately: sending to oneself spends a third there.
const MISSING_SHARE: f64 = 0.1;

/// Measures one thread from its creation until it is read.
pub(crate) struct CpuMeter {
    began: Instant,
    thread: ThreadCpu,
    waited: Option<Duration>,
    core: Option<CoreTimes>,
    number: usize,
}

impl CpuMeter {
    /// `core` is the processor that this thread is pinned to.
    pub(crate) fn start(core: Option<usize>) -> Self {
        Self {
            core: core.and_then(CoreTimes::read),
            number: core.unwrap_or_default(),
            waited: waited(),
            began: Instant::now(),
            thread: ThreadCpu::now(),
        }
    }

    pub(crate) fn read(&self) -> Usage {
        let (thread, wall) = (ThreadCpu::now(), self.began.elapsed());
        let spent = thread.since(self.thread);
        let core = || Some(CoreTimes::read(self.number)?.since(self.core?, self.number));
        Usage {
            wall,
            thread: spent.exact,
            user: spent.user,
            system: spent.system,
            waited: waited()
                .zip(self.waited)
                .map(|(now, then)| now.saturating_sub(then)),
            core: self.core.and_then(|_| core()),
        }
    }
}

/// The counters of a core at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CoreTimes {
    busy: Duration,
    idle: Duration,
    interrupts: Duration,
    /// The processor time of the core's ksoftirqd; `None` if this process cannot see it.
    ksoftirqd: Option<Duration>,
}

impl CoreTimes {
    fn read(core: usize) -> Option<Self> {
        let mut line = Self::parse(&fs::read_to_string("/proc/stat").ok()?, core)?;
        line.ksoftirqd = ksoftirqd(core);
        Some(line)
    }

    /// proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice; the last two
    /// are included in the first two.
    fn parse(stat: &str, core: usize) -> Option<Self> {
        let mut fields = stat.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            (fields.next()?.strip_prefix("cpu")? == core.to_string()).then_some(fields)
        })?;
        let mut next = || -> Option<Duration> {
            let ticks: u64 = fields.next()?.parse().ok()?;
            Some(Duration::from_millis(
                ticks.saturating_mul(TICK.as_millis() as u64),
            ))
        };
        let used = next()? + next()? + next()?;
        let idle = next()? + next()?;
        let interrupts = next()? + next()?;
        Some(Self {
            busy: used + interrupts,
            idle,
            interrupts,
            ksoftirqd: None,
        })
    }

    fn since(self, earlier: Self, number: usize) -> Core {
        let interrupts = self.interrupts.saturating_sub(earlier.interrupts);
        let left_over = self.ksoftirqd.zip(earlier.ksoftirqd);
        let left_over = left_over.map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
        Core {
            number,
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            interrupts,
            beside: if counts_apart() {
                interrupts
            } else {
                left_over
            },
        }
    }
}

/// The processor time of a core's `ksoftirqd`, from its `schedstat`. The process is looked up once.
fn ksoftirqd(core: usize) -> Option<Duration> {
    static KNOWN: OnceLock<Vec<(usize, u32)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(|id: u32| {
            let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
            let core = name.trim().strip_prefix("ksoftirqd/")?.parse().ok()?;
            Some((core, id))
        })
        .collect()
    });
    let (_, id) = known.iter().find(|(of, _)| *of == core)?;
    let (ran, _) = cpu::schedstat(format!("/proc/{id}/schedstat"))?;
    Some(ran)
}

/// How long the calling thread has been runnable without running, so far.
fn waited() -> Option<Duration> {
    Some(cpu::schedstat(cpu::THIS_THREAD)?.1)
}

/// Whether this kernel counts interrupts separately from threads. A thread that never sleeps causes
/// many interrupts: if its own time and its waits do not add up to the time that passed, the kernel
/// counts interrupts elsewhere.
pub(crate) fn counts_apart() -> bool {
    static APART: OnceLock<bool> = OnceLock::new();
    *APART.get_or_init(|| try_it().is_some_and(|missing| missing > MISSING_SHARE))
}

fn try_it() -> Option<f64> {
    let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
    socket.connect(socket.local_addr().ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    let (began, before, used) = (Instant::now(), waited()?, ThreadCpu::now());
    let mut buffer = [0; 64];
    while began.elapsed() < TRIAL {
        // A full buffer causes the same interrupt.
        let _ = socket.send(&buffer);
        let _ = socket.recv(&mut buffer);
    }
    let used = ThreadCpu::now().since(used).exact;
    let accounted = used + waited()?.saturating_sub(before);
    let wall = began.elapsed();
    Some(wall.saturating_sub(accounted).as_secs_f64() / wall.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu10 10 0 0 0 0 0 0 0 0 0\nintr 1";

    #[test]
    fn the_line_of_a_core_is_found_and_read() {
        let line = CoreTimes::parse(STAT, 1).unwrap();
        assert_eq!(line.busy, TICK * 19, "user, nice, system, irq, softirq");
        assert_eq!((line.idle, line.interrupts), (TICK * 9, TICK * 13));
        assert_eq!(
            CoreTimes::parse(STAT, 10).unwrap_or_default().busy,
            Duration::ZERO + TICK * 10
        );
        assert_eq!(CoreTimes::parse(STAT, 2), None);
        assert_eq!(CoreTimes::parse("cpu0 1 2", 0), None);
    }

    #[test]
    fn a_core_is_what_was_added_to_it() {
        let then = CoreTimes {
            ksoftirqd: Some(TICK),
            ..CoreTimes::parse(STAT, 1).unwrap()
        };
        let now = CoreTimes {
            busy: then.busy + TICK * 5,
            ksoftirqd: Some(TICK * 3),
            ..then
        };
        let core = now.since(then, 1);
        assert_eq!((core.busy, core.idle), (TICK * 5, Duration::ZERO));
        assert!((core.share() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_thread_that_works_is_seen_to() {
        let meter = CpuMeter::start(None);
        let mut sum = 0_u64;
        while meter.read().thread < Duration::from_millis(20) {
            sum = std::hint::black_box(sum + 1);
        }
        let usage = meter.read();
        assert!(usage.wall >= usage.thread, "{usage:?}");
        assert_eq!(usage.core, None);
    }
}
