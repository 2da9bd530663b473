//! How a request's time was spent: those phases of the connection's timeline that this request
//! waited for.

use std::time::Duration;

use roundtrip_model::{
    EarlyData, Event, Exchange, HttpFacts, Moment, Phase, PhaseName, Recorder, Timeline,
};

use super::Timing;
use super::lane::Lane;

/// One request on a connection, in the connection's moments.
pub(super) struct RequestTimeline<'a> {
    pub(super) lane: &'a Lane,
    /// The events of this request.
    pub(super) own: &'a Recorder,
    /// The time when this try began. The connection's time can have begun later, or long before.
    pub(super) asked: Moment,
    /// The time from the request to `asked`: earlier tries, and anything before the connection's
    /// time began.
    pub(super) before: Duration,
    pub(super) ended: Moment,
}

impl RequestTimeline<'_> {
    pub(super) fn is_reused(&self) -> bool {
        self.asked >= self.lane.ready && self.lane.ready > Moment::ZERO
    }

    /// Whether the answer had begun.
    pub(super) fn is_heard(&self) -> bool {
        self.first(&Event::FirstByte).is_some()
    }

    /// Whether nothing arrived on the connection, for any request, since this one was sent.
    pub(super) fn is_deserted(&self) -> bool {
        let left = self.first(&Event::RequestStarted);
        let received = |e: &Event| matches!(e, Event::Received { .. });
        left.is_some() && self.lane.recorder.last(received) < left
    }

    /// Whether the request left before the handshake was complete, and the server accepted it.
    pub(super) fn is_early(&self) -> bool {
        self.lane.early_data
            && self.lane.early_outcome() == EarlyData::Accepted
            && self.lane.handshake_finished() > self.first(&Event::RequestStarted)
    }

    /// The timing of a request that succeeded, or of the part that did.
    pub(super) fn tell(&self, facts: &mut HttpFacts) -> Timing {
        let lane = self.lane;
        let reused = self.is_reused();
        let exchange = self.exchange(reused, std::mem::take(facts));
        let phases = exchange.phases();
        let waited = |name: &[PhaseName]| {
            let phases = phases.iter().filter(|p| name.contains(&p.name));
            phases.map(|p| p.span().mul_f64(self.share(p))).sum()
        };
        let trips = phases
            .iter()
            .map(|p| f64::from(p.round_trips) * self.share(p));
        let tls = exchange.tls.as_ref().filter(|_| !reused);
        let fast_open = exchange.tcp.as_ref().map(|t| t.fast_open.saved_round_trips);
        let timing = Timing {
            dns: waited(&[PhaseName::Name]),
            tcp: waited(&[PhaseName::Tcp]),
            tls: waited(&[PhaseName::Tls, PhaseName::Quic]),
            first_byte: self.since_asked(self.first(&Event::FirstByte).unwrap_or(self.ended)),
            total: self.since_asked(self.ended),
            queued: self.queued(),
            version: exchange
                .http
                .as_ref()
                .map_or_else(String::new, |h| h.version.clone()),
            reused,
            resumed: tls.is_some_and(|tls| tls.resumed),
            early: !reused && self.is_early(),
            fast_open: !reused && fast_open.is_some_and(|saved| saved > 0),
            coalesced: false,
            resent: 0,
            round_trips: lane.rtt().map(|_| trips.sum()),
            rtt: lane.rtt(),
        };
        *facts = exchange.http.unwrap_or_default();
        timing
    }

    /// The timing of a try that failed.
    pub(super) fn tell_loss(&self) -> Timing {
        let mut timing = self.tell(&mut HttpFacts::default());
        let sent = self.first(&Event::RequestSent).filter(|_| !self.is_heard());
        // If at least half a round trip passed, the failure counts as a round trip.
        let answered = sent.zip(timing.rtt);
        if answered.is_some_and(|(sent, rtt)| self.ended.since(sent) >= rtt / 2) {
            timing.round_trips = timing.round_trips.map(|trips| trips + 1.0);
        }
        timing
    }

    fn exchange(&self, reused: bool, facts: HttpFacts) -> Exchange {
        let lane = self.lane;
        let quic = lane.transport.quic_facts();
        // A request on an open connection did not wait for its handshake.
        let tls = lane.tls_facts().filter(|_| !reused);
        let detours = quic.as_ref().map_or(0, |quic| {
            let retried = tls.as_ref().is_some_and(|tls| tls.hello_retry);
            u32::from(quic.retry) + u32::from(quic.version_negotiation) + u32::from(retried)
        });
        Exchange {
            timeline: self.timeline(reused),
            rtt: lane.rtt(),
            name: Some(lane.name.clone()),
            attempts: lane.attempts.clone(),
            reused,
            tcp: lane.transport.tcp_facts(),
            tls,
            quic,
            http: (facts.status != 0).then_some(facts),
            extra_trips: detours,
            ..Exchange::default()
        }
    }

    /// The events of the connection during this request, and those of the request.
    fn timeline(&self, reused: bool) -> Timeline {
        let own = self.own.snapshot();
        let connection = if reused {
            self.lane.recorder.since(self.asked)
        } else {
            self.lane.history(self.first(&Event::RequestStarted))
        };
        let mut whole = Timeline::default();
        // A connection can carry requests before it is fully open; a request on a reused one waits
        // for none of the opening.
        let concerns = |event: &Event| !reused || !is_of_opening(event);
        let events = connection.iter().filter(|(_, event)| concerns(event));
        for (at, event) in events.filter(|(at, _)| *at <= self.ended) {
            whole.push(*at, event.clone());
        }
        for (at, event) in own.iter() {
            whole.push(*at, event.clone());
        }
        whole.push(self.ended, Event::Finished);
        whole
    }

    /// The part of a phase that this request waited for: 0.5 if the request came half way through.
    fn share(&self, phase: &Phase) -> f64 {
        let (start, end) = (phase.start.max(self.asked), phase.end);
        match phase.span() {
            Duration::ZERO => f64::from(u8::from(end >= self.asked)),
            span => end.since(start).as_secs_f64() / span.as_secs_f64(),
        }
    }

    fn queued(&self) -> Duration {
        let there = self.asked.max(self.lane.ready);
        let Some(started) = self.first(&Event::RequestStarted) else {
            return self.ended.since(there);
        };
        let sent = self
            .first(&Event::RequestSent)
            .filter(|_| self.lane.transport.is_quic());
        // QUIC queues streams below this layer: a request can have been passed on and still wait.
        let left = sent.filter(|_| self.is_reused()).unwrap_or(started);
        left.since(there)
    }

    fn since_asked(&self, at: Moment) -> Duration {
        at.since(self.asked) + self.before
    }

    fn first(&self, event: &Event) -> Option<Moment> {
        self.own.last(|e| e == event)
    }
}

fn is_of_opening(event: &Event) -> bool {
    matches!(
        event,
        Event::LookupStarted
            | Event::LookupFinished
            | Event::AttemptStarted { .. }
            | Event::AttemptFailed { .. }
            | Event::Connected { .. }
            | Event::SynAcked { .. }
            | Event::HandshakeStarted
            | Event::HandshakeFinished
    )
}

impl Timing {
    /// Adds the waits of an earlier try.
    pub(super) fn add(&mut self, earlier: &Self) {
        self.dns += earlier.dns;
        self.tcp += earlier.tcp;
        self.tls += earlier.tls;
        self.queued += earlier.queued;
        self.reused &= earlier.reused;
        self.resumed |= earlier.resumed;
        let trips = self.round_trips.zip(earlier.round_trips);
        self.round_trips = trips.map(|(ours, theirs)| ours + theirs);
    }
}
