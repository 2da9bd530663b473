//! A complete exchange: what was asked, when each thing happened, and what was learnt.

use std::time::{Duration, SystemTime};

use crate::{
    Attempt, EchoFacts, Failure, HttpFacts, KeptFacts, NameFacts, NotKept, QuicFacts, Strategy,
    TcpFacts, Timeline, TlsFacts,
};

/// In milliseconds, and as a share of the total.
const LEAST_UNEXPLAINED: f64 = 5.0;
const UNEXPLAINED_SHARE: f64 = 0.05;

/// A request and its outcome. The first of a chain of redirects has `hop` 0.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    pub url: String,
    /// The wall clock when the timeline began. Everything else is measured from that moment.
    pub started: Option<SystemTime>,
    /// The number of the repetition, from 0, and of the redirect within it.
    pub run: u32,
    pub hop: u32,
    pub asked: Strategy,
    /// What was actually used, as a strategy.
    pub used: Strategy,
    pub timeline: Timeline,
    /// The path's round-trip time: the smallest that the kernel (or QUIC) measured.
    pub rtt: Option<Duration>,
    pub name: Option<NameFacts>,
    pub attempts: Vec<Attempt>,
    /// The connection was already open.
    pub reused: bool,
    /// What that connection had done before.
    pub kept: Option<KeptFacts>,
    /// Why the connection was not open, although it should have been.
    pub not_kept: Option<NotKept>,
    /// An unmeasured exchange came first, to obtain a ticket, cookie or connection.
    pub primed: bool,
    /// What the unmeasured exchange cost, if it was answered.
    pub primer: Option<Primer>,
    pub tcp: Option<TcpFacts>,
    pub tls: Option<TlsFacts>,
    pub quic: Option<QuicFacts>,
    pub http: Option<HttpFacts>,
    /// What was sent if there was no answer: method and sizes. `http` describes answers.
    pub unanswered: Option<HttpFacts>,
    pub echo: Option<EchoFacts>,
    /// Round trips of the handshake beyond its arithmetic: QUIC Retry, version negotiation.
    pub extra_trips: u32,
    /// What a user should know that is not a failure: a fallback, a missing cookie.
    pub notes: Vec<String>,
    pub findings: Vec<Finding>,
    pub withdrawn: Vec<Withdrawn>,
    /// Milliseconds that neither a finding nor the arithmetic accounts for.
    pub unexplained: f64,
    /// Milliseconds in which bytes were on their way, at the rate of the line.
    pub carried: f64,
    pub failure: Option<Failure>,
}

impl Exchange {
    pub fn ok(&self) -> bool {
        self.failure.is_none()
    }

    pub fn total(&self) -> Duration {
        self.timeline.end().since(crate::Moment::ZERO)
    }

    /// The unexplained time, if it is more than the normal variation of the path and the host. For
    /// a failed exchange there is none: the failure says what was waited for in vain.
    pub fn unexplained_worth_telling(&self) -> Option<f64> {
        self.worth_telling(self.unexplained)
    }

    /// The time in which bytes were on their way, by the same measure.
    pub fn carried_worth_telling(&self) -> Option<f64> {
        self.worth_telling(self.carried)
    }

    fn worth_telling(&self, ms: f64) -> Option<f64> {
        let share = UNEXPLAINED_SHARE * self.total().as_secs_f64() * 1e3;
        (self.ok() && ms >= LEAST_UNEXPLAINED.max(share)).then_some(ms)
    }
}

/// The cost of an unmeasured exchange, made for what it leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primer {
    pub used: Strategy,
    /// The time it took, with its redirects.
    pub took: Duration,
    pub round_trips: u32,
}

/// A cause from the catalogue, with its evidence and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub id: &'static str,
    pub ms: f64,
    pub round_trips: u32,
    pub evidence: String,
    pub remedy: String,
}

/// A cause that was found, and withdrawn because other facts contradict it.
#[derive(Debug, Clone, PartialEq)]
pub struct Withdrawn {
    pub id: &'static str,
    /// In milliseconds: what it would have claimed.
    pub ms: f64,
    pub why: String,
}
