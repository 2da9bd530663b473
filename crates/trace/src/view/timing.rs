//! When packets left the client and arrived there, if they were seen elsewhere.
//!
//! At least half of the shortest round trip passes in between. What a line or a radio adds shows in
//! two witnesses: the client's own clock in its timestamps (RFC 7323), and the acknowledgements
//! that it must not delay (RFC 5681 §4.2).

use super::lost::Lost;
use super::mss;
use crate::segment::{SeenSegment, Side};
use crate::tcp::TcpFlow;
use crate::vantage::Vantage;

/// In nanoseconds: the ticks of timestamps, in ascending order.
pub(super) const TICKS: [u64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];
/// In nanoseconds: how long a sender must be seen before its ticks are recognised, and how long two
/// clocks agree to a tick.
pub(super) const MIN_SEEN: u64 = 15_000_000;
const MAX_AGREEING: u64 = 5_000_000_000;
/// How far the time by ticks may differ from the time in the capture, as a share; at least one tick
/// is allowed.
pub(super) const NEAR: f64 = 0.2;
/// In bytes: the headers of a segment with timestamps.
const HEADERS: u64 = 52;
/// In nanoseconds: the shortest delayed acknowledgement (RFC 1122 §4.2.3.2) on Linux, less a tick.
const MIN_DELAYED_ACK: u64 = 36_000_000;
/// The number of acknowledgements, each of at most a segment, that show a slow line.
const MIN_SOON: usize = 3;
/// In nanoseconds per byte: lines that are faster than this (12 Mbit/s) are ignored, because they
/// add too little.
const MIN_PACE: f64 = 700.0;
/// How closely a line with one rate must explain all acknowledgements: in nanoseconds, and as a
/// share.
const FITS: f64 = 4e6;
const FITS_SHARE: f64 = 0.25;

/// The time of each segment at the client, in the order of the flow's sights.
pub(super) fn at_client(flow: &TcpFlow, vantage: &Vantage, lost: &Lost) -> Vec<u64> {
    let distance = vantage.distance();
    let sights = &flow.sights;
    let mut times: Vec<u64> = sights
        .iter()
        .map(|sight| match sight.from {
            Side::Client => sight.at.saturating_sub(distance),
            Side::Server => sight.at.saturating_add(distance),
        })
        .collect();
    if distance == 0 {
        return times;
    }
    if let Some(tick) = tick(sights) {
        let floors = floors(flow, &times, lost);
        by_own_clock(sights, tick, &floors, &mut times);
    }
    let latest = latest(flow, &times, lost);
    by_line(flow, &latest, &mut times);
    // Data that the client acknowledged had arrived.
    for ((time, latest), sight) in times.iter_mut().zip(latest).zip(sights) {
        *time = latest.max(sight.at).min(*time);
    }
    times
}

/// The segments of the client with timestamps: their index and its clock.
fn stamped(sights: &[SeenSegment]) -> impl DoubleEndedIterator<Item = (usize, u32)> {
    let all = sights.iter().enumerate();
    all.filter(|(_, sight)| sight.from == Side::Client)
        .filter_map(|(index, sight)| Some((index, sight.stamps?.0)))
}

/// The length of a tick of the client's timestamps, in nanoseconds: the shortest with which the
/// clock agrees with the time that was seen between two segments, and is ahead of none. A queue
/// only makes segments late, so that a clock with shorter ticks agrees with none of them; but the
/// first packet may itself be the late one.
fn tick(sights: &[SeenSegment]) -> Option<u64> {
    let at = |index: usize| sights.get(index).map(|sight| sight.at);
    let agrees = |tick: u64, (first, clock): (usize, u32)| {
        let mut any = false;
        for (index, later) in stamped(sights).skip_while(|(index, _)| *index <= first) {
            let seen = at(index)?.saturating_sub(at(first)?);
            let ticks = u64::try_from(later.wrapping_sub(clock).cast_signed()).ok()?;
            let counted = ticks.saturating_mul(tick) as f64;
            let near = (NEAR * seen as f64).max(tick as f64);
            if counted > seen as f64 + near {
                return None;
            }
            any |= seen >= MIN_SEEN && counted >= seen as f64 - near;
        }
        any.then_some(())
    };
    let is_tick = |tick: &u64| {
        let mut bases = stamped(sights).take(2);
        bases.any(|base| agrees(*tick, base).is_some())
    };
    TICKS.into_iter().find(is_tick)
}

