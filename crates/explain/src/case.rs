//! An exchange prepared for the causes: its phases are computed once, its round-trip time is
//! available, and only facts of this exchange are visible. A connection that was already open has
//! facts about its handshake, but this exchange did not pay for it.

use std::time::Duration;

use roundtrip_model::{
    Attempt, AttemptOutcome, BodyTransfer, Event, Exchange, Moment, Phase, PhaseName, Spread, Task,
    TcpFacts, TlsFacts, is_like_a_timeout,
};

use crate::{Claim, Cost, WaitPart};

/// The shortest round trip, in milliseconds, that can be distinguished from the host's own
/// scheduling.
const MIN_MEASURABLE_RTT: f64 = 0.2;

/// The largest lateness of a SYN-ACK, in milliseconds, that says anything about the next answer. A
/// larger one had a special reason.
const MAX_UNREST: f64 = 10.0;

/// An acknowledgement was sent separately from the answer if it arrives at least this long before
/// it: in milliseconds, and as a share of R.
const MIN_EARLY: f64 = 2.0;
const SHARE_EARLY: f64 = 0.05;
/// A path whose round trips differ by less than this is steady: in milliseconds, and as a share of
/// R.
const MIN_SPREAD: f64 = 3.0;
const SPREAD_SHARE: f64 = 0.1;
/// The kernel stamps a departure after the call that we stamp; the two clocks differ by less than
/// this.
const CLOCKS: Duration = Duration::from_micros(50);

/// As a share: at least this much of a wait between departures makes it the server's.
const BETWEEN: f64 = 0.9;

/// A caveat for an answer that a single exchange cannot judge.
pub(crate) const A_LOSS_LOOKS_THE_SAME: &str =
    "; if that was a single segment, its loss would look the same: ask again";

#[derive(Debug)]
pub struct Case<'a> {
    pub exchange: &'a Exchange,
    pub phases: Vec<Phase>,
    /// The path's round-trip time and the duration of the exchange, in milliseconds.
    pub rtt: Option<f64>,
    pub total: f64,
    pub(crate) spread: Spread,
    /// When the first bytes of the answer arrived, and how all of its bytes arrived.
    pub(crate) answer_began: Option<Moment>,
    pub(crate) transfer: Option<BodyTransfer>,
}

/// When the peer acknowledged a request, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Witness {
    /// How long before the answer the acknowledgement came.
    pub(crate) early: f64,
    /// How much later than a round trip it was.
    pub(crate) late: f64,
}

impl<'a> Case<'a> {
    pub fn new(exchange: &'a Exchange) -> Self {
        let mut phases = exchange.phases();
        // Times that an earlier account left undecided are decided again.
        for phase in &mut phases {
            phase.waited.server += std::mem::take(&mut phase.waited.unknown);
        }
        Self {
            exchange,
            phases,
            rtt: exchange.rtt.filter(|r| !r.is_zero()).map(ms),
            total: ms(exchange.total()),
            spread: exchange.spread(),
            answer_began: exchange.answer_began(),
            transfer: exchange.transfer(),
        }
    }

    /// Whether the path is long enough to recognise a round trip.
    pub(crate) fn is_measurable(&self) -> bool {
        self.rtt.is_some_and(|r| r >= MIN_MEASURABLE_RTT)
    }

    /// The milliseconds of one part of a phase.
    pub(crate) fn waited(&self, name: PhaseName, part: WaitPart) -> f64 {
        self.named(name).map(|p| part.of(&p.waited)).sum()
    }

    pub(crate) fn round_trips(&self, name: PhaseName) -> u32 {
        self.named(name).map(|p| p.round_trips).sum()
    }

