//! The TCP phase: the abandoned attempts, then the successful one with its round trip.

use std::net::SocketAddr;

use super::measurable::MIN_MEASURABLE_RTT;
use super::{ms, rtt_ms};
use crate::{Attempt, AttemptOutcome, Event, Exchange, Moment, Waited};

/// A SYN is repeated after one second (RFC 6298 §2.1); a wait of more than this many milliseconds
/// was a loss.
const SYN_TIMEOUT: f64 = 900.0;
/// The milliseconds after which a SYN is sent again. The answer to a SYN takes at least this share
/// of a round trip.
const FIRST_TIMEOUT: f64 = 1_000.0;
const FASTEST_ANSWER: f64 = 0.9;
/// A process wakes up within this many milliseconds, unless something keeps it from running.
const MIN_DELAY: f64 = 1.0;

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
    // Other attempts, including QUIC, that had to be abandoned first.
    let others = exchange
        .attempts
        .iter()
        .map(|a| a.began)
        .filter(|at| *at >= start && *at <= end);
    let first = others.min().unwrap_or(left).min(left);
    let attempts = exchange.attempts.iter();
    let given_up = attempts.filter(|a| a.began >= first && a.began < left);
    let (refused, mut waited) = before(given_up.collect(), first, left);
    waited.client += ms(first.since(start));
    let wait = ms(end.since(left));
    if winner.is_none() {
        let (trips, rest) = unconnected(exchange, left, end);
        (refused + trips, waited.plus(rest))
    } else if syn_ack_was_awaited(exchange, end) {
        (1 + refused, waited.plus(connected(exchange, wait)))
    } else {
        waited.client += wait;
        (refused, waited)
    }
}

/// The attempts before the successful one, from `first` to `left`. A refusal is an answer and cost
/// a round trip; silence counts as a loss.
pub(super) fn before(mut attempts: Vec<&Attempt>, first: Moment, left: Moment) -> (u32, Waited) {
    attempts.sort_by_key(|a| a.began);
    let mut waited = Waited::default();
    let mut trips = 0;
    let mut cursor = first;
    for (n, attempt) in attempts.iter().enumerate() {
        let next = attempts.get(n + 1).map_or(left, |a| a.began.min(left));
        let next = next.max(cursor);
        let ended = attempt.ended.clamp(cursor, next);
        if was_refused(attempt) {
            waited.network += ms(ended.since(cursor));
            waited.client += ms(next.since(ended));
            trips += u32::from(crossed(attempt));
        } else {
            waited.loss += ms(next.since(cursor));
        }
        cursor = next;
    }
    waited.loss += ms(left.since(cursor));
    (trips, waited)
}

pub(super) fn was_refused(attempt: &Attempt) -> bool {
    matches!(attempt.outcome, AttemptOutcome::Failed(_))
}

/// Whether the refusal came over the path. Attempts that this host itself refuses fail at once.
pub(super) fn crossed(attempt: &Attempt) -> bool {
    attempt.ended.since(attempt.began) >= MIN_MEASURABLE_RTT
}

fn winner(exchange: &Exchange) -> Option<SocketAddr> {
    exchange.timeline.iter().rev().find_map(|(_, e)| match e {
        Event::Connected { peer, .. } => Some(*peer),
        _ => None,
    })
}

/// When the successful attempt sent its SYN; without a successful attempt, the first one counts.
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

/// Whether the client waited for the SYN-ACK of fast open. It does so only if the SYN-ACK does not
/// acknowledge all data; this phase then ends with it.
fn syn_ack_was_awaited(exchange: &Exchange, end: Moment) -> bool {
    let mut events = exchange.timeline.iter();
    let deferred = events.any(|(_, e)| matches!(e, Event::Connected { deferred: true, .. }));
    !deferred || events.any(|(at, e)| matches!(e, Event::SynAcked { .. }) && *at == end)
}

/// The kernel measured how long the SYN-ACK took; the rest of the wait passed before the client
/// ran.
fn connected(exchange: &Exchange, wait: f64) -> Waited {
    let tcp = exchange.tcp.as_ref();
    let again = tcp.map_or(0, |t| t.syn_retransmits);
    // A SYN-ACK that comes sooner after the second SYN answers the first one, which was only late.
    let soonest = FIRST_TIMEOUT + FASTEST_ANSWER * rtt_ms(exchange);
    let was_late = again == 1 && soonest.is_finite() && (FIRST_TIMEOUT..soonest).contains(&wait);
    let resent = again > 0 && !was_late;
    let measured = tcp.and_then(|t| t.handshake_rtt).map(ms);
    let mut waited = Waited::default();
    if resent || (measured.is_none() && wait > SYN_TIMEOUT.max(3.0 * rtt_ms(exchange))) {
        waited.network = wait.min(rtt_ms(exchange));
        waited.loss = wait - waited.network;
    } else {
        waited.network = match measured {
            Some(took) if !was_late && wait - took >= MIN_DELAY => wait.min(took),
            _ => wait,
        };
        waited.client = wait - waited.network;
    }
    waited
}

/// A refusal is an answer, and its time belongs to the path. The time between refusals belongs to
/// the client; silence is a loss.
fn unconnected(exchange: &Exchange, left: Moment, end: Moment) -> (u32, Waited) {
    let wait = ms(end.since(left));
    let refused = |a: &&Attempt| was_refused(a) && a.began >= left;
    let answers: Vec<_> = exchange.attempts.iter().filter(refused).collect();
    let mut waited = Waited::default();
    if answers.is_empty() {
        waited.loss = wait;
    } else {
        let crossing = answers.iter().filter(|a| crossed(a));
        let network: f64 = crossing.map(|a| ms(a.ended.since(a.began))).sum();
        waited.network = network.min(wait);
        waited.client = wait - waited.network;
    }
    let trips = answers.iter().filter(|a| crossed(a)).count() as u32;
    (trips, waited)
}