/// For each segment of the client, the earliest time at which the data that it acknowledges can
/// have arrived: the segment left later.
fn floors(flow: &TcpFlow, times: &[u64], lost: &Lost) -> Vec<u64> {
    let mut floors = Vec::with_capacity(times.len());
    // The ends of the server's data in the stream, and when the first copy can have come.
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut came = 0;
    for (sight, time) in flow.sights.iter().zip(times) {
        if sight.from == Side::Server {
            let at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
            let end = flow
                .place(Side::Server, at)
                .map(|at| at + u64::from(sight.length));
            let is_new = |end: &u64| open.last().is_none_or(|(last, _)| *end > *last);
            if let Some(end) = end.filter(|end| is_new(end) && !lost.is_part_of(sight)) {
                open.push((end, *time));
            }
        } else if let Some(end) = flow.acknowledged(sight) {
            let done = open.partition_point(|(until, _)| *until <= end);
            let newest = done.checked_sub(1).and_then(|newest| open.get(newest));
            came = newest.map_or(came, |(_, time)| came.max(*time));
        }
        floors.push(came);
    }
    floors
}

/// Lowers the departure of each segment to the latest that its sender's clock allows, judged by the
/// segments before and after it.
fn by_own_clock(sights: &[SeenSegment], tick: u64, floors: &[u64], times: &mut [u64]) {
    let all: Vec<(usize, u32)> = stamped(sights).collect();
    let lower = |times: &mut [u64], index: usize, bound: u64| {
        if let Some(time) = times.get_mut(index) {
            *time = (*time).min(bound.max(floors.get(index).copied().unwrap_or(0)));
        }
    };
    let pairs = || {
        all.windows(2)
            .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
    };
    let between = |one: u32, next: u32| -> Option<u64> {
        let ticks = u64::try_from(next.wrapping_sub(one).cast_signed()).ok()?;
        let took = ticks.checked_mul(tick)?;
        (took <= MAX_AGREEING).then_some(took)
    };
    for ((one, before), (next, clock)) in pairs() {
        let (Some(took), Some(left)) = (between(before, clock), times.get(one).copied()) else {
            continue;
        };
        lower(times, next, left + took + tick);
    }
    let backwards: Vec<_> = pairs().collect();
    for ((one, clock), (next, after)) in backwards.into_iter().rev() {
        let (Some(took), Some(left)) = (between(clock, after), times.get(next).copied()) else {
            continue;
        };
        // Within a tick, segments left in the order in which they came.
        lower(times, one, left.saturating_sub(took.saturating_sub(tick)));
    }
}

/// Segments that were acknowledged together: the index of the last one, the bytes of its flight up
/// to it, with headers, and the time at which it must have arrived.
struct Acknowledged {
    last: usize,
    bytes: u64,
    arrived: u64,
}

/// Data of the server arrives later where a slow line carries it.
fn by_line(flow: &TcpFlow, latest: &[u64], times: &mut [u64]) {
    let Some(all) = acknowledged(flow, times) else {
        return;
    };
    let late = |one: &Acknowledged| {
        let time = times.get(one.last).copied().unwrap_or(one.arrived);
        one.arrived.saturating_sub(time) as f64
    };
    // A line that was idle at the beginning of a flight, and one that is kept busy: its bytes are
    // acknowledged at its pace, however much already waits for it.
    let idle = all.iter().map(|one| late(one) / one.bytes as f64);
    let busy = all.windows(2).filter_map(|pair| {
        let [before, one] = pair else { return None };
        let bytes = one.bytes.checked_sub(before.bytes).filter(|n| *n > 0)?;
        Some(one.arrived.saturating_sub(before.arrived) as f64 / bytes as f64)
    });
    let paces = [middle(idle.collect()), middle(busy.collect())];
    let paces = paces.into_iter().flatten().filter(|pace| *pace >= MIN_PACE);
    let tried = paces.map(|pace| {
        let carried = carried(flow, times, pace);
        let apart = |one: &Acknowledged| {
            let expected = carried.get(one.last).copied().unwrap_or(0);
            expected.abs_diff(one.arrived)
        };
        let fits = |one: &&Acknowledged| apart(one) as f64 <= FITS.max(FITS_SHARE * late(one));
        let fits = all.iter().filter(fits).count();
        let error: u64 = all.iter().map(apart).sum();
        (fits, error, carried, pace)
    });
    let Some((fits, _, carried, pace)) = tried.min_by_key(|(_, error, ..)| *error) else {
        return;
    };
    if 2 * fits <= all.len() {
        return;
    }
    // The line delivers a segment as long before the next one as it needs for that.
    let mut next = u64::MAX;
    let all = times.iter_mut().zip(carried).zip(latest).zip(&flow.sights);
    for (((time, carried), latest), sight) in all.rev() {
        if sight.from == Side::Server && is_data(sight) {
            *time = carried.min(*latest).min(next).max(*time);
            next = time.saturating_sub(needed(pace, sight));
        }
    }
}

/// How long a line needs for a segment, in nanoseconds.
fn needed(pace: f64, sight: &SeenSegment) -> u64 {
    (pace * (u64::from(sight.length) + HEADERS) as f64) as u64
}

