//! Detects that the client did not run although there was something to do: other programs used the
//! processors, a quota was used up, or the process was stopped.

use std::thread::ThreadId;
use std::time::Duration;

use roundtrip_model::{Event, Moment, Recorder, Task};

use crate::TcpInfo;
use crate::cpu;
use crate::quota;
use crate::sys::thread;

/// A shorter absence is normal for a wake-up.
pub(crate) const MIN_ABSENCE: Duration = Duration::from_millis(1);

/// A moment at which the thread ran, by the clock, and the processor time that it had used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presence {
    pub(crate) at: Moment,
    cpu: Duration,
}

impl Presence {
    pub(crate) fn now(recorder: &Recorder) -> Self {
        Self {
            at: recorder.clock(),
            cpu: thread::cpu_time(),
        }
    }

    /// This presence, but at another moment.
    pub(crate) fn moved(self, at: Moment) -> Self {
        Self { at, ..self }
    }

    /// The time from `from`, when there was something to do, until `now`, minus the time in which
    /// the thread ran, or used a disk or its output. The thread must have run between this presence
    /// and `now`.
    pub(crate) fn absence(
        &self,
        from: Moment,
        now: &Self,
        recorder: &Recorder,
    ) -> Option<Duration> {
        let from = from.max(self.at);
        if now.at.since(from) < MIN_ABSENCE {
            return None;
        }
        let zero = recorder.zero();
        let (mut before, mut since) = (Duration::ZERO, Duration::ZERO);
        let began = Moment::ZERO + self.at.since(zero);
        for (at, event) in recorder.since(began).iter() {
            let Event::Worked { task, took } = event else {
                continue;
            };
            let at = zero + at.since(Moment::ZERO);
            let late = (*took).min(at.since(from));
            // A slow disk takes no processor time; other work does, or the thread does not run.
            if matches!(task, Task::LoadRoots | Task::Write) {
                since += late;
            }
            before += took.saturating_sub(late).min(from.since(self.at));
        }
        let cpu = now.cpu.saturating_sub(self.cpu).saturating_sub(before);
        let absent = now.at.since(from).saturating_sub(since.max(cpu));
        (absent >= MIN_ABSENCE).then_some(absent)
    }

    /// Moves this presence to now. Returns how long the thread was not running since `from`; `None`
    /// if it ran all the time.
    pub(crate) fn renew(
        &mut self,
        from: Moment,
        recorder: &Recorder,
        throttling: &mut Throttling,
    ) -> Option<Event> {
        let now = Self::now(recorder);
        let took = self.absence(from, &now, recorder);
        *self = now;
        let took = took?;
        let throttled = throttling.explains(took);
        Some(Event::Starved { took, throttled })
    }
}

/// How long a thread had been ready to run without running, at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunDelay {
    thread: ThreadId,
    waited: Option<Duration>,
}

impl RunDelay {
    pub(crate) fn now() -> Self {
        Self {
            thread: std::thread::current().id(),
            waited: cpu::schedstat(cpu::THIS_THREAD).map(|(_, waited)| waited),
        }
    }

    /// By how much that has grown, if the kernel reports it and this is the same thread.
    pub(crate) fn more(self) -> Option<Duration> {
        let now = Self::now();
        let both = now.waited.zip(self.waited);
        let more = both.map(|(now, before)| now.saturating_sub(before));
        more.filter(|more| now.thread == self.thread && *more >= MIN_ABSENCE)
    }
}

/// How long the receive window has been closed. Called when bytes are read that had been waiting,
/// by a thread that has read nothing since `last`.
pub(crate) fn window_closed(
    socket: &socket2::Socket,
    is_wait: bool,
    last: Moment,
    recorder: &Recorder,
) -> Option<Duration> {
    let unread = recorder.clock().since(last);
    if is_wait || unread < MIN_ABSENCE {
        return None;
    }
    let took = TcpInfo::from_socket(socket)?.closed_for()?.min(unread);
    (took >= MIN_ABSENCE).then_some(took)
}

