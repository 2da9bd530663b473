//! Clocks and waiting.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use roundtrip_model::{ClockReading, Moment};

/// Time since an arbitrary start that never jumps; delays are measured with this clock.
pub(crate) fn monotonic() -> Duration {
    read(libc::CLOCK_MONOTONIC)
}

/// Time since 1970; the kernel's timestamps of packets use this clock.
pub(crate) fn realtime() -> Duration {
    read(libc::CLOCK_REALTIME)
}

/// The realtime clock at zero of the monotonic clock. Read again until both readings are close
/// together.
pub(crate) fn epoch() -> Duration {
    let moment = || Moment::ZERO + monotonic();
    let reading = ClockReading::closest(moment, realtime, Duration::from_micros(1));
    let middle = reading.before + reading.width() / 2;
    reading.wall.saturating_sub(middle.since(Moment::ZERO))
}

/// Waits until one of `watched` is readable or `limit` has passed (`None`: no limit). Returns which
/// are readable; after a signal or the limit, none.
pub(crate) fn wait_readable<const N: usize>(
    watched: [BorrowedFd<'_>; N],
    limit: Option<Duration>,
) -> [bool; N] {
    let mut polled = watched.map(|descriptor| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let limit = limit.map(timespec);
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array and its length agree, `limit` is null or lives through the call, no signal
    // mask is given.
    let ready = unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            N as libc::nfds_t,
            limit,
            std::ptr::null(),
        )
    };
    polled.map(|entry| ready > 0 && entry.revents != 0)
}

/// Sleeps without watching descriptors.
pub(crate) fn pause(duration: Duration) {
    let duration = timespec(duration);
    // SAFETY: no descriptors, a limit that lives through the call, no signal mask.
    unsafe {
        libc::ppoll(
            std::ptr::null_mut(),
            0,
            &raw const duration,
            std::ptr::null(),
        )
    };
}

/// Asks the kernel to wake this thread on time, not up to 50 µs later (`PR_SET_TIMERSLACK`).
pub(crate) fn sharpen_timers() -> io::Result<()> {
    // SAFETY: takes integers only, and concerns the calling thread alone.
    super::check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) }).map(drop)
}

/// Asks for a higher priority, if that is allowed, and in any case for short time slices, which are
/// scheduled sooner when others compete for the processor (`sched_setattr`, Linux 6.12).
pub(crate) fn come_sooner() -> io::Result<()> {
    schedule(PREFERRED_NICE).or_else(|_| schedule(0))
}

/// The nice(1) value.
const PREFERRED_NICE: i32 = -15;

fn schedule(nice: i32) -> io::Result<()> {
    /// `struct sched_attr` of linux/sched/types.h, first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: std::mem::size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the structure lives through the call and says its size; 0 is the calling thread.
    let returned = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    super::check(returned as libc::c_int).map(drop)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut now = timespec(Duration::ZERO);
    // SAFETY: `now` lives through the call. Both clocks exist on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
