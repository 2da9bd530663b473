//! Which flights of an answer a window stopped.

use super::super::flights::DOUBLES;
use super::super::pause::is_in_step;
use super::{Arrival, BodyAnalysis, Evidence, Flight, FullWindow, MIN_PAUSE, StallReason, flights};
use super::{ON_TIME, ON_TIME_MS, ms};

/// The smallest factor by which each flight of a growing window is larger than the one before.
const GROWTH: f64 = 1.25;
/// The same factor in slow start. It is less than 2, because the last segment may be small.
const DOUBLED: f64 = 1.8;
/// A window that no longer grows is filled again at least to this share of the flight before.
const AGAIN: f64 = 0.8;
/// In round trips: the next flight of a window begins before this, even if it is delayed.
const LATEST_FLIGHT: f64 = 2.5;
/// The bytes that arrive in a round trip if only the client's receive window limits the rate, as
/// shares of that window. On Linux, a window that is not full is twice as large.
const FILLED: std::ops::RangeInclusive<f64> = 0.75..=1.15;
/// The number of flights in a row, each a round trip after the one before, that are not chance if
/// the path varies by no more than `MAX_VARIES` round trips.
const PERIODS: usize = 3;
/// The same number for flights that also grow. Without growth, fewer could be chance: an
/// application that sleeps writes pieces of one size.
const GROWING_PERIODS: usize = 2;
const MAX_VARIES: f64 = 0.3;
/// In milliseconds: the measured time of several round trips may be too short by this much.
const EARLY_MS: f64 = 0.3;
/// In round trips: a sender that waits for acknowledgements sends nothing for at least this long.
/// The second value is for a sender that paces its segments.
const WAITED: f64 = 0.75;
const WAITED_PACED: f64 = 0.5;
/// In round trips: an acknowledgement that is at most this late can still be matched with its
/// flight.
const MAX_LATE: f64 = 0.04;
/// A pause is longer than any within the flight before it by at least this factor.
const PAUSED: f64 = 2.0;
/// In round trips: a last flight that ends this much early still counts as a whole round trip.
const ALMOST: f64 = 0.08;

