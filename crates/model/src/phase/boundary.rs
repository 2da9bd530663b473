//! Where each phase ends. Phases follow one another without gaps; a phase that did not happen is
//! absent.

use crate::{Event, Exchange, Moment, PhaseName};

/// The phases as (name, start, end), from zero to the end of the timeline.
pub(super) fn cut(exchange: &Exchange) -> Vec<(PhaseName, Moment, Moment)> {
    let timeline = &exchange.timeline;
    if timeline.is_empty() {
        return Vec::new();
    }
    let end = timeline.end();
    let early = EarlyOutcome::from_exchange(exchange);
    let syn_missed = unsaved_syn_ack(exchange);
    let mut syn_pending = syn_missed;
    let mut cutter = Cutter {
        cursor: Moment::ZERO,
        end,
        phases: Vec::new(),
    };
    let answered = exchange.answered_after_interim().is_some();
    let mut under_way = PhaseName::Setup;
    for (at, event) in timeline.iter() {
        let next = match event {
            Event::LookupStarted => Some((PhaseName::Setup, PhaseName::Name)),
            Event::LookupFinished => Some((PhaseName::Name, PhaseName::Tcp)),
            Event::AttemptStarted { .. } if under_way == PhaseName::Setup => {
                Some((PhaseName::Setup, PhaseName::Tcp))
            }
            Event::Connected { deferred, .. } if !(*deferred && syn_missed) => {
                Some((PhaseName::Tcp, PhaseName::Request))
            }
            Event::SynAcked { .. } if syn_missed => {
                syn_pending = false;
                Some((PhaseName::Tcp, under_way.max_with_request()))
            }
            Event::TunnelStarted => {
                under_way = PhaseName::Proxy;
                None
            }
            Event::TunnelReady => Some((PhaseName::Proxy, PhaseName::Request)),
            Event::HandshakeStarted => {
                under_way = handshake(exchange);
                None
            }
            Event::HandshakeFinished if early != EarlyOutcome::Accepted => {
                Some((handshake(exchange), PhaseName::Request))
            }
            Event::RequestStarted if early == EarlyOutcome::Accepted => {
                Some((handshake(exchange), PhaseName::Request))
            }
            Event::RequestStarted if under_way == PhaseName::Setup => {
                Some((PhaseName::Setup, PhaseName::Request))
            }
            Event::RequestSent if early != EarlyOutcome::Refused => {
                Some((PhaseName::Request, PhaseName::FirstByte))
            }
            // Interim responses come first; the wait is for the final one.
            Event::FirstByte if answered => None,
            Event::Answered if !answered => None,
            Event::FirstByte | Event::Answered => {
                if early == EarlyOutcome::Refused {
                    under_way = PhaseName::FirstByte;
                }
                Some((PhaseName::FirstByte, PhaseName::Body))
            }
            _ => None,
        };
        if let Some((ended, begun)) = next {
            // Data written while the client waited for the SYN-ACK has not entered the path yet.
            if !(syn_pending && (ended == PhaseName::Request || ended == handshake(exchange))) {
                cutter.close(ended, *at);
            }
            under_way = begun;
        }
    }
    cutter.close(under_way, end);
    cutter.phases
}

impl PhaseName {
    /// The phase that continues after a late SYN-ACK: a handshake or wait that had already begun.
    fn max_with_request(self) -> Self {
        if self == Self::Tcp {
            Self::Request
        } else {
            self
        }
    }
}

struct Cutter {
    cursor: Moment,
    end: Moment,
    phases: Vec<(PhaseName, Moment, Moment)>,
}

impl Cutter {
    /// Ends the phase at `at`. A phase that ends again (a second attempt, a second write) is
    /// extended.
    fn close(&mut self, name: PhaseName, at: Moment) {
        let at = at.clamp(self.cursor, self.end);
        match self.phases.last_mut() {
            Some((last, _, until)) if *last == name => *until = at,
            _ if at == self.cursor && matches!(name, PhaseName::Setup | PhaseName::Request) => {}
            _ => self.phases.push((name, self.cursor, at)),
        }
        self.cursor = at;
    }
}

fn handshake(exchange: &Exchange) -> PhaseName {
    if exchange.quic.is_some() {
        PhaseName::Quic
    } else {
        PhaseName::Tls
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EarlyOutcome {
    None,
    Accepted,
    Refused,
}

impl EarlyOutcome {
    /// Early data was used if the request began before the handshake was complete.
    fn from_exchange(exchange: &Exchange) -> Self {
        let timeline = &exchange.timeline;
        if timeline.first(|e| *e == Event::EarlyDataRefused).is_some() {
            return Self::Refused;
        }
        let began = timeline.first(|e| *e == Event::HandshakeStarted);
        let asked = timeline.first(|e| *e == Event::RequestStarted);
        let proven = timeline.first(|e| *e == Event::HandshakeFinished);
        match (began, asked) {
            (Some(_), Some(asked)) if proven.is_none_or(|p| asked < p) => Self::Accepted,
            _ => Self::None,
        }
    }
}

/// Fast open was tried and the SYN-ACK left data unacknowledged, so the connect cost one round
/// trip.
fn unsaved_syn_ack(exchange: &Exchange) -> bool {
    exchange.timeline.iter().any(
        |(_, e)| matches!(e, Event::SynAcked { data_sent, data_acked } if data_acked < data_sent),
    )
}
