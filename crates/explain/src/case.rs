//! An exchange made ready for judgement: its phases cut once, its round trip at hand, and only such facts as belong to
//! this exchange: a connection that was open before tells of its handshake, but this exchange did not pay for it.

use std::time::Duration;

use roundtrip_model::{
    Attempt, AttemptOutcome, Event, Exchange, Phase, PhaseName, TcpFacts, TlsFacts,
};

use crate::{Claim, Cost, Part};

/// Below this, a round trip cannot be told from a host's own scheduling.
const SHORTEST_TELLING_RTT: f64 = 0.2;
/// RFC 6928 §2: a sender may begin with ten segments.
pub(crate) const INITIAL_WINDOW: u64 = 10;

#[derive(Debug)]
pub struct Case<'a> {
    pub exchange: &'a Exchange,
    pub phases: Vec<Phase>,
    /// The path's round trip and the whole, in milliseconds.
    pub rtt: Option<f64>,
    pub total: f64,
}

impl<'a> Case<'a> {
    pub fn of(exchange: &'a Exchange) -> Self {
        Self {
            exchange,
            phases: exchange.phases(),
            rtt: exchange.rtt.filter(|r| !r.is_zero()).map(ms),
            total: ms(exchange.total()),
        }
    }

    /// Is the path long enough for a round trip to be telling?
    pub(crate) fn is_telling(&self) -> bool {
        self.rtt.is_some_and(|r| r >= SHORTEST_TELLING_RTT)
    }

    /// What a part of a phase amounts to.
    pub(crate) fn waited(&self, name: PhaseName, part: Part) -> f64 {
        self.named(name).map(|p| part.of(&p.waited)).sum()
    }

    pub(crate) fn round_trips(&self, name: PhaseName) -> u32 {
        self.named(name).map(|p| p.round_trips).sum()
    }

    fn named(&self, name: PhaseName) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(move |p| p.name == name)
    }

    /// `n` round trips of a phase, as a cost.
    pub(crate) fn trips(
        &self,
        phase: PhaseName,
        n: u32,
        evidence: impl Into<String>,
    ) -> Option<Cost> {
        let claim = Claim {
            phase,
            part: Part::Network,
            ms: f64::from(n) * self.rtt?,
            round_trips: n,
        };
        (n > 0).then(|| Cost::new(evidence).claim(claim))
    }

    /// The TCP connection, where this exchange opened it.
    pub(crate) fn tcp(&self) -> Option<&'a TcpFacts> {
        self.exchange.tcp.as_ref().filter(|_| {
            !self.exchange.reused && self.happened(|e| matches!(e, Event::Connected { .. }))
        })
    }

    /// The handshake, where this exchange went through it to its end.
    pub(crate) fn tls(&self) -> Option<&'a TlsFacts> {
        self.exchange
            .tls
            .as_ref()
            .filter(|_| !self.exchange.reused && self.happened(|e| *e == Event::HandshakeFinished))
    }

    /// The phase in which keys were agreed on.
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

    /// The TCP attempts, and the one that won.
    pub(crate) fn tcp_attempts(&self) -> (Vec<&'a Attempt>, Option<&'a Attempt>) {
        let all: Vec<&Attempt> = self
            .exchange
            .attempts
            .iter()
            .filter(|a| !a.over_quic)
            .collect();
        let won = all
            .iter()
            .copied()
            .find(|a| a.outcome == AttemptOutcome::Won);
        (all, won)
    }

    /// The largest segment, with the caution of a kernel that did not tell.
    pub(crate) fn segment(&self) -> u64 {
        self.exchange
            .tcp
            .as_ref()
            .map_or(1200, |t| u64::from(t.mss).max(500))
    }

    /// What was answered with «425 Too Early» is asked again: the whole exchange was a detour. RFC 8470 §5.2.
    pub(crate) fn is_too_early(&self) -> bool {
        self.exchange.http.as_ref().is_some_and(|h| h.status == 425)
    }

    pub(crate) fn happened(&self, is: impl Fn(&Event) -> bool) -> bool {
        self.exchange.timeline.first(is).is_some()
    }
}

pub(crate) fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
