//! A complete exchange: the request, the time of each event, and the facts that were learnt.

use std::time::{Duration, SystemTime};

use crate::{
    Attempt, EchoFacts, Event, Failure, HttpFacts, KeptFacts, NameFacts, NotKept, PhaseName,
    QuicFacts, Strategy, TcpFacts, Timeline, TlsFacts, Waited,
};

/// The threshold below which time stays unexplained: in milliseconds, and as a share of the total.
const MIN_UNEXPLAINED: f64 = 5.0;
const UNEXPLAINED_SHARE: f64 = 0.05;
/// A server's own measurement may exceed the client's by this share, or by this many milliseconds.
const REPORTED_SHARE: f64 = 0.1;
const REPORTED_MS: f64 = 5.0;

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
    /// The strategy that was actually used.
    pub used: Strategy,
    pub timeline: Timeline,
    /// The path's round-trip time: the smallest that the kernel (or QUIC) measured.
    pub rtt: Option<Duration>,
    pub name: Option<NameFacts>,
    pub attempts: Vec<Attempt>,
    /// The connection was already open.
    pub reused: bool,
    /// The activity of that connection before this exchange.
    pub kept: Option<KeptFacts>,
    /// Why the connection was not open, although it was expected to be.
    pub not_kept: Option<NotKept>,
    /// An unmeasured exchange came first, to obtain a ticket, cookie or connection.
    pub primed: bool,
    /// The cost of the unmeasured exchange, if it was answered.
    pub primer: Option<Primer>,
    pub tcp: Option<TcpFacts>,
    pub tls: Option<TlsFacts>,
    pub quic: Option<QuicFacts>,
    pub http: Option<HttpFacts>,
    /// The method and sizes of a request that got no answer. `http` describes answers.
    pub unanswered: Option<HttpFacts>,
    pub echo: Option<EchoFacts>,
    /// Round trips of the handshake beyond the expected ones, such as for QUIC Retry or version
    /// negotiation.
    pub extra_trips: u32,
    /// Notes for the user that are not failures: a fallback, a missing cookie.
    pub notes: Vec<String>,
    pub findings: Vec<Finding>,
    pub withdrawn: Vec<Withdrawn>,
    /// Milliseconds that neither a finding nor the expected round trips account for.
    pub unexplained: f64,
    /// The phases that contain the unexplained time, the largest share first.
    pub unexplained_at: Vec<Unexplained>,
    /// The milliseconds of a phase that look like waits for the server, although the path may have
    /// been the reason. The [`Phase`](crate::Phase) lists them separately.
    pub undecided: Vec<(PhaseName, f64)>,
    /// Milliseconds during which bytes were in transit, at the rate of the line.
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

    /// The time in milliseconds that the server itself reports for this answer (Server-Timing). A
    /// time longer than the client waited beyond a round trip belongs to an earlier answer, whose
    /// header a cache kept; times that are too long only together contain each other.
    pub fn reported(&self) -> Option<f64> {
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        let asked = self.timeline.first(|e| *e == Event::RequestStarted);
        let answered = [Event::Answered, Event::FirstByte]
            .iter()
            .find_map(|head| self.timeline.first(|e| e == head));
        let until = answered.unwrap_or_else(|| self.timeline.end());
        let waited = ms(until.since(asked.unwrap_or_default())) - self.rtt.map_or(0.0, ms);
        let most = waited + REPORTED_MS.max(REPORTED_SHARE * waited);
        let said = self.http.iter().flat_map(|http| &http.server_timing);
        let said = said.filter_map(|(_, took, _)| took.map(ms));
        let times: Vec<f64> = said.filter(|took| *took <= most).collect();
        let sum: f64 = times.iter().sum();
        let longest = times.into_iter().reduce(f64::max)?;
        Some(if sum <= most { sum } else { longest })
    }

    /// The unexplained time, if it exceeds the normal variation of the path and the host. A failed
    /// exchange has none: its failure names what the client waited for.
    pub fn unexplained_worth_reporting(&self) -> Option<f64> {
        self.worth_reporting(self.unexplained)
    }

    /// The time during which bytes were in transit, with the same threshold.
    pub fn carried_worth_reporting(&self) -> Option<f64> {
        self.worth_reporting(self.carried)
    }

    fn worth_reporting(&self, ms: f64) -> Option<f64> {
        let share = UNEXPLAINED_SHARE * self.total().as_secs_f64() * 1e3;
        (self.ok() && ms >= MIN_UNEXPLAINED.max(share)).then_some(ms)
    }
}

/// The cost of an unmeasured exchange that obtains a ticket, cookie or connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primer {
    pub used: Strategy,
    /// The time that the unmeasured exchange took, with its redirects.
    pub took: Duration,
    pub round_trips: u32,
}

/// The time within one phase that no evidence attributes to a cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unexplained {
    pub phase: PhaseName,
    pub waited: Waited,
    /// The number of awaited bytes that had arrived before the longest silence.
    pub after_bytes: Option<u64>,
}

/// A cause from the catalogue, with its evidence and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub id: &'static str,
    pub ms: f64,
    pub round_trips: u32,
    pub evidence: String,
    /// The measure that removes the cause, in one sentence.
    pub remedy: String,
    /// Settings that apply the remedy, for the server software of this exchange if it is known.
    pub settings: Vec<Setting>,
}

/// A setting of one piece of software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub of: &'static str,
    pub is: &'static str,
}

impl Setting {
    pub const fn new(of: &'static str, is: &'static str) -> Self {
        Self { of, is }
    }
}

impl Finding {
    /// The remedy and its settings, as one text.
    pub fn advice(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|s| format!("{}: {}", s.of, s.is.trim_end_matches(';')))
            .collect();
        if settings.is_empty() {
            self.remedy.clone()
        } else {
            format!("{} ({})", self.remedy, settings.join("; "))
        }
    }
}

/// A cause that was found, then withdrawn because other facts contradict it.
#[derive(Debug, Clone, PartialEq)]
pub struct Withdrawn {
    pub id: &'static str,
    /// The cost that the cause would have claimed, in milliseconds.
    pub ms: f64,
    pub why: String,
}
