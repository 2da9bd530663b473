//! What a side cost the processor. Readings are taken by `readings`; this adds them up.
//!
//! # Whose time is whose
//!
//! **The CPU time of a side** is that of its threads, to the nanosecond, and what interrupts took on its core beside
//! them. Which interrupts are beside them depends on the kernel. Most count an interrupt as the time of the thread that
//! it interrupts, and only what was left to `ksoftirqd` goes to another: its time is added. A kernel with
//! `CONFIG_IRQ_TIME_ACCOUNTING` counts all of them apart: there the core's `softirq` and `irq` are added. Which of the
//! two runs is found out by trying ([`readings::counts_apart`]).
//!
//! Nothing is divided by guessing. Over a veth pair, who sends a packet also carries it through the receiver's stack up
//! to its socket, and who acknowledges carries that back: it is paid for where it is done, for every transport alike.
//!
//! Whatever else ran on the core ([`Usage::foreign`]), and how long threads waited for their turn, is no cost of ours, but
//! it disturbs what is measured.

pub(crate) mod readings;

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use readings::Meter;

/// From the first payload to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub wall: Duration,
    /// Of the threads, to the nanosecond.
    pub thread: Duration,
    /// How the kernel divides that, by samples.
    pub user: Duration,
    pub system: Duration,
    /// In which its threads could have run, and others did; none where the kernel does not count it.
    pub waited: Option<Duration>,
    /// Where the side was kept on one.
    pub core: Option<Core>,
}

/// One processor, during the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Core {
    pub number: usize,
    pub busy: Duration,
    pub idle: Duration,
    /// In interrupts, of whomever; sampled, unless they are counted apart.
    pub interrupts: Duration,
    /// What of them no thread's time contains.
    pub beside: Duration,
}

impl Usage {
    /// What the side cost.
    pub fn cpu(&self) -> Duration {
        self.thread + self.core.map_or(Duration::ZERO, |core| core.beside)
    }

    /// Of the time that there was, for one core.
    pub fn share(&self) -> f64 {
        ratio(self.cpu(), self.wall)
    }

    /// Seconds of the processor for a gigabyte, 1e9 bytes.
    pub fn per_gigabyte(&self, payload: u64) -> Option<f64> {
        (payload > 0).then(|| self.cpu().as_secs_f64() / (payload as f64 / 1e9))
    }

    /// The share of the core that others had.
    pub fn foreign(&self) -> Option<f64> {
        let core = self.core?;
        Some((core.share() - self.share()).max(0.0))
    }
}

impl Core {
    pub fn share(&self) -> f64 {
        ratio(self.busy, self.busy + self.idle)
    }
}

/// Threads of one side, which share a core.
impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (longer, shorter) = if self.wall >= other.wall {
            (self, other)
        } else {
            (other, self)
        };
        Self {
            wall: longer.wall,
            thread: self.thread + other.thread,
            user: self.user + other.user,
            system: self.system + other.system,
            waited: self.waited.zip(other.waited).map(|(one, two)| one + two),
            core: longer.core.or(shorter.core),
        }
    }
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn usage() -> Usage {
        Usage {
            wall: ms(1000),
            thread: ms(600),
            user: ms(100),
            system: ms(500),
            waited: Some(ms(50)),
            core: Some(Core {
                number: 0,
                busy: ms(800),
                idle: ms(200),
                interrupts: ms(150),
                beside: ms(100),
            }),
        }
    }

    #[test]
    fn interrupts_beside_the_thread_are_the_sides() {
        let usage = usage();
        assert_eq!(usage.cpu(), ms(700));
        assert!((usage.per_gigabyte(2_000_000_000).unwrap() - 0.35).abs() < 1e-9);
        assert!((usage.foreign().unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(usage.per_gigabyte(0), None);
    }

    #[test]
    fn threads_add_up_and_their_core_does_not() {
        let short = Usage {
            wall: ms(400),
            core: None,
            ..usage()
        };
        for sum in [usage() + short, short + usage()] {
            assert_eq!((sum.wall, sum.thread), (ms(1000), ms(1200)));
            assert_eq!(sum.waited, Some(ms(100)));
            assert_eq!(sum.core, usage().core);
        }
    }

    #[test]
    fn nothing_measured_is_no_share() {
        assert!(Usage::default().share().abs() < f64::EPSILON);
        assert_eq!(Usage::default().foreign(), None);
    }
}
