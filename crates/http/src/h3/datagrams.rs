//! Records each datagram of a connection and what it shows, and passes its unencrypted part to
//! `handshake`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roundtrip_model::{Event, Moment, Recorder, TlsFacts};
use roundtrip_net::Attendance;
use roundtrip_quic::Stats;
use roundtrip_quic_tokio::DatagramObserver;

use super::evidence::Evidence;
use super::handshake::ClearHandshake;

pub(super) struct DatagramRecorder {
    recorder: Recorder,
    seen: Mutex<ClearHandshake>,
    evidence: Mutex<Evidence>,
    attendance: Mutex<Attendance>,
    /// The number of awaited responses. Until a response begins, each datagram must be observed
    /// separately, to know which one brings it.
    awaited: AtomicUsize,
    /// Whether to record nothing more.
    stopped: AtomicBool,
}

impl DatagramRecorder {
    pub(super) fn new(recorder: Recorder) -> Arc<Self> {
        Arc::new(Self {
            attendance: Mutex::new(Attendance::begin(&recorder)),
            recorder,
            seen: Mutex::default(),
            evidence: Mutex::default(),
            awaited: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        })
    }

    /// Records nothing from now on.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn record(&self, at: Moment, event: Event) {
        if !self.stopped.load(Ordering::Relaxed) {
            self.recorder.record_at(at, event);
        }
    }

    /// Whether there was a Retry, and a version negotiation.
    pub(super) fn detours(&self) -> (bool, bool) {
        let seen = self.lock();
        (seen.retry, seen.version_negotiation)
    }

    /// How often data arrived before data that precedes it in the stream.
    pub(super) fn gaps(&self) -> u32 {
        self.evidence().gaps()
    }

    fn evidence(&self) -> MutexGuard<'_, Evidence> {
        let evidence = self.evidence.lock();
        evidence.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn describe(&self, facts: &mut TlsFacts) {
        self.lock().describe(facts);
    }

    /// Makes the driver receive datagrams one by one until a response begins or the guard is
    /// dropped.
    pub(super) fn one_by_one(&self) -> OneByOne<'_> {
        self.awaited.fetch_add(1, Ordering::Relaxed);
        OneByOne(&self.awaited)
    }

    fn lock(&self) -> MutexGuard<'_, ClearHandshake> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct OneByOne<'a>(&'a AtomicUsize);

impl Drop for OneByOne<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DatagramObserver for DatagramRecorder {
    fn now(&self) -> Moment {
        self.recorder.now()
    }

    fn on_sent(&self, at: Moment, segment: usize, bytes: &[u8]) {
        let length = bytes.len() as u64;
        self.record(at, Event::Sent { bytes: length });
        let mut seen = self.lock();
        for datagram in bytes.chunks(segment.max(1)) {
            seen.sent(datagram);
        }
    }

    fn on_received(&self, _: Moment, segment: usize, bytes: &[u8]) {
        let mut seen = self.lock();
        for datagram in bytes.chunks(segment.max(1)) {
            seen.received(datagram);
        }
    }

    fn on_read(&self, at: Moment, read: Moment, bytes: usize, stats: Option<&Stats>) {
        if let Some(stats) = stats {
            let shown = self.evidence().on_read(at, read, bytes, stats);
            for event in shown {
                self.record(at, event);
            }
        }
        let bytes = bytes as u64;
        self.record(at, Event::Received { bytes });
        let mut attendance = self
            .attendance
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((at, starved)) = attendance.read(at, &self.recorder) {
            self.record(at, starved);
        }
    }

    fn wants_each(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_after_the_end_are_not_recorded() {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        let datagrams = DatagramRecorder::new(recorder.clone());
        let written = || {
            datagrams.on_sent(Moment(3), 20, &[0; 30]);
            datagrams.on_read(Moment(4), Moment(4), 30, None);
            recorder.snapshot().iter().cloned().collect::<Vec<_>>()
        };
        let both = [
            (Moment(3), Event::Sent { bytes: 30 }),
            (Moment(4), Event::Received { bytes: 30 }),
        ];
        assert_eq!(written(), both);
        datagrams.stop();
        assert_eq!(written(), both);
    }

    #[test]
    fn each_datagram_is_wanted_while_anybody_waits() {
        let datagrams = DatagramRecorder::new(Recorder::new(Arc::new(Moment::ZERO)));
        assert!(!datagrams.wants_each());
        let first = datagrams.one_by_one();
        let second = datagrams.one_by_one();
        drop(first);
        assert!(datagrams.wants_each());
        drop(second);
        assert!(!datagrams.wants_each());
    }

    /// The kernel stamped a datagram long before it was read.
    #[test]
    fn a_client_that_does_not_read_is_noticed() {
        let recorder = Recorder::new(Arc::new(roundtrip_net::SystemClock::start()));
        let datagrams = DatagramRecorder::new(recorder.clone());
        let stopped = std::time::Duration::from_millis(60);
        let at = recorder.now();
        std::thread::sleep(stopped);
        datagrams.on_read(at, recorder.now(), 30, None);
        let timeline = recorder.snapshot();
        let starved = timeline.iter().find_map(|(_, event)| match event {
            Event::Starved { took, .. } => Some(*took),
            _ => None,
        });
        assert!(
            starved.is_some_and(|took| took >= stopped / 2),
            "{starved:?}"
        );
    }
}
