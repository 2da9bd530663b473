//! An open connection, with what there is to know about it. HTTP/2 and 3 are shared; one of HTTP/1.1 is lent to one ask
//! after another.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use roundtrip_http::{Connection, SharedConnection, Transport};
use roundtrip_model::{Attempt, EarlyData, Event, Moment, NameFacts, Recorder, Timeline, TlsFacts};

/// So many facts are kept of a connection that has come of age, at least.
pub(super) const KEPT_FACTS: usize = 256;

/// And of one that nobody has answered on yet: whoever floods it fills no memory.
const UNHEARD_FACTS: usize = 4096;
/// How often it is looked whether a handshake is over.
const PROOF_STEP: Duration = Duration::from_millis(5);

pub(super) struct Lane {
    /// Absent for HTTP/1.1.
    pub(super) shared: Option<SharedConnection>,
    pub(super) transport: Transport,
    /// Time on it began when the connection was wanted.
    pub(super) recorder: Recorder,
    pub(super) name: NameFacts,
    pub(super) attempts: Vec<Attempt>,
    /// When it could carry a request.
    pub(super) ready: Moment,
    /// Its first requests left before the handshake was over.
    pub(super) early_data: bool,
    /// How it came to be; the recorder forgets.
    story: OnceLock<Timeline>,
    /// The handshake's facts, without what the peer's certificates say.
    tls: OnceLock<TlsFacts>,
    answers: AtomicU64,
    /// It was given up while its handshake was still unanswered: what it had carried was never heard.
    void: AtomicBool,
    retired: AtomicBool,
}

/// A connection of HTTP/1.1 that nobody uses.
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
            story: OnceLock::new(),
            tls: OnceLock::new(),
            answers: AtomicU64::new(0),
            void: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        };
        (lane, solo)
    }

    /// An answer has begun: the peer is proven, and how the connection came to be is a finished story.
    pub(super) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.story.get_or_init(|| {
            let story = self.recorder.snapshot();
            self.recorder.keep_last(KEPT_FACTS);
            story
        });
    }

    pub(super) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// How it came to be, and what happened on it since a request left.
    pub(super) fn history(&self, left: Option<Moment>) -> Timeline {
        let Some(story) = self.story.get() else {
            return self.recorder.snapshot();
        };
        let mut whole = story.clone();
        let end = story.iter().next_back().map_or(Moment::ZERO, |(at, _)| *at);
        let later = self.recorder.since(left.unwrap_or(end).max(end));
        for (at, event) in later.iter().filter(|(at, _)| *at > end) {
            whole.push(*at, event.clone());
        }
        whole
    }

    pub(super) fn handshake_finished(&self) -> Option<Moment> {
        let is_end = |e: &Event| *e == Event::HandshakeFinished;
        match self.story.get() {
            Some(story) => story.first(is_end),
            None => self.recorder.last(is_end),
        }
    }

    /// The handshake's facts, once it is over.
    pub(super) fn tls_facts(&self) -> Option<TlsFacts> {
        if self.tls.get().is_none()
            && self.is_proven()
            && let Some(mut facts) = self.transport.tls_facts()
        {
            facts.chain = None;
            // Whoever was first has written the same.
            let _ = self.tls.set(facts);
        }
        self.tls.get().cloned()
    }

    /// May a request travel on it that must not be replayed? Not while the handshake is unfinished.
    pub(super) fn is_proven(&self) -> bool {
        !self.early_data || self.answers() > 0 || self.early_outcome() != EarlyData::NotOffered
    }

    /// Waits until the handshake is over. `false`: it never will be.
    pub(super) async fn proven(&self) -> bool {
        if let Transport::Quic(gauge) = &self.transport {
            return gauge.proven().await;
        }
        // TLS tells nobody; it takes about a round trip.
        while !self.is_proven() {
            tokio::time::sleep(PROOF_STEP).await;
        }
        true
    }

    /// What became of the early data, once that is known.
    pub(super) fn early_outcome(&self) -> EarlyData {
        self.transport.early_data()
    }

    /// How many more could be asked on it now without waiting for one another.
    pub(super) fn free_places(&self) -> usize {
        self.shared.as_ref().map_or(0, SharedConnection::free_slots)
    }

    pub(super) fn is_open(&self) -> bool {
        let retired = self.retired.load(Ordering::Relaxed);
        !retired && self.shared.as_ref().is_none_or(SharedConnection::is_open)
    }

    /// No further request is to travel on it.
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
    /// Can another request travel on it? What has come meanwhile may be tickets; an end, or what nobody asked for, ends
    /// it.
    pub(super) fn is_usable(&mut self) -> bool {
        let Transport::Tcp { gauge, .. } = &self.lane.transport else {
            return false;
        };
        self.lane.is_open()
            && (!gauge.is_spent() || (self.connection.is_quiet() && !gauge.is_spent()))
    }
}