/// Detects that a thread did not read what had arrived, for callers that know the arrival times
/// themselves.
#[derive(Debug)]
pub struct Attendance {
    presence: Presence,
    throttling: Throttling,
}

impl Attendance {
    /// Starts watching the calling thread.
    pub fn begin(recorder: &Recorder) -> Self {
        Self {
            presence: Presence::now(recorder),
            throttling: Throttling::watch(),
        }
    }

    /// Notes that what had arrived at `at` is read now. Returns when and how long the thread was
    /// not running; `None` if it ran all the time.
    pub fn read(&mut self, at: Moment, recorder: &Recorder) -> Option<(Moment, Event)> {
        let (zero, clock) = (recorder.zero(), recorder.clock());
        let arrived = zero + at.since(Moment::ZERO);
        let is_late = clock.since(arrived) >= MIN_ABSENCE;
        if !is_late && clock.since(self.presence.at) < MIN_ABSENCE {
            return None;
        }
        let absence = self
            .presence
            .renew(arrived, recorder, &mut self.throttling)?;
        let at = Moment::ZERO + self.presence.at.since(zero);
        Some((at, absence))
    }
}

/// Tells why the client did not run: whether a quota was used up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Throttling(Duration);

impl Throttling {
    /// Begins to watch the quota.
    pub(crate) fn watch() -> Self {
        Self(quota::throttled())
    }

    /// Whether the quota accounts for an absence of this length that has just ended.
    pub(crate) fn explains(&mut self, took: Duration) -> bool {
        let before = std::mem::replace(&mut self.0, quota::throttled());
        self.0.saturating_sub(before) >= took / 2
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn at(ms: u64, cpu: u64) -> Presence {
        Presence {
            at: Moment::from_millis(ms as f64),
            cpu: Duration::from_millis(cpu),
        }
    }

    fn absence(from: u64, now: Presence, worked: &[(u64, u64)]) -> Option<Duration> {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        for (at, took) in worked {
            let took = Duration::from_millis(*took);
            let task = Task::Write;
            let at = Moment::from_millis(*at as f64);
            recorder.record_at(at, Event::Worked { task, took });
        }
        at(100, 7).absence(Moment::from_millis(from as f64), &now, &recorder)
    }

    #[test]
    fn only_unused_time_is_an_absence() {
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(absence(140, at(440, 7), &[]), ms(300));
        // Processor time, work, and work that used the processor.
        assert_eq!(absence(140, at(440, 107), &[]), ms(200));
        assert_eq!(absence(140, at(440, 7), &[(430, 250)]), ms(50));
        assert_eq!(absence(140, at(440, 107), &[(430, 100)]), ms(200));
        assert_eq!(absence(140, at(440, 307), &[]), None);
        // Work before there was something to do does not count, nor work that began then.
        assert_eq!(absence(140, at(440, 37), &[(135, 30)]), ms(300));
        assert_eq!(absence(140, at(440, 7), &[(150, 30)]), ms(290));
        // The thread went to sleep only after the bytes had arrived.
        assert_eq!(absence(20, at(440, 7), &[]), ms(340));
    }

    #[test]
    fn a_run_delay_belongs_to_one_thread() {
        let elsewhere = std::thread::spawn(RunDelay::now).join().unwrap();
        assert_eq!(elsewhere.more(), None);
        let much = RunDelay {
            waited: Some(Duration::MAX),
            ..RunDelay::now()
        };
        assert_eq!(much.more(), None);
    }

    /// Other programs had the processor while the thread verified certificates.
    #[test]
    fn work_that_computes_takes_processor_time() {
        let absent = |task| {
            let recorder = Recorder::new(Arc::new(Moment::ZERO));
            let took = Duration::from_millis(300);
            recorder.record_at(Moment::from_millis(430.0), Event::Worked { task, took });
            at(100, 7).absence(Moment::ZERO, &at(440, 10), &recorder)
        };
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(absent(Task::Verify), ms(337));
        assert_eq!(absent(Task::Write), ms(40));
    }
}
