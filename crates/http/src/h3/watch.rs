//! Writes down each datagram of a connection, and lets `hellos` look at what passes in clear.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roundtrip_model::{Event, Moment, Recorder, TlsFacts};

use super::hellos::Seen;
use roundtrip_quic_tokio::DatagramObserver;

pub(super) struct Watched {
    recorder: Recorder,
    seen: Mutex<Seen>,
    /// While responses are awaited it is to be known which datagram brought one.
    awaited: AtomicUsize,
    /// Nobody cares any more what passes.
    hushed: AtomicBool,
}

impl Watched {
    pub(super) fn new(recorder: Recorder) -> Arc<Self> {
        Arc::new(Self {
            recorder,
            seen: Mutex::default(),
            awaited: AtomicUsize::new(0),
            hushed: AtomicBool::new(false),
        })
    }

    /// Writes nothing down from now on.
    pub(super) fn hush(&self) {
        self.hushed.store(true, Ordering::Relaxed);
    }

    fn record(&self, at: Moment, event: Event) {
        if !self.hushed.load(Ordering::Relaxed) {
            self.recorder.record_at(at, event);
        }
    }

    /// Was there a Retry, and a version negotiation?
    pub(super) fn detours(&self) -> (bool, bool) {
        let seen = self.lock();
        (seen.retry, seen.version_negotiation)
    }

    pub(super) fn describe(&self, facts: &mut TlsFacts) {
        self.lock().describe(facts);
    }

    /// Datagrams are handed on one by one while this is held: for the time until a response begins.
    pub(super) fn one_by_one(&self) -> OneByOne<'_> {
        self.awaited.fetch_add(1, Ordering::Relaxed);
        OneByOne(&self.awaited)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct OneByOne<'a>(&'a AtomicUsize);

impl Drop for OneByOne<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DatagramObserver for Watched {
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

    fn on_received(&self, at: Moment, segment: usize, bytes: &[u8]) {
        let length = bytes.len() as u64;
        self.record(at, Event::Received { bytes: length });
        let mut seen = self.lock();
        for datagram in bytes.chunks(segment.max(1)) {
            seen.received(datagram);
        }
    }

    fn wants_each(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_model::Clock;

    use super::*;

    struct Frozen;

    impl Clock for Frozen {
        fn now(&self) -> Moment {
            Moment::ZERO
        }
    }

    #[test]
    fn what_passes_after_the_end_is_not_written_down() {
        let recorder = Recorder::new(Arc::new(Frozen));
        let watched = Watched::new(recorder.clone());
        let written = || {
            watched.on_sent(Moment(3), 20, &[0; 30]);
            watched.on_received(Moment(4), 30, &[0; 30]);
            recorder.snapshot().iter().cloned().collect::<Vec<_>>()
        };
        let both = [
            (Moment(3), Event::Sent { bytes: 30 }),
            (Moment(4), Event::Received { bytes: 30 }),
        ];
        assert_eq!(written(), both);
        watched.hush();
        assert_eq!(written(), both);
    }

    #[test]
    fn each_datagram_is_wanted_while_anybody_waits() {
        let watched = Watched::new(Recorder::new(Arc::new(Frozen)));
        assert!(!watched.wants_each());
        let first = watched.one_by_one();
        let second = watched.one_by_one();
        drop(first);
        assert!(watched.wants_each());
        drop(second);
        assert!(!watched.wants_each());
    }
}
