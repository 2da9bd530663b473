//! Wakes the driver at its deadline. Most deadlines are replaced before they come: those of lost
//! packets and of acknowledgements move with each datagram. So the runtime's timers, which cost no
//! system call but fire up to a millisecond late, wait for a distant deadline; a precise timer of
//! the kernel is used only for the last stretch.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use roundtrip_net::{Alarm, Watch};
use roundtrip_quic::Time;
use tokio::time::{Instant, Sleep, sleep_until};

/// The resolution of the runtime's timers, with some time for the wake-up.
const LAST_STRETCH: Duration = Duration::from_micros(1200);
/// A deadline that is further away is distant.
const DISTANT: Duration = Duration::from_millis(2);
/// A peer may name an idle timeout beyond the range of the runtime's clock.
const LONGEST_SLEEP: Duration = Duration::from_hours(24);

pub(crate) struct Timer {
    alarm: Alarm,
    ringing: Watch,
    /// When the alarm rings, if it is set.
    set_to: Option<Time>,
    sleep: Pin<Box<Sleep>>,
    /// When the sleep ends, if it is used.
    sleeps_to: Option<Time>,
}

impl Timer {
    /// Must be called on a runtime with timers.
    pub(crate) fn new() -> io::Result<Self> {
        let alarm = Alarm::new()?;
        Ok(Self {
            ringing: Watch::new(&alarm)?,
            alarm,
            set_to: None,
            sleep: Box::pin(sleep_until(Instant::now())),
            sleeps_to: None,
        })
    }

    /// Wakes the task no later than at the deadline. It may wake the task earlier.
    pub(crate) fn wake_at(
        &mut self,
        cx: &mut Context<'_>,
        now: Time,
        deadline: Option<Time>,
    ) -> io::Result<()> {
        loop {
            if let Some(deadline) = deadline {
                self.set(now, deadline)?;
            }
            // If it was set for a deadline that has moved since, it is set again.
            if !self.has_fired(cx)? {
                return Ok(());
            }
        }
    }

    /// Returns true once, when it has fired; otherwise the task is woken when it fires.
    fn has_fired(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if self.sleeps_to.is_some() && self.sleep.as_mut().poll(cx).is_ready() {
            self.sleeps_to = None;
            return Ok(true);
        }
        while let (Some(_), Poll::Ready(ready)) = (self.set_to, self.ringing.poll_readable(cx)) {
            let mut guard = ready?;
            let rings = self.alarm.hear();
            // It does not ring again before it is set again.
            guard.clear_ready();
            if rings {
                self.set_to = None;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn set(&mut self, now: Time, deadline: Time) -> io::Result<()> {
        let fires = [self.set_to, self.sleeps_to].into_iter().flatten().min();
        if fires.is_some_and(|fires| fires <= deadline) {
            return Ok(());
        }
        let left = deadline.since(now);
        if left > DISTANT {
            let sleep = left.saturating_sub(LAST_STRETCH).min(LONGEST_SLEEP);
            self.sleep.as_mut().reset(Instant::now() + sleep);
            self.sleeps_to = Some(now.after(sleep));
        } else {
            self.alarm.set(left)?;
            self.set_to = Some(deadline);
        }
        Ok(())
    }
}