fn middle(mut all: Vec<f64>) -> Option<f64> {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// The acknowledgements without data that the client did not delay, for data that was sent once.
/// These are acknowledgements of more than a full segment, and those that follow another one sooner
/// than any delay could end, so the data that they acknowledge arrived in between. `None` if there
/// are none.
fn acknowledged(flow: &TcpFlow, times: &[u64]) -> Option<Vec<Acknowledged>> {
    let full = u64::from(mss(flow).max(1));
    // Segments in flight: index, end in the stream, and the bytes of the flight up to it.
    let mut open: Vec<(usize, u64, u64)> = Vec::new();
    let (mut highest, mut flight, mut known) = (0, 0, 0);
    let mut acknowledged_at: Option<u64> = None;
    // The end of what was in flight at a retransmission: until more has arrived, acknowledgements
    // say nothing about the line.
    let mut unclear = 0;
    // A host that was busy is late once, with a few of them; a line is with each.
    let mut has_several = false;
    let mut all = Vec::new();
    for (index, sight) in flow.sights.iter().enumerate() {
        if sight.from == Side::Server {
            let Some(start) = flow
                .place(Side::Server, sight.sequence)
                .filter(|_| is_data(sight))
            else {
                continue;
            };
            let end = start + u64::from(sight.length);
            if start < highest {
                unclear = highest;
                continue;
            }
            if open.is_empty() {
                flight = 0;
            }
            flight += u64::from(sight.length) + HEADERS;
            highest = end;
            open.push((index, end, flight));
            continue;
        }
        let Some(end) = flow.acknowledged(sight).filter(|end| *end > known) else {
            continue;
        };
        let before = std::mem::replace(&mut known, end);
        let last_time = acknowledged_at.replace(sight.at);
        let is_soon = last_time.is_some_and(|last| sight.at.saturating_sub(last) < MIN_DELAYED_ACK);
        let is_at_once = is_soon || end - before > full;
        let done = open.partition_point(|(_, until, _)| *until <= end);
        let Some((last, _, bytes)) = open.drain(..done).next_back() else {
            continue;
        };
        let is_plain = sight.length == 0 && !sight.is_fin() && !sight.is_reset();
        if is_plain && is_at_once && before >= unclear {
            has_several |= end - before > full;
            let arrived = times.get(index).copied()?;
            all.push(Acknowledged {
                last,
                bytes,
                arrived,
            });
        }
    }
    (has_several || all.len() >= MIN_SOON).then_some(all)
}

fn is_data(sight: &SeenSegment) -> bool {
    sight.length > 0 && !sight.is_syn()
}

/// When each segment of the server arrives over a line that needs `pace` nanoseconds for a byte.
fn carried(flow: &TcpFlow, times: &[u64], pace: f64) -> Vec<u64> {
    let mut free = 0;
    let all = flow.sights.iter().zip(times);
    all.map(|(sight, time)| {
        if sight.from == Side::Client || !is_data(sight) {
            return *time;
        }
        free = free.max(*time) + needed(pace, sight);
        free
    })
    .collect()
}

/// For each segment of the server, the time of the client's first segment that acknowledges it: it
/// had arrived by then.
fn latest(flow: &TcpFlow, times: &[u64], lost: &Lost) -> Vec<u64> {
    let mut latest = vec![u64::MAX; times.len()];
    let mut open: Vec<(usize, u64)> = Vec::new();
    for ((index, sight), time) in flow.sights.iter().enumerate().zip(times) {
        if sight.from == Side::Server {
            let start = flow.place(Side::Server, sight.sequence);
            let end = start.map(|start| start + u64::from(sight.length));
            let is_new = |end: &u64| open.last().is_none_or(|(_, last)| *end > *last);
            let is_counted = is_data(sight) && !lost.is_part_of(sight);
            if let Some(end) = end.filter(|end| is_counted && is_new(end)) {
                open.push((index, end));
            }
        } else if let Some(end) = flow.acknowledged(sight) {
            let done = open.partition_point(|(_, until)| *until <= end);
            for (index, _) in open.drain(..done) {
                if let Some(latest) = latest.get_mut(index) {
                    *latest = *time;
                }
            }
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundtrip_wire::packet::Flags;

    #[test]
    fn segments_of_one_tick_leave_in_their_order() {
        const MS: u64 = 1_000_000;
        let sight = |at: u64, clock: u32| SeenSegment {
            frame: 1,
            at: at * MS,
            from: Side::Client,
            sequence: 0,
            acknowledgment: 0,
            flags: Flags::ACK,
            length: 10,
            window: 1,
            is_duplicate_sack: false,
            stamps: Some((clock, 0)),
            hop_limit: 64,
            congested: false,
            id: 0,
            label: 0,
            way: None,
        };
        // The last one shows that the one before left early.
        let sights = [sight(100, 20), sight(100, 20), sight(101, 32)];
        let mut times = vec![100 * MS, 100 * MS, 101 * MS];
        by_own_clock(&sights, MS, &[0; 3], &mut times);
        assert_eq!(times, [90 * MS, 90 * MS, 101 * MS]);
    }
}