    pub(crate) fn named(&self, name: PhaseName) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(move |p| p.name == name)
    }

    /// The cost of `n` round trips of a phase.
    pub(crate) fn trips(
        &self,
        phase: PhaseName,
        n: u32,
        evidence: impl Into<String>,
    ) -> Option<Cost> {
        let claim = Claim {
            phase,
            part: WaitPart::Network,
            ms: f64::from(n) * self.rtt?,
            round_trips: n,
        };
        (n > 0).then(|| Cost::new(evidence).claim(claim))
    }

    /// The milliseconds that a phase waited for these tasks of the client.
    pub(crate) fn worked(&self, name: PhaseName, tasks: &[Task]) -> f64 {
        let took: f64 = self
            .named(name)
            .flat_map(|phase| self.tasks_within(phase))
            .filter(|(task, _)| tasks.contains(task))
            .map(|(_, took)| took)
            .sum();
        // Work during a wait cost nothing.
        took.min(self.named(name).map(|phase| self.ran(phase)).sum())
    }

    /// How long the client ran in a phase, in milliseconds.
    pub(crate) fn ran(&self, phase: &Phase) -> f64 {
        phase.waited.client - self.absence(phase)
    }

    /// The tasks that ended in the phase, and how long each ran within it.
    pub(crate) fn tasks_within(&self, phase: &Phase) -> Vec<(Task, f64)> {
        self.exchange
            .timeline
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Worked { task, took } if *at > phase.start && *at <= phase.end => {
                    Some((*task, ms((*took).min(at.since(phase.start)))))
                }
                _ => None,
            })
            .collect()
    }

    /// Adds all waits of these kinds in these phases to a cost, except for the time in which the
    /// client did not run, which has another reason.
    pub(crate) fn add_waits(&self, cost: Cost, names: &[PhaseName], parts: &[WaitPart]) -> Cost {
        let phases = self.phases.iter().filter(|p| names.contains(&p.name));
        let claims = phases.flat_map(|phase| parts.iter().map(move |part| (phase, *part)));
        claims.fold(cost, |cost, (phase, part)| {
            let absence = match part {
                WaitPart::Client => self.absence(phase),
                _ => 0.0,
            };
            cost.claim(Claim {
                phase: phase.name,
                part,
                ms: part.of(&phase.waited) - absence,
                round_trips: match part {
                    WaitPart::Network => phase.round_trips,
                    _ => 0,
                },
            })
        })
    }

    /// How long the client was ready to run in a phase but did not run, and how long data that it
    /// had written did not leave, in milliseconds.
    pub(crate) fn absence(&self, phase: &Phase) -> f64 {
        let events = self.exchange.timeline.iter();
        let absences = events.filter_map(|(at, event)| match event {
            Event::Starved { took, .. } | Event::HeldBack { took } => {
                Some(overlap(*at, *took, phase))
            }
            _ => None,
        });
        absences.sum::<f64>().min(phase.waited.client)
    }

    /// The number of awaited bytes of a phase that had arrived before its longest silence. For the
    /// body, this includes bytes of the answer that arrived with its head.
    pub(crate) fn before_silence(&self, name: PhaseName) -> Option<u64> {
        let phase = self.named(name).next()?;
        let began = match name {
            PhaseName::Body => self.answer_began.unwrap_or(phase.start),
            _ => phase.start,
        };
        let events = self.exchange.timeline.iter();
        let arrivals = events.filter_map(|(at, event)| match event {
            Event::Received { bytes } if *at >= began && *at <= phase.end => Some((*at, *bytes)),
            _ => None,
        });
        let (mut last, mut sum) = (phase.start, 0);
        let mut longest = (Duration::ZERO, 0);
        for (at, bytes) in arrivals.chain([(phase.end, 0)]) {
            if at.since(last) > longest.0 {
                longest = (at.since(last), sum);
            }
            last = last.max(at);
            sum += bytes;
        }
        (longest.1 > 0).then_some(longest.1)
    }

    /// The largest delay beyond a round trip, in milliseconds, that is attributed to the path.
    pub(crate) fn tolerance(&self) -> f64 {
        (2.0 * self.syn_lateness()).max(self.spread.tolerance())
    }

    /// The milliseconds of a wait for the server that lay between two departures from it: between
    /// that of an acknowledgement, or the arrival of the request, and that of the answer, or
    /// between two parts of a body. The path has no part in them.
    pub(crate) fn between_departures(&self, name: PhaseName) -> f64 {
        if name == PhaseName::Body {
            let transfer = self.transfer.iter().flat_map(|transfer| &transfer.pauses);
            return transfer.filter(|pause| pause.departed).map(|p| p.ms).sum();
        }
        let within = |phase: &Phase| -> f64 {
            let events = self.exchange.timeline.iter();
            let events = events.filter(|(at, _)| *at >= phase.start && *at < phase.end);
            let departed = events.filter_map(|(_, event)| match event {
                Event::Departed { after } => Some(ms(*after)),
                _ => None,
            });
            departed.sum()
        };
        self.named(name).map(within).sum()
    }

    /// Whether nearly all of these milliseconds of a wait for the server lay between two
    /// departures.
    pub(crate) fn is_between_departures(&self, name: PhaseName, late: f64) -> bool {
        self.between_departures(name) >= BETWEEN * late
    }

    /// The least lateness, in milliseconds beyond R, with which a sample shows that the path
    /// varies.
    pub(crate) fn least_spread(&self) -> f64 {
        MIN_SPREAD.max(SPREAD_SHARE * self.rtt.unwrap_or(0.0))
    }

    /// How late the SYN-ACK was, in milliseconds, unless it was an exception.
    pub(crate) fn syn_lateness(&self) -> f64 {
        let connect = self.waited(PhaseName::Tcp, WaitPart::Network);
        let trips = f64::from(self.round_trips(PhaseName::Tcp));
        let late = connect - trips * self.rtt.unwrap_or(connect);
        late.clamp(0.0, MAX_UNREST)
    }

    /// The acknowledgement of the request that was sent at `asked` and answered at `answered`.
    /// Before the peer acknowledged it, the peer had not read the request; afterwards the path was
    /// not the slow part.
    pub(crate) fn acknowledged_before(&self, asked: Moment, answered: Moment) -> Option<Witness> {
        let r = self.rtt?;
        // An acknowledgement of earlier data says nothing about the request.
        let sent = self.exchange.timeline.iter().rev();
        let left = sent
            .filter(|(at, event)| *at <= asked && matches!(event, Event::Sent { .. }))
            .map(|(at, _)| *at);
        let left = left.max().unwrap_or(asked);
        let mut events = self.exchange.timeline.iter();
        let (at, after) = events.find_map(|(at, event)| match event {
            Event::Acknowledged { after, .. }
                if *at <= answered && *at - *after + CLOCKS >= left =>
            {
                Some((*at, *after))
            }
            _ => None,
        })?;
        let early = ms(answered.since(at));
        let late = (ms(after) - r).max(0.0);
        (early >= MIN_EARLY.max(SHARE_EARLY * r).max(self.spread.ms()))
            .then_some(Witness { early, late })
    }

    /// The server's part of an answer that was `late`. An acknowledgement that was itself late, but
    /// not as one that was delayed on purpose, was held up on the path together with the request.
    pub(crate) fn served(&self, late: f64, witness: Witness) -> f64 {
        let on_purpose = self.exchange.may_have_delayed_ack(witness.late);
        if witness.late >= self.least_spread() && !on_purpose {
            witness.early.min(late)
        } else {
            late
        }
    }

    /// A caveat for an answer that was `late` by this much, when the evidence does not show whether
    /// the server was slow or its only segment was lost.
    pub(crate) fn doubt(&self, late: f64) -> &'static str {
        let over_tcp = self.exchange.quic.is_none() && self.exchange.tcp.is_some();
        if over_tcp && self.rtt.is_some_and(|r| is_like_a_timeout(late, r)) {
            A_LOSS_LOOKS_THE_SAME
        } else {
            ""
        }
    }

    /// The TCP connection, if this exchange opened it.
    pub(crate) fn tcp(&self) -> Option<&'a TcpFacts> {
        self.exchange.tcp.as_ref().filter(|_| {
            !self.exchange.reused && self.happened(|e| matches!(e, Event::Connected { .. }))
        })
    }

    /// The TLS handshake, if this exchange completed it.
    pub(crate) fn tls(&self) -> Option<&'a TlsFacts> {
        self.exchange
            .tls
            .as_ref()
            .filter(|_| !self.exchange.reused && self.happened(|e| *e == Event::HandshakeFinished))
    }

    /// The phase of the key exchange.
    pub(crate) fn handshake(&self) -> PhaseName {
        if self.exchange.quic.is_some() {
            PhaseName::Quic
        } else {
            PhaseName::Tls
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.happened(|e| *e == Event::FirstByte)
    }

    /// The TCP attempts, and the one that succeeded.
    pub(crate) fn tcp_attempts(&self) -> (Vec<&'a Attempt>, Option<&'a Attempt>) {
        self.attempts(false)
    }

    pub(crate) fn attempts(&self, over_quic: bool) -> (Vec<&'a Attempt>, Option<&'a Attempt>) {
        let all: Vec<&Attempt> = self
            .exchange
            .attempts
            .iter()
            .filter(|a| a.over_quic == over_quic)
            .collect();
        let won = all
            .iter()
            .copied()
            .find(|a| a.outcome == AttemptOutcome::Won);
        (all, won)
    }

    /// The names of the phases, each once.
    pub(crate) fn phase_names(&self) -> Vec<PhaseName> {
        let mut names: Vec<PhaseName> = Vec::new();
        for phase in &self.phases {
            if !names.contains(&phase.name) {
                names.push(phase.name);
            }
        }
        names
    }

    /// Whether the answer only makes the client send another request, to another place or in
    /// another way.
    pub(crate) fn is_detour(&self) -> bool {
        self.is_too_early() || self.is_redirect() || self.is_challenge() || self.is_preflight()
    }

    /// Whether this exchange is a redirect (RFC 9110 §15.4) of a read; after a POST, a redirect
    /// leads to the answer.
    pub(crate) fn is_redirect(&self) -> bool {
        self.exchange.http.as_ref().is_some_and(|h| {
            let reads = matches!(h.method.as_str(), "" | "GET" | "HEAD");
            reads && h.redirect.is_some() && matches!(h.status, 301..=303 | 307 | 308)
        })
    }

    /// Whether the answer is a stream of events: what pauses it has were asked for (HTML standard,
    /// §9.2).
    pub(crate) fn is_event_stream(&self) -> bool {
        let http = self.exchange.http.as_ref();
        let kind = http.and_then(|h| h.header("content-type"));
        let is_of_events = |kind: &[u8]| {
            let name = kind.split(|byte| *byte == b';').next();
            name.is_some_and(|name| name.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
        };
        kind.is_some_and(is_of_events)
    }

    /// Whether this exchange is an authentication challenge (RFC 9110 §11.3 and §11.7.1).
    pub(crate) fn is_challenge(&self) -> bool {
        self.exchange.http.as_ref().is_some_and(|h| {
            (h.status == 401 && h.header("www-authenticate").is_some())
                || (h.status == 407 && h.header("proxy-authenticate").is_some())
        })
    }

    /// Whether this exchange is a CORS preflight (fetch standard, §4.8).
    pub(crate) fn is_preflight(&self) -> bool {
        self.exchange.http.as_ref().is_some_and(|h| {
            h.method == "OPTIONS"
                && h.header("access-control-allow-origin").is_some()
                && (h.header("access-control-allow-methods").is_some()
                    || h.header("access-control-allow-headers").is_some())
        })
    }

    /// Whether this exchange was answered with "425 Too Early" and is sent again: then all of it
    /// was a detour (RFC 8470 §5.2).
    pub(crate) fn is_too_early(&self) -> bool {
        self.exchange.http.as_ref().is_some_and(|h| h.status == 425)
    }

    pub(crate) fn happened(&self, is: impl Fn(&Event) -> bool) -> bool {
        self.exchange.timeline.first(is).is_some()
    }
}

/// The part of a period that falls into the phase, in milliseconds. The period lasted `took` and
/// ended at `at`.
pub(crate) fn overlap(at: Moment, took: Duration, phase: &Phase) -> f64 {
    let (from, until) = ((at - took).max(phase.start), at.min(phase.end));
    ms(until.since(from))
}

pub(crate) fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// A number of times in words: `once`, `twice` and so on.
pub(crate) fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
