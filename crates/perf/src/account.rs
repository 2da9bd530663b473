//! The processor time of a side. `readings` takes the readings; this adds them up.
//!
//! # Whose time is whose
//!
//! **The CPU time of a side** is the time of its threads, in nanoseconds, plus the interrupts on
//! its core that are not in that time. Which interrupts those are depends on the kernel. Most
//! kernels charge an interrupt to the thread that it interrupts, except for work left to
//! `ksoftirqd`, whose time is added here. A kernel with `CONFIG_IRQ_TIME_ACCOUNTING` counts all
//! interrupts separately: there the core's `softirq` and `irq` are added. A trial finds out which
//! kind of kernel is running ([`readings::counts_apart`]).
//!
//! **Not counted** are interrupts on an idle core, if the kernel does not count interrupts
//! separately (they belong to the idle task), and the work of going idle and waking up. Their upper
//! bound is the time in which the core was neither idle nor working for the side
//! ([`Usage::uncounted`]); that time includes other programs and, in a virtual machine, the
//! hypervisor's share.
//!
//! No time is divided by an estimate. Over a veth pair, the sender of a packet also carries it
//! through the receiver's stack up to its socket, and the sender of an acknowledgement carries that
//! back: time is charged where it is spent, for every transport alike.
//!
//! Other programs on the core ([`Usage::foreign`]), and the time that threads waited to run, are
//! not part of the cost, but they disturb the measurement.

pub(crate) mod readings;

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use readings::CpuMeter;

/// The processor time of one side, from the first payload to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub wall: Duration,
    /// The time of the threads, exact to the nanosecond.
    pub thread: Duration,
    /// The kernel's split of that time, by samples.
    pub user: Duration,
    pub system: Duration,
    /// How long the side's threads were runnable while others ran; `None` if the kernel does not
    /// count that.
    pub waited: Option<Duration>,
    /// The core that the side was pinned to, if any.
    pub core: Option<Core>,
}

/// The use of one processor, during the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Core {
    pub number: usize,
    pub busy: Duration,
    pub idle: Duration,
    /// Time in interrupts of all threads; sampled, unless the kernel counts it separately.
    pub interrupts: Duration,
    /// The part of the interrupts' time that does not count as any thread's time.
    pub beside: Duration,
}

impl Usage {
    /// The processor time that the side cost.
    pub fn cpu(&self) -> Duration {
        self.thread + self.core.map_or(Duration::ZERO, |core| core.beside)
    }

    /// The share of one core during the measurement.
    pub fn share(&self) -> f64 {
        ratio(self.cpu(), self.wall)
    }

    /// Seconds of processor time per gigabyte (1e9 bytes).
    pub fn per_gigabyte(&self, payload: u64) -> Option<f64> {
        (payload > 0).then(|| self.cpu().as_secs_f64() / (payload as f64 / 1e9))
    }

    /// The time in which the core was busy with something that is not part of the cost.
    pub fn uncounted(&self) -> Option<Duration> {
        let awake = self.wall.saturating_sub(self.core?.idle);
        Some(awake.saturating_sub(self.cpu()))
    }

    /// The share of the core that other programs used.
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

/// Adds the use of threads of one side, which share a core.
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
    fn time_of_others_on_the_core_is_uncounted() {
        assert_eq!(usage().uncounted(), Some(ms(100)));
        let anywhere = Usage {
            core: None,
            ..usage()
        };
        assert_eq!(anywhere.uncounted(), None);
        // Idle time comes in ticks, and may be a little too long.
        let tight = Usage {
            thread: ms(750),
            ..usage()
        };
        assert_eq!(tight.uncounted(), Some(Duration::ZERO));
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
    fn without_a_measurement_there_is_no_share() {
        assert!(Usage::default().share().abs() < f64::EPSILON);
        assert_eq!(Usage::default().foreign(), None);
    }
}
