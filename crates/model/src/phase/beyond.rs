//! Servers behind something nearer that acknowledges for them: a proxy that opened a tunnel, a load
//! balancer, a forwarded port. The path behind it has round trips, windows and losses, too.

use std::time::Duration;

use super::{line, ms};
use crate::{EarlyData, Event, Exchange, Moment};

/// The least distance of a server behind something nearer: in milliseconds, and as a share of R.
const MIN_BEYOND: f64 = 10.0;
const MIN_BEYOND_TRIPS: f64 = 0.5;
/// In round trips: a server that is at least this much farther away than what acknowledges.
const NEAR_TRIPS: f64 = 2.0;
/// Two answers are equally late if they differ by less than this: in milliseconds, and as a share.
const EQUAL_MS: f64 = 3.0;
const EQUAL: f64 = 0.1;
/// As a multiple of that distance: a window behind something nearer opens again within this time.
const WINDOW: f64 = 1.5;

impl Exchange {
    /// How much longer than a round trip the server's answers need, if what acknowledges for it may
    /// be nearer: behind a tunnel, or where the answers to the ClientHello and to the request were
    /// equally late, or the first twice as late. A kept connection remembers it.
    pub fn beyond(&self) -> Option<Duration> {
        if self.reused {
            return self.kept?.beyond;
        }
        let greeting = self.greeting_lateness()?;
        if self.is_tunnelled() {
            return Some(span(greeting));
        }
        let asked = self.timeline.last(|e| *e == Event::RequestSent)?;
        let answer = self.beyond_a_trip(asked, self.answer_began()?)?;
        let r = ms(self.rtt?);
        let far = answer >= MIN_BEYOND.max(MIN_BEYOND_TRIPS * r);
        // What is very near may first have connected to the server itself.
        let connected = answer >= NEAR_TRIPS * r && is_equal(greeting, 2.0 * answer);
        let is_as_far = is_equal(greeting, answer) || connected;
        (!self.reports(answer) && far && is_as_far).then(|| span(answer))
    }

    /// Whether an answer that was `late` may be late because the server is that much farther away
    /// than what acknowledges.
    pub fn may_be_late_from_beyond(&self, late: f64) -> bool {
        let beyond = self.beyond();
        !self.reports(late) && beyond.is_some_and(|far| is_equal(late, ms(far)))
    }

    /// The longest pause, in milliseconds, that a full window behind something nearer than the
    /// server can cause; 0 if nothing shows that something is nearer.
    pub fn longest_pause_beyond(&self) -> f64 {
        self.beyond().map_or(0.0, |far| WINDOW * ms(far))
    }

    /// Whether the server reports at least half of the time by which an answer was late.
    fn reports(&self, late: f64) -> bool {
        self.reported().is_some_and(|said| said >= 0.5 * late)
    }

    /// Whether the request went through a tunnel that a proxy had opened.
    pub fn is_tunnelled(&self) -> bool {
        let http = self.http.as_ref();
        http.is_some_and(|http| http.proxy_status > 0)
            || self.timeline.first(|e| *e == Event::TunnelReady).is_some()
    }

    /// How many milliseconds later than a round trip after the ClientHello the answer to it came.
    fn greeting_lateness(&self) -> Option<f64> {
        let tls = self.tls.as_ref()?;
        let in_syn = self.tcp.as_ref()?.fast_open.cookie;
        if in_syn || self.quic.is_some() || tls.early_data != EarlyData::NotOffered {
            return None;
        }
        let began = self.timeline.last(|e| *e == Event::HandshakeStarted)?;
        let after = |is: fn(&Event) -> bool, than: Moment| {
            let mut events = self.timeline.iter();
            let event = events.find(|(at, event)| *at >= than && is(event));
            event.map(|(at, _)| *at)
        };
        let sent = after(|e| matches!(e, Event::Sent { .. }), began)?;
        let answered = after(|e| matches!(e, Event::Received { .. }), sent)?;
        self.beyond_a_trip(sent, answered)
    }

    /// The wait beyond a round trip and the time that a slow line needed.
    fn beyond_a_trip(&self, asked: Moment, answered: Moment) -> Option<f64> {
        let carried = line::carriage(self, asked, answered);
        Some(ms(answered.since(asked)) - ms(self.rtt?) - carried)
    }
}

fn is_equal(one: f64, next: f64) -> bool {
    (one - next).abs() <= EQUAL_MS.max(EQUAL * one.max(next))
}

fn span(ms: f64) -> Duration {
    Duration::from_secs_f64(ms.max(0.0) / 1e3)
}
