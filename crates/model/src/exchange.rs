//! One exchange, whole: what was asked, when each thing happened, what was learnt.

use std::time::Duration;

use crate::{
    Attempt, EchoFacts, Failure, HttpFacts, KeptFacts, NameFacts, NotKept, Phase, QuicFacts,
    Strategy, TcpFacts, Timeline, TlsFacts,
};

/// In milliseconds, and as a share of the whole.
const LEAST_UNEXPLAINED: f64 = 5.0;
const UNEXPLAINED_SHARE: f64 = 0.05;

/// A request and what became of it. The first of a chain of redirects has `hop` 0.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    pub url: String,
    /// Which repetition this is, from 0, and which redirect within it.
    pub run: u32,
    pub hop: u32,
    pub asked: Strategy,
    /// What really happened, as a strategy.
    pub used: Strategy,
    pub timeline: Timeline,
    /// The path's round trip: the smallest that the kernel (or QUIC) saw.
    pub rtt: Option<Duration>,
    pub name: Option<NameFacts>,
    pub attempts: Vec<Attempt>,
    /// The connection was open already.
    pub reused: bool,
    /// What that connection had done before.
    pub kept: Option<KeptFacts>,
    /// One should have been open, and was not.
    pub not_kept: Option<NotKept>,
    /// An unmeasured exchange went before, to leave a ticket, cookie or connection.
    pub primed: bool,
    /// What that one paid, where it was answered.
    pub primer: Option<Primer>,
    pub tcp: Option<TcpFacts>,
    pub tls: Option<TlsFacts>,
    pub quic: Option<QuicFacts>,
    pub http: Option<HttpFacts>,
    /// What was sent when no answer came: method and sizes. `http` is about answers.
    pub unanswered: Option<HttpFacts>,
    pub echo: Option<EchoFacts>,
    /// Round trips that the handshake paid beyond its arithmetic: QUIC Retry, version negotiation.
    pub extra_trips: u32,
    /// What a person should know that is no failure: a fallback, a cookie that was missing.
    pub notes: Vec<String>,
    pub findings: Vec<Finding>,
    /// Milliseconds for which nothing accounts: neither a finding nor the arithmetic.
    pub unexplained: f64,
    pub failure: Option<Failure>,
}

impl Exchange {
    pub fn ok(&self) -> bool {
        self.failure.is_none()
    }

    pub fn total(&self) -> Duration {
        self.timeline.end().since(crate::Moment::ZERO)
    }

    /// What nothing accounts for, where it is too much for the path's and the host's own unrest. A failure says itself
    /// what was waited for in vain.
    pub fn unexplained_worth_telling(&self) -> Option<f64> {
        let share = UNEXPLAINED_SHARE * self.total().as_secs_f64() * 1e3;
        (self.ok() && self.unexplained >= LEAST_UNEXPLAINED.max(share)).then_some(self.unexplained)
    }

    /// The phases that tile the whole.
    pub fn phases(&self) -> Vec<Phase> {
        crate::phase::phases(self)
    }

    pub fn round_trips(&self) -> u32 {
        self.phases().iter().map(|p| p.round_trips).sum()
    }
}

/// What an exchange that nobody measures paid, for what it left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primer {
    pub used: Strategy,
    /// With its redirects.
    pub took: Duration,
    pub round_trips: u32,
}

/// A cause from the catalogue with its evidence and its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub id: &'static str,
    pub ms: f64,
    pub round_trips: u32,
    pub evidence: String,
    pub remedy: String,
}
