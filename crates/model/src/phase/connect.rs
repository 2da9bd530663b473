//! The TCP phase: the attempts that were given up, then the successful one with its round trip.

use std::net::SocketAddr;

use super::{ms, rtt_ms};
use crate::{AttemptOutcome, Event, Exchange, Moment, Waited};

/// A SYN is repeated after one second (RFC 6298 §2.1); a wait of more than this many milliseconds
/// was a loss.
const SYN_TIMEOUT: f64 = 900.0;

pub(super) fn attribute(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    let winner = winner(exchange);
    let Some(left) = departure(exchange, winner, start, end) else {
        let client = ms(end.since(start));
        return (
            0,
            Waited {
                client,
                ..Waited::default()
            },
        );
    };
    // Other attempts that had to be given up first, including QUIC.
    let others = exchange
        .attempts
        .iter()
        .map(|a| a.began)
        .filter(|at| *at >= start && *at <= end);
    let first = others.min().unwrap_or(left).min(left);
    let waited = Waited {
        client: ms(first.since(start)),
        loss: ms(left.since(first)),
        ..Waited::default()
    };
    let wait = ms(end.since(left));
    if winner.is_none() {
        (0, unconnected(exchange, wait, waited))
    } else if syn_ack_was_awaited(exchange, end) {
        (1, connected(exchange, wait, waited))
    } else {
        (
            0,
            Waited {
                client: waited.client + wait,
                ..waited
            },
        )
    }
}

fn winner(exchange: &Exchange) -> Option<SocketAddr> {
    exchange.timeline.iter().rev().find_map(|(_, e)| match e {
        Event::Connected { peer, .. } => Some(*peer),
        _ => None,
    })
}

/// When the successful attempt sent its SYN; if there was none, the first attempt.
fn departure(
    exchange: &Exchange,
    winner: Option<SocketAddr>,
    start: Moment,
    end: Moment,
) -> Option<Moment> {
    exchange.timeline.iter().find_map(|(at, e)| match e {
        Event::AttemptStarted { peer }
            if winner.is_none_or(|w| w == *peer) && *at >= start && *at <= end =>
        {
            Some(*at)
        }
        _ => None,
    })
}

/// With fast open, the SYN-ACK is waited for only if it did not acknowledge everything; this phase
/// then ends with it.
fn syn_ack_was_awaited(exchange: &Exchange, end: Moment) -> bool {
    let mut events = exchange.timeline.iter();
    let deferred = events.any(|(_, e)| matches!(e, Event::Connected { deferred: true, .. }));
    !deferred || events.any(|(at, e)| matches!(e, Event::SynAcked { .. }) && *at == end)
}

fn connected(exchange: &Exchange, wait: f64, waited: Waited) -> Waited {
    let resent = exchange.tcp.as_ref().is_some_and(|t| t.syn_retransmits > 0);
    let lost = resent || wait > SYN_TIMEOUT.max(3.0 * rtt_ms(exchange));
    let network = if lost {
        wait.min(rtt_ms(exchange))
    } else {
        wait
    };
    Waited {
        network,
        loss: waited.loss + wait - network,
        ..waited
    }
}

/// A refusal is an answer and took the path's time; silence is a loss.
fn unconnected(exchange: &Exchange, wait: f64, waited: Waited) -> Waited {
    let answered = exchange
        .attempts
        .iter()
        .any(|a| matches!(a.outcome, AttemptOutcome::Failed(_)));
    let network = if answered { wait } else { 0.0 };
    Waited {
        network,
        loss: waited.loss + wait - network,
        ..waited
    }
}
