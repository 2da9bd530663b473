//! A timer with a file descriptor (`timerfd`), for callers that wait for descriptors anyway. It is
//! as precise as the kernel's timers (50 µs, the thread's slack); the timers of a runtime have a
//! resolution of a millisecond, too coarse to pace datagrams.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use crate::sys;

/// A timer. Readable from its expiry until [`Alarm::hear`] is called or it is set again.
#[derive(Debug)]
pub struct Alarm {
    timer: File,
}

impl Alarm {
    /// Creates an alarm that is not set.
    pub fn new() -> io::Result<Self> {
        let timer = sys::alarm::timer()?.into();
        Ok(Self { timer })
    }

    /// Sets the alarm to expire after this time; replaces an earlier setting.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let at_once = Duration::from_nanos(1);
        sys::alarm::set_timer(self.timer.as_fd(), after.max(at_once))
    }

    /// Whether the alarm has expired since it was set, or since the last call.
    pub fn hear(&self) -> bool {
        (&self.timer).read(&mut [0; 8]).is_ok()
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

impl AsRawFd for Alarm {
    fn as_raw_fd(&self) -> RawFd {
        self.timer.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagrams::{WatchedDescriptor, wait_for_any};

    fn waits(alarm: &Alarm) -> bool {
        let mut watched = [WatchedDescriptor::for_reading(alarm)];
        wait_for_any(&mut watched, Some(Duration::from_mins(1))).unwrap() == 1
    }

    #[test]
    fn it_expires_once_each_time_it_is_set() {
        let alarm = Alarm::new().unwrap();
        assert!(!alarm.hear());
        for after in [Duration::ZERO, Duration::from_micros(100)] {
            alarm.set(after).unwrap();
            assert!(waits(&alarm) && alarm.hear());
            assert!(!alarm.hear());
        }
    }

    #[test]
    fn setting_it_again_replaces_the_earlier_time() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO).unwrap();
        assert!(waits(&alarm));
        alarm.set(Duration::from_hours(1)).unwrap();
        assert!(!alarm.hear());
    }
}
