//! The system calls of a `timerfd`, for `alarm`.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

pub(crate) fn timer() -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: takes integers only.
    let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and not owned by anything else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets the timer to expire once, after this time; zero would disarm it.
pub(crate) fn set_timer(timer: BorrowedFd<'_>, after: Duration) -> io::Result<()> {
    // SAFETY: all-zero is a valid `itimerspec`.
    let mut when: libc::itimerspec = unsafe { mem::zeroed() };
    when.it_value.tv_sec = after.as_secs().try_into().unwrap_or(libc::time_t::MAX);
    when.it_value.tv_nsec = after.subsec_nanos().into();
    // SAFETY: `when` is alive and only read; the earlier setting is not requested.
    let outcome =
        unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const when, ptr::null_mut()) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
