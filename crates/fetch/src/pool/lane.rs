//! An open connection and the facts about it. Connections over HTTP/2 and 3 are shared; one over
//! HTTP/1.1 is lent to one request after another.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use roundtrip_http::{Connection, SharedConnection, Transport};
use roundtrip_model::{Attempt, EarlyData, Event, Moment, NameFacts, Recorder, Timeline, TlsFacts};

/// The smallest number of events that are kept for a connection that has carried an answer.
pub(super) const KEPT_FACTS: usize = 256;

/// The largest number of facts before a connection has carried an answer, so that a flood of events
/// cannot fill the memory.
const UNHEARD_FACTS: usize = 4096;
/// The interval at which to check whether a handshake is complete.
const PROOF_STEP: Duration = Duration::from_millis(5);

pub(super) struct Lane {
    /// The connection, if requests can share it; `None` for HTTP/1.1.
    pub(super) shared: Option<SharedConnection>,
    pub(super) transport: Transport,
    /// The recorder, whose time begins when the connection was requested.
    pub(super) recorder: Recorder,
    pub(super) name: NameFacts,
    pub(super) attempts: Vec<Attempt>,
    /// The time when the connection could carry a request.
    pub(super) ready: Moment,
    /// Whether the first requests left before the handshake was complete.
    pub(super) early_data: bool,
    /// The events of the opening, kept here because the recorder drops old events.
    timeline: OnceLock<Timeline>,
    /// The facts of the handshake, without the peer's certificates.
    tls: OnceLock<TlsFacts>,
    answers: AtomicU64,
    /// Whether the connection was abandoned before its handshake was answered, so that the server
    /// has not processed its requests.
    void: AtomicBool,
    retired: AtomicBool,
}

/// An unused connection over HTTP/1.1.
pub(super) struct Solo {
    pub(super) lane: std::sync::Arc<Lane>,
    pub(super) connection: Connection,
}

impl Lane {
    pub(super) fn new(
        opened: roundtrip_http::Opened,
        recorder: Recorder,
        name: NameFacts,
        attempts: Vec<Attempt>,
    ) -> (Self, Option<Connection>) {
        let (shared, solo) = match opened.connection.share() {
            Ok(shared) => (Some(shared), None),
            Err(stream) => (None, Some(Connection::H1(stream))),
        };
        recorder.keep_last(UNHEARD_FACTS);
        let lane = Self {
            shared,
            transport: opened.transport,
            ready: recorder.now(),
            recorder,
            name,
            attempts,
            early_data: opened.early_data,
            timeline: OnceLock::new(),
            tls: OnceLock::new(),
            answers: AtomicU64::new(0),
            void: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        };
        (lane, solo)
    }

    /// Records that an answer has begun: the peer is authenticated, and the opening is complete.
    pub(super) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.timeline.get_or_init(|| {
            let timeline = self.recorder.snapshot();
            self.recorder.keep_last(KEPT_FACTS);
            timeline
        });
    }

    pub(super) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// The events of the opening, and everything that has happened since `left`, when a request was
    /// sent.
    pub(super) fn history(&self, left: Option<Moment>) -> Timeline {
        let Some(timeline) = self.timeline.get() else {
            return self.recorder.snapshot();
        };
        let mut whole = timeline.clone();
        let end = timeline
            .iter()
            .next_back()
            .map_or(Moment::ZERO, |(at, _)| *at);
        let later = self.recorder.since(left.unwrap_or(end).max(end));
        for (at, event) in later.iter().filter(|(at, _)| *at > end) {
            whole.push(*at, event.clone());
        }
        whole
    }

    pub(super) fn handshake_finished(&self) -> Option<Moment> {
        let is_end = |e: &Event| *e == Event::HandshakeFinished;
        match self.timeline.get() {
            Some(timeline) => timeline.first(is_end),
            None => self.recorder.last(is_end),
        }
    }

    /// The facts of the handshake, once it is complete.
    pub(super) fn tls_facts(&self) -> Option<TlsFacts> {
        if self.tls.get().is_none()
            && self.is_proven()
            && let Some(mut facts) = self.transport.tls_facts()
        {
            facts.chain = None;
            // If another task was faster, it has stored the same facts.
            let _ = self.tls.set(facts);
        }
        self.tls.get().cloned()
    }

    /// Whether the handshake is complete, so that the connection may carry requests that must not
    /// be replayed.
    pub(super) fn is_proven(&self) -> bool {
        !self.early_data || self.answers() > 0 || self.early_outcome() != EarlyData::NotOffered
    }

    /// Waits until the handshake is complete. Returns `false` if it never will be.
    pub(super) async fn proven(&self) -> bool {
        if let Transport::Quic(gauge) = &self.transport {
            return gauge.proven().await;
        }
        // TLS sends no notification; the wait takes about a round trip.
        while !self.is_proven() {
            tokio::time::sleep(PROOF_STEP).await;
        }
        true
    }

    /// Whether early data was accepted, once that is known.
    pub(super) fn early_outcome(&self) -> EarlyData {
        self.transport.early_data()
    }

    /// The number of further requests that the connection could take now without any having to
    /// wait.
    pub(super) fn free_places(&self) -> usize {
        self.shared.as_ref().map_or(0, SharedConnection::free_slots)
    }

    pub(super) fn is_open(&self) -> bool {
        let retired = self.retired.load(Ordering::Relaxed);
        !retired && self.shared.as_ref().is_none_or(SharedConnection::is_open)
    }

    /// Lets no further request use the connection.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn make_void(&self) {
        self.void.store(true, Ordering::Relaxed);
        self.retire();
    }

    pub(super) fn is_void(&self) -> bool {
        self.void.load(Ordering::Relaxed)
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        self.transport.min_rtt()
    }
}

impl Solo {
    /// Whether the connection can carry another request. Bytes that have arrived meanwhile can be
    /// tickets; an end of stream or unsolicited data makes it unusable.
    pub(super) fn is_usable(&mut self) -> bool {
        let Transport::Tcp { gauge, .. } = &self.lane.transport else {
            return false;
        };
        self.lane.is_open()
            && (!gauge.is_spent() || (self.connection.is_quiet() && !gauge.is_spent()))
    }
}
