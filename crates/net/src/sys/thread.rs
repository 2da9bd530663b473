//! System calls about the calling thread, for `cpu`: its processor, and the time it has used.

use std::io;
use std::mem;
use std::time::Duration;

/// A bit for each of 8192 processors, the most that Linux supports on any machine (`NR_CPUS`).
pub(crate) type Mask = [u64; 128];

pub(crate) fn set_affinity(mask: &Mask) -> io::Result<()> {
    // SAFETY: pointer and size are those of `mask`, which the kernel only reads; thread 0 is the
    // caller.
    let outcome =
        unsafe { libc::sched_setaffinity(0, mem::size_of::<Mask>(), mask.as_ptr().cast()) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

pub(crate) fn affinity() -> io::Result<Mask> {
    let mut mask: Mask = [0; 128];
    // SAFETY: pointer and size are those of `mask`; the kernel writes at most that many bytes of
    // plain integers.
    let outcome =
        unsafe { libc::sched_getaffinity(0, mem::size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    if outcome == 0 {
        Ok(mask)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// User and system time of the calling thread, as split by ticks.
pub(crate) fn usage() -> (Duration, Duration) {
    // SAFETY: all-zero is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is a valid rusage for the call to fill; RUSAGE_THREAD always exists.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    let duration =
        |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

/// User and system time together, in nanoseconds.
pub(crate) fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the call to fill; a thread always has its own clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
