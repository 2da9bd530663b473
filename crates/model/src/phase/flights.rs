//! Divides the bytes of an answer into flights, the bytes that a sender sends within one round
//! trip.

use std::time::Duration;

use super::body::Arrival;
use super::ms;
use crate::{Event, Moment, Timeline};

/// How early a flight may begin, in round trips, after a pause and without one.
const EARLY: f64 = 0.2;
const EARLY_UNPAUSED: f64 = 0.03;
/// The shortest pause that separates two flights, in round trips and in milliseconds.
const PAUSE: f64 = 0.25;
const MIN_PAUSE: f64 = 1.0;

/// The next flight of a full window, as a multiple of it: each of its segments was acknowledged.
pub(super) const DOUBLES: std::ops::RangeInclusive<f64> = 1.7..=2.4;
/// The first windows, in segments, of systems before RFC 6928 (RFC 2581 §3.1, RFC 3390 §1), less
/// one for a head that was sent separately.
const SMALL_WINDOW: std::ops::RangeInclusive<u64> = 2..=4;
/// Flights that follow a small first window grow by a factor of this range: about every segment is
/// acknowledged, and each acknowledgement lets one more leave (RFC 5681 §3.1). The first may be
/// smaller by the segment of the head.
const SMALL_GROWTH: std::ops::RangeInclusive<f64> = 1.4..=3.2;

#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub(super) began: Moment,
    /// When the flight's last bytes arrived.
    pub(super) ended: Moment,
    pub(super) bytes: u64,
    /// The number of segments before the first arrival considered, if known.
    pub(super) segments: u64,
    /// The index of the flight's first arrival, and the pause before that in milliseconds.
    pub(super) first: usize,
    pub(super) gap: f64,
}

/// The flight that is in progress at `start`.
pub(super) fn begun(timeline: &Timeline, start: Moment, rtt: f64) -> Flight {
    let mut flight = Flight {
        began: start,
        ended: start,
        bytes: 0,
        segments: 0,
        first: 0,
        gap: 0.0,
    };
    let mut segments = 0;
    for (at, event) in timeline.iter().rev() {
        match event {
            Event::Received { bytes } if *at < start => {
                if ms(flight.began.since(*at)) >= (PAUSE * rtt).max(MIN_PAUSE) {
                    break;
                }
                flight.began = *at;
                flight.bytes += bytes;
                flight.segments += std::mem::take(&mut segments);
            }
            Event::Paused { segments: told, .. } if *at < start => segments += told,
            _ => {}
        }
    }
    flight
}

/// Divides arrivals into flights; the first continues `begun`.
pub(super) fn divide(begun: Flight, arrivals: &[Arrival], rtt: f64) -> Vec<Flight> {
    let mut flights = Vec::new();
    let mut flight = begun;
    for (n, arrival) in arrivals.iter().enumerate() {
        let due = ms(arrival.at.since(flight.began));
        let gap = ms(arrival.at.since(flight.ended));
        let paused = gap >= (PAUSE * rtt).max(MIN_PAUSE);
        let early = if paused { EARLY } else { EARLY_UNPAUSED };
        if due >= (1.0 - early) * rtt {
            // Data that follows without a pause began when it was due.
            let next = if paused {
                arrival.at
            } else {
                flight.began + Duration::from_secs_f64(rtt / 1e3)
            };
            flights.push(flight);
            flight = Flight {
                began: next,
                ended: arrival.at,
                bytes: 0,
                segments: 0,
                first: n,
                gap,
            };
        }
        flight.ended = arrival.at;
        flight.bytes += arrival.bytes;
    }
    flights.push(flight);
    flights
}

/// Whether the flights show slow start from a smaller window than today's: at least two grew one
/// after the other, each a round trip after the one before.
/// `segments` tells how many a flight had, if that is known: some may be small.
pub(super) fn grow_from_a_small_window(
    flights: &[Flight],
    segments: impl Fn(usize) -> Option<u64>,
    segment: u64,
    rtt: f64,
) -> bool {
    let [first, second, third, ..] = flights else {
        return false;
    };
    let size = |n: usize, of: &Flight| {
        segments(n).unwrap_or_else(|| of.bytes.div_ceil(segment.max(1)).max(1))
    };
    let on_time = |of: &Flight, next: &Flight| {
        let took = ms(next.began.since(of.began));
        (0.8..=1.2).contains(&(took / rtt))
    };
    let sizes = [size(0, first), size(1, second), size(2, third)];
    let grew = |of: u64, next: u64| SMALL_GROWTH.contains(&(next as f64 / of as f64));
    let [one, two, three] = sizes;
    SMALL_WINDOW.contains(&one)
        && on_time(first, second)
        && on_time(second, third)
        && grew(one, two)
        && (grew(two, three) || flights.len() == 3)
}