impl BodyAnalysis<'_> {
    /// The flights that a window stopped. Each is named by the arrival with which the next flight
    /// began.
    pub(super) fn windows(
        &self,
        flights: &[Flight],
        arrivals: &[Arrival],
    ) -> Vec<(usize, FullWindow)> {
        let mut windows = Vec::new();
        let periodic = self.periodic(flights, arrivals);
        let limited = self.limited(&periodic, flights, arrivals);
        let mut room = None;
        // The bytes that filled the client's window first.
        let mut filled = 0;
        let small = self.grow_from_a_small_window(flights, arrivals);
        let mut growing = flights
            .first()
            .is_some_and(|first| self.is_full(first, flights, arrivals))
            || small;
        for (n, pair) in flights.windows(2).enumerate() {
            let [flight, next] = pair else { break };
            let last = n + 2 == flights.len();
            let heard = arrivals
                .get(next.first)
                .map(|a| a.heard)
                .unwrap_or_default();
            let grew = |next: &Flight, by: f64| next.bytes as f64 >= by * flight.bytes as f64;
            // Between two flights of a paced sender, a delay may move bytes to the next one.
            let moved = growing
                && n > 0
                && grew(next, 1.0)
                && flights
                    .get(n + 2)
                    .is_some_and(|after| grew(after, GROWTH * GROWTH));
            let more = grew(next, GROWTH) || moved;
            let before = n.checked_sub(1).and_then(|before| flights.get(before));
            let previous = before.map(|b| b.bytes);
            let doubled = before.is_some_and(|b| flight.bytes as f64 >= DOUBLED * b.bytes as f64);
            let is_double =
                |next: u64, flight: u64| DOUBLES.contains(&(next as f64 / flight.max(1) as f64));
            // A window counts segments: some that end a write may be small.
            let segments = |n: usize| segments(flights.get(n..n + 2)?, arrivals);
            let in_segments = segments(n).zip(segments(n + 1));
            let next_is_double = is_double(next.bytes, flight.bytes)
                || in_segments.is_some_and(|(flight, next)| is_double(next, flight));
            let rest = last && (doubled || self.may_be_the_rest(next, windows.len()));
            growing &= (more || rest) && (n > 0 || small || heard.is_like_a_window(self.exchange));
            let before = windows
                .last()
                .is_some_and(|(_, w): &(usize, FullWindow)| w.own);
            room = heard.window().or(room);
            let steady = next.gap < MIN_PAUSE * self.rtt
                && room.is_some_and(|room| FILLED.contains(&(flight.bytes as f64 / room as f64)));
            // A window that stopped the flight before is full again after as many bytes, if a pause
            // follows.
            let chained = windows
                .last()
                .is_some_and(|(first, _)| *first == flight.first);
            let again = chained
                && next.gap >= MIN_PAUSE * self.rtt
                && previous.is_some_and(|b| flight.bytes as f64 >= AGAIN * b as f64);
            let full_again = again && flight.bytes as f64 >= AGAIN * filled as f64;
            let fills = heard.fills_own_window() || steady || (before && full_again);
            let own = fills && !more && (before || !last);
            // A window that doubled was full, even if its next flight began late. A window that the
            // next flight doubles was full too, if the path may delay packets by this much.
            let late = self.lateness(flight, next, &heard);
            let possible = (LATEST_FLIGHT * self.rtt).max(self.possible);
            let full = growing && late > 0.0 && (doubled || (next_is_double && late <= possible));
            let goes_on = growing || again;
            let waited = periodic.get(n) == Some(&true);
            let limited = limited.get(n) == Some(&true);
            // A flight of that size fills a window, whatever ended its last segment.
            let is_large = segments(n) >= Some(self.exchange.first_window());
            let filled_it = is_large && self.follows_in_step(flight, next, &heard);
            if full || waited || filled_it || self.was_stopped(flight, next, &heard, goes_on, own) {
                if own && !before {
                    filled = flight.bytes;
                }
                let window = FullWindow {
                    bytes: heard.flight_bytes().unwrap_or(flight.bytes),
                    segments: heard.segments(),
                    grew: !own && !limited && (last || more),
                    own,
                    limited: !own && limited,
                    after_loss: false,
                };
                windows.push((next.first, window));
            } else {
                growing = false;
            }
        }
        windows.extend(self.almost(flights, &windows, arrivals));
        windows
    }

    /// The last flight of a paced window may end just before or just after a whole number of round
    /// trips: both count as that number, so that the count is stable from run to run.
    fn almost(
        &self,
        flights: &[Flight],
        windows: &[(usize, FullWindow)],
        arrivals: &[Arrival],
    ) -> Option<(usize, FullWindow)> {
        let ((first, last), end) = flights.first().zip(flights.last()).zip(arrivals.last())?;
        let all = windows.len() >= 2 && windows.len() + 1 == flights.len();
        let whole = ms(end.at.since(first.began)) / self.rtt + ALMOST;
        let (_, before) = windows.last()?;
        let window = FullWindow {
            bytes: last.bytes,
            segments: None,
            ..*before
        };
        let extra = all && before.grew && whole as usize == windows.len() + 1;
        extra.then_some((arrivals.len() - 1, window))
    }

    fn was_stopped(
        &self,
        flight: &Flight,
        next: &Flight,
        heard: &Evidence,
        growing: bool,
        own: bool,
    ) -> bool {
        let late = self.lateness(flight, next, heard);
        let tolerance = (ON_TIME * self.rtt).max(ON_TIME_MS).max(self.spread);
        let on_time = late.abs() <= tolerance;
        let gap = next.gap;
        let broken = heard.stop(self.exchange, gap, self.rtt) == StallReason::Window;
        let by_receiver = own && gap <= LATEST_FLIGHT * self.rtt;
        // A window that is only as large as the one before opens again on time, unless the path
        // itself may be this late.
        let delayed = late > 0.0 && (growing || late <= self.most);
        (on_time && (growing || broken)) || (broken && delayed) || by_receiver
    }

    /// For each flight, whether it waited for acknowledgements, whatever its size: at least
    /// `PERIODS` in a row had several segments, and the next began just one round trip after each,
    /// behind a pause.
    fn periodic(&self, flights: &[Flight], arrivals: &[Arrival]) -> Vec<bool> {
        let tolerance = (ON_TIME * self.rtt).max(self.spread.min(MAX_VARIES * self.rtt));
        let heard = |n: usize| {
            let next = flights.get(n + 1)?;
            arrivals.get(next.first).map(|arrival| arrival.heard)
        };
        let is_broken = |n: usize| heard(n).is_some_and(|heard| heard.is_broken(self.exchange));
        let waited = |(n, both): (usize, &[Flight])| {
            let ([flight, next], Some(heard)) = (both, heard(n)) else {
                return false;
            };
            let late = self.lateness(flight, next, &heard);
            let on_time = is_broken(n) && late.abs() <= tolerance;
            // A slow line separates single segments.
            let may_wait = heard.segments().is_some() && flight.bytes > self.exchange.segment();
            let long = next.gap >= WAITED * self.rtt;
            let longest = longest_gap(both, arrivals);
            let in_step = next.gap >= PAUSED * longest && self.waits_in_step(flight, next, &heard);
            may_wait && (on_time && long || in_step)
        };
        let grows_in_step = |n: usize| {
            let both = flights.get(n).zip(flights.get(n + 1)).zip(heard(n));
            both.is_some_and(|((flight, next), heard)| {
                next.bytes as f64 >= GROWTH * flight.bytes as f64
                    && self.waits_in_step(flight, next, &heard)
            })
        };
        let mut periodic: Vec<bool> = flights.windows(2).enumerate().map(waited).collect();
        let mut first = 0;
        for run in periodic.chunk_by_mut(|one, next| one == next) {
            let end = first + run.len();
            let ends = flights.get(first).zip(flights.get(end));
            let took = ends.map_or(0.0, |(of, next)| ms(next.began.since(of.began)));
            // No acknowledgement comes sooner than after a round trip, but a timer may.
            let early = run.len() as f64 * self.rtt - took;
            let is_timer = early > EARLY_MS + self.spread && !(first..end).all(is_broken);
            let grow = (first..end).all(&grows_in_step);
            let least = if grow { GROWING_PERIODS } else { PERIODS };
            if run.len() < least || is_timer {
                run.fill(false);
            }
            first = end;
        }
        periodic
    }

    /// For each flight, whether something smaller than the congestion window stopped it. It must
    /// belong to a series of flights that waited for acknowledgements, of which one left room in
    /// that window; and it must not have ended early, unless it was smaller than a first window, or
    /// than an earlier flight.
    fn limited(&self, waited: &[bool], flights: &[Flight], arrivals: &[Arrival]) -> Vec<bool> {
        let least = self.exchange.first_window() * 9 / 10;
        let grows = self.grow_from_a_small_window(flights, arrivals);
        let mut limited = Vec::new();
        for run in waited.chunk_by(|one, next| one == next) {
            let began = limited.len();
            let flights_of = flights.get(began..=began + run.len()).unwrap_or_default();
            let until = flights_of.last().map_or(0, |last| last.first);
            let arrivals = arrivals.get(..=until).unwrap_or_default();
            // A loss makes the congestion window smaller.
            let others = |a: &Arrival| a.heard.has_gap() || a.heard.fills_own_window();
            let mut most = 0;
            let leaves_room = flights_of.windows(2).any(|both| {
                let [flight, next] = both else { return false };
                let heard = arrivals.get(next.first).map(|arrival| arrival.heard);
                most = flight.bytes.max(most);
                let sent = segments(both, arrivals);
                let sent = sent.unwrap_or(flight.bytes / self.exchange.segment());
                sent < least && !grows
                    || (flight.bytes as f64) < AGAIN * most as f64
                    || heard.is_some_and(|heard| {
                        !heard.is_like_a_window(self.exchange)
                            && !heard.fills_segments(self.exchange)
                    })
            });
            let is_limited =
                run.first() == Some(&true) && leaves_room && !arrivals.iter().any(others);
            limited.extend(run.iter().map(|_| is_limited));
        }
        limited
    }

    /// Whether a flight began just a round trip after the one before, behind a pause. A sender that
    /// had nothing more would be in step with the path only by chance.
    fn follows_in_step(&self, flight: &Flight, next: &Flight, heard: &Evidence) -> bool {
        let period = self.lateness(flight, next, heard) + self.rtt;
        is_in_step(period, self.rtt) && next.gap >= WAITED * self.rtt
    }

    /// Whether a flight began just a round trip after the one before, if the sender paces its
    /// segments, or waits until the last segment has been acknowledged.
    fn waits_in_step(&self, flight: &Flight, next: &Flight, heard: &Evidence) -> bool {
        let period = self.lateness(flight, next, heard) + self.rtt;
        // The path, or a host that is busy, may delay an acknowledgement a little.
        let late = self.spread.min(MAX_LATE * self.rtt);
        let in_step =
            |took: f64| is_in_step(took, self.rtt) || (0.0..=late).contains(&(took - self.rtt));
        in_step(period) && next.gap >= WAITED_PACED * self.rtt || in_step(next.gap)
    }

    /// By how many milliseconds a flight began later than a round trip after the one before. The
    /// time during which the client did not run is subtracted if it has to acknowledge QUIC's
    /// packets itself.
    fn lateness(&self, flight: &Flight, next: &Flight, heard: &Evidence) -> f64 {
        let late = ms(next.began.since(flight.began)) - self.rtt;
        match self.exchange.quic {
            Some(_) if late > 0.0 => (late - heard.not_running()).max(0.0),
            _ => late,
        }
    }

    fn grow_from_a_small_window(&self, flights: &[Flight], arrivals: &[Arrival]) -> bool {
        let told = |n: usize| segments(flights.get(n..n + 2)?, arrivals);
        flights::grow_from_a_small_window(flights, told, self.exchange.segment(), self.rtt)
    }

    /// Whether the first flight filled the initial window.
    fn is_full(&self, first: &Flight, flights: &[Flight], arrivals: &[Arrival]) -> bool {
        let told = flights.get(..2).and_then(|both| segments(both, arrivals));
        let most = self.exchange.first_window();
        let full = most - most / 10;
        match told {
            Some(segments) => segments >= full,
            None => first.bytes >= full * self.exchange.segment(),
        }
    }

    /// The last flight brings the rest: after a pause it may have any size, and also without a
    /// pause if the flights before it grew twice.
    fn may_be_the_rest(&self, last: &Flight, windows: usize) -> bool {
        last.gap >= MIN_PAUSE * self.rtt || windows >= 2
    }
}

/// The longest time between two arrivals of the first of two flights, in milliseconds.
fn longest_gap(both: &[Flight], arrivals: &[Arrival]) -> f64 {
    let [flight, next] = both else { return 0.0 };
    let of_flight = arrivals.get(flight.first..next.first).unwrap_or_default();
    let gaps = of_flight.windows(2).map(|pair| match pair {
        [one, next] => ms(next.at.since(one.at)),
        _ => 0.0,
    });
    gaps.fold(0.0, f64::max)
}

/// The number of segments in the first of two flights, if the kernel reported it.
fn segments(both: &[Flight], arrivals: &[Arrival]) -> Option<u64> {
    let [flight, next] = both else { return None };
    let arrivals = arrivals.get(flight.first + 1..=next.first)?;
    let told = arrivals.iter().filter_map(|a| a.heard.segments());
    let told = told.reduce(|sum, more| sum + more)?;
    Some(told + flight.segments)
}
