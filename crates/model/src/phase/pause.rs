//! Why an answer paused in its middle, if no window stopped the sender: the sender had nothing more
//! to send, or the path delayed or lost the data.

use std::collections::BTreeMap;

use super::evidence::{Evidence, StallReason, is_like_a_tail};
use super::waiting::is_like_a_timeout;
use super::{line, rtt_ms};
use crate::{Event, Exchange};

/// The largest burst, in segments, that can follow a timeout; a larger one shows that the sender
/// had paused or the path had stopped.
const MAX_AFTER_TIMEOUT: u64 = 3;
/// In round trips and milliseconds: a probe for the tail of a flight (RFC 8985 §7.2) leaves two
/// smoothed round trips after the flight, and the timer may fire late.
const PROBE_TRIPS: f64 = 2.0;
const PROBE_SLACK: f64 = 40.0;
const PROBE_SLACK_TRIPS: f64 = 0.25;
const TICK: f64 = 5.0;
/// In round trips and milliseconds: on a path that does not vary, flights that wait for
/// acknowledgements begin a whole number of round trips after each other, within this tolerance. An
/// application that sleeps for such a time wakes up later.
const IN_STEP: f64 = 0.02;
const IN_STEP_MS: f64 = 0.9;

/// Datagrams of one size count as full if at least this many of them came.
const RECUR: u32 = 3;

/// A pause in an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pause {
    pub ms: f64,
    /// The number of bytes of the answer that had arrived before the pause.
    pub after: u64,
    /// A loss, or a path that stopped for a while, would look the same.
    pub doubtful: bool,
    /// It lay between the departures of two segments, so that the path has no part in it.
    pub departed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PauseReason {
    /// What follows was lost, and a timeout retransmitted it.
    Timeout,
    /// The sender had sent more, and the line delivered it late.
    Line,
    /// The sender had sent more, and the path held it back and delivered it at once.
    Path,
    /// The sender had nothing more to send; if that is not certain, the path may have stopped.
    Sender { is_certain: bool },
}

/// Why nothing arrived for `gap` milliseconds after `last` bytes, and before `next` bytes that came
/// within a round trip. Up to `beyond` milliseconds, a window may have been full behind something
/// nearer than the server.
pub(super) fn reason(
    exchange: &Exchange,
    gap: f64,
    beyond: f64,
    last: u64,
    heard: &Evidence,
    next: u64,
) -> PauseReason {
    if line::paces(exchange, gap, next) {
        return PauseReason::Line;
    }
    if gap <= beyond {
        return PauseReason::Sender { is_certain: false };
    }
    let sender = PauseReason::Sender {
        is_certain: !(may_have_more(exchange, last, heard, next)
            || may_be_a_loss(exchange, gap, next)
            || may_be_a_window(exchange, gap, heard)),
    };
    if heard.segments().is_none() {
        return sender;
    }
    let burst = next > MAX_AFTER_TIMEOUT * exchange.segment();
    match heard.stop(exchange, gap, rtt_ms(exchange)) {
        StallReason::Window | StallReason::Line => PauseReason::Line,
        // Before it sends the first byte of a record, the application has written all of it.
        StallReason::Timeout if burst && exchange.tls.is_some() => PauseReason::Path,
        StallReason::Timeout if burst => sender,
        StallReason::Timeout => PauseReason::Timeout,
        StallReason::Sender => sender,
    }
}

/// Whether the sender may have had more to send: its last packet was full, or as full as records
/// allow that each fit one segment, or its window was full.
pub(super) fn may_have_more(exchange: &Exchange, last: u64, heard: &Evidence, next: u64) -> bool {
    if exchange.quic.is_some() {
        return heard.missed() > 0
            || last > 0 && full_datagrams(exchange).any(|full| last.is_multiple_of(full));
    }
    heard.is_dense(exchange) || heard.fills_first_window(exchange, next)
}

/// Whether the path held `next` bytes for `held` milliseconds longer than the bytes before them,
/// and delivered them at once. A slow line delivers them one by one.
pub(super) fn was_held_up(exchange: &Exchange, held: f64, next: u64) -> bool {
    next > MAX_AFTER_TIMEOUT * exchange.segment() && is_like_a_tail(held, rtt_ms(exchange))
}

/// Whether this may be a loss: the lost tail of a flight is sent again alone.
fn may_be_a_loss(exchange: &Exchange, gap: f64, next: u64) -> bool {
    let r = rtt_ms(exchange);
    let probe = PROBE_TRIPS * r - TICK..PROBE_TRIPS * r + PROBE_SLACK + PROBE_SLACK_TRIPS * r;
    next <= exchange.segment() && (is_like_a_timeout(gap, r) || probe.contains(&gap))
}

/// Whether this may be a full send buffer: a sender whose buffer holds few segments waits for their
/// acknowledgements, which takes just one round trip.
fn may_be_a_window(exchange: &Exchange, gap: f64, heard: &Evidence) -> bool {
    let several = heard.flight_bytes() > Some(exchange.segment());
    several && is_in_step(gap, rtt_ms(exchange))
}

/// Whether flights that began this many milliseconds after each other may each have waited for the
/// acknowledgements of the one before.
pub(super) fn is_in_step(period: f64, rtt: f64) -> bool {
    (period - rtt).abs() <= (IN_STEP * rtt).min(IN_STEP_MS)
}

/// The sizes of datagrams that were full: the largest that was read alone, and others that recur. A
/// sender begins with 1200 bytes or a little more, and may probe for larger ones before it uses
/// them (RFC 9000 §14.3).
fn full_datagrams(exchange: &Exchange) -> impl Iterator<Item = u64> {
    let mut counts = BTreeMap::new();
    for (_, event) in exchange.timeline.iter() {
        if let Event::Received { bytes } = event
            && line::FULL_DATAGRAM.contains(bytes)
        {
            *counts.entry(*bytes).or_insert(0) += 1;
        }
    }
    let largest = counts.last_key_value().map(|(bytes, _)| *bytes);
    let recur = move |(bytes, count): &(u64, u32)| *count >= RECUR || Some(*bytes) == largest;
    counts.into_iter().filter(recur).map(|(bytes, _)| bytes)
}
