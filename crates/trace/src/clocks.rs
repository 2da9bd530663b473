//! Two captures of the same packets: which one is nearer to the clients, how far one clock is ahead
//! of the other, and how that drifts.
//!
//! A packet is recognised by its sequence numbers and timestamps, so that translated addresses do
//! not matter. Packets in either direction take at least the time of the path; half of the
//! difference between the shortest times of both directions is the offset, if the path is equally
//! long both ways.

use std::collections::HashMap;

use roundtrip_wire::link::ip_packet;
use roundtrip_wire::packet::{Flags, OptionValue, Packet, Tcp};
use roundtrip_wire::pcapng::Captured;

use crate::tcp::TcpFlow;

/// The number of packets whose times are remembered.
const MAX_MARKS: usize = 400_000;
/// The number of parts of the captures that are compared; each gives one offset.
const PARTS: usize = 64;
/// The shortest part, in nanoseconds.
const MIN_PART: u64 = 20_000_000;
/// The shortest time, in nanoseconds, within which clocks drift measurably.
const MIN_DRIFT_SPAN: u64 = 10_000_000_000;

/// The values that distinguish a packet from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    from_client: bool,
    sequence: u32,
    acknowledgment: u32,
    stamps: (u32, u32),
    length: usize,
    flags: u8,
}

impl Mark {
    fn from_tcp(tcp: &Tcp<'_>) -> Self {
        let stamps = tcp.options().find_map(|option| match option.value {
            OptionValue::Timestamps { value, echo } => Some((value, echo)),
            _ => None,
        });
        let flags = [Flags::SYN, Flags::FIN, Flags::RST];
        let flags = flags
            .iter()
            .map(|flag| u8::from(tcp.flags().contains(*flag)));
        Self {
            from_client: TcpFlow::client_sent(tcp),
            sequence: tcp.sequence(),
            acknowledgment: tcp.acknowledgment(),
            stamps: stamps.unwrap_or_default(),
            length: tcp.payload_length(),
            flags: flags.fold(0, |all, flag| all << 1 | flag),
        }
    }
}

/// The times of packets in two captures.
#[derive(Debug, Default)]
pub struct Clocks {
    /// The time of each packet in either capture.
    seen: HashMap<Mark, [Time; 2]>,
    /// When each capture began and ended.
    spans: [Option<(u64, u64)>; 2],
}

#[derive(Debug, Clone, Copy, Default)]
enum Time {
    #[default]
    Never,
    At(u64),
    /// The capture has the packet more than once, and nothing shows which one the other capture
    /// has.
    Twice,
}

/// How the times of two captures relate. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockRelation {
    /// The first capture is nearer to the clients.
    pub first_is_near: bool,
    /// How far the clock of the farther capture is ahead at its own time `at`.
    pub ahead: f64,
    pub at: u64,
    /// How much this grows per nanosecond.
    pub drift: f64,
    /// The shortest round trip between the places of the captures; the offset is accurate to half
    /// of it, and exact if the path is equally long in both directions.
    pub between: u64,
    /// The number of packets that both captures have.
    pub packets: usize,
    /// When the nearer and the farther capture began and ended, in the clock of the nearer one.
    pub spans: [(u64, u64); 2],
}

impl ClockRelation {
    /// Converts a time of the farther capture to the clock of the nearer one.
    pub fn moved(&self, at: u64) -> u64 {
        let since = i128::from(at) - i128::from(self.at);
        let ahead = self.ahead + self.drift * since as f64;
        u64::try_from(i128::from(at) - ahead.round() as i128).unwrap_or(0)
    }
}

impl Clocks {
    /// Records a packet of the first capture, or of the second (1).
    pub fn note(&mut self, capture: usize, captured: &Captured<'_>) {
        let Some(at) = captured.time else { return };
        if let Some(span) = self.spans.get_mut(capture) {
            let (first, last) = span.unwrap_or((at, at));
            *span = Some((first.min(at), last.max(at)));
        }
        let Some(inner) = ip_packet(captured.link, &captured.data) else {
            return;
        };
        let Some(tcp) = Packet::parse(inner.packet)
            .ok()
            .and_then(|packet| packet.tcp())
        else {
            return;
        };
        let mark = Mark::from_tcp(&tcp);
        if capture > 0 || self.seen.len() >= MAX_MARKS {
            // A packet that only one capture has does not help.
            if let Some(times) = self.seen.get_mut(&mark) {
                add(times, capture, at);
            }
        } else {
            add(self.seen.entry(mark).or_default(), capture, at);
        }
    }

    /// How the captures relate; `None` if they have too few packets in common, in either direction.
    pub fn relation(&self) -> Option<ClockRelation> {
        // For each direction, starting with the client's: the time in the second capture, and how
        // far that is ahead of the time in the first.
        let mut apart: [Vec<(u64, i128)>; 2] = Default::default();
        for (mark, times) in &self.seen {
            if let [Time::At(first), Time::At(second)] = times {
                let ahead = i128::from(*second) - i128::from(*first);
                apart[usize::from(!mark.from_client)].push((*second, ahead));
            }
        }
        let [up, down] = &mut apart;
        let packets = up.len() + down.len();
        // The client's packets are later at the farther place, by the offset of the clocks and the
        // path.
        let first_is_near = middle(up)? >= middle(down)?;
        if !first_is_near {
            for (at, ahead) in up.iter_mut().chain(down.iter_mut()) {
                *at = u64::try_from(i128::from(*at) - *ahead).unwrap_or(0);
                *ahead = -*ahead;
            }
        }
        let (ahead, at, drift, between) = fit(up, down)?;
        let [first, second] = self.spans;
        let (near, far) = if first_is_near {
            (first?, second?)
        } else {
            (second?, first?)
        };
        let mut relation = ClockRelation {
            first_is_near,
            ahead,
            at,
            drift,
            between,
            packets,
            spans: [near, far],
        };
        relation.spans[1] = (relation.moved(far.0), relation.moved(far.1));
        Some(relation)
    }
}

fn add(times: &mut [Time; 2], capture: usize, at: u64) {
    if let Some(time) = times.get_mut(capture) {
        *time = match time {
            Time::Never => Time::At(at),
            Time::At(_) | Time::Twice => Time::Twice,
        };
    }
}

fn middle(apart: &mut [(u64, i128)]) -> Option<i128> {
    let at = apart.len() / 2;
    if apart.is_empty() {
        return None;
    }
    let (_, middle, _) = apart.select_nth_unstable_by_key(at, |(_, ahead)| *ahead);
    Some(middle.1)
}

/// A line through the offsets of parts of the time: the offset, where it holds, the slope, and the
/// shortest round trip.
fn fit(up: &[(u64, i128)], down: &[(u64, i128)]) -> Option<(f64, u64, f64, u64)> {
    let all = || up.iter().chain(down).map(|(at, _)| *at);
    let (begin, end) = (all().min()?, all().max()?);
    let length = ((end - begin) / PARTS as u64).max(MIN_PART);
    let part = |at: u64| usize::try_from((at - begin) / length).unwrap_or(0);
    // The shortest in each direction, and its time: from the client, and to it with the sign
    // reversed.
    let mut parts = vec![[None::<(i128, u64)>; 2]; part(end) + 1];
    let signed = |sign: i128, list: &[(u64, i128)]| -> Vec<(u64, i128)> {
        list.iter().map(|(at, ahead)| (*at, sign * ahead)).collect()
    };
    for (direction, list) in [signed(1, up), signed(-1, down)].iter().enumerate() {
        for (at, apart) in list {
            if let Some(shortest) = parts.get_mut(part(*at)).and_then(|p| p.get_mut(direction))
                && shortest.is_none_or(|(least, _)| *apart < least)
            {
                *shortest = Some((*apart, *at));
            }
        }
    }
    // The time, the offset, and the round trip.
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for both in parts {
        if let [Some((up, at)), Some((down, other))] = both {
            let at = u64::midpoint(at, other) - begin;
            points.push((at as f64, (up - down) as f64 / 2.0, (up + down) as f64));
        }
    }
    // If no part has packets in both directions, everything is one part.
    if points.is_empty() {
        let up = up.iter().map(|(_, ahead)| *ahead).min()?;
        let down = down.iter().map(|(_, ahead)| -*ahead).min()?;
        points.push((0.0, (up - down) as f64 / 2.0, (up + down) as f64));
    }
    let between = points
        .iter()
        .map(|(.., trip)| *trip)
        .fold(f64::MAX, f64::min);
    // Parts with longer path times have less weight.
    let weight =
        |trip: f64| 1.0 / (1.0 + (trip - between) / (0.01 * between.abs()).max(50_000.0)).powi(2);
    let sums = points
        .iter()
        .fold([0.0; 3], |[w, x, y], (at, ahead, trip)| {
            let weight = weight(*trip);
            [w + weight, x + weight * at, y + weight * ahead]
        });
    let (x, y) = (sums[1] / sums[0], sums[2] / sums[0]);
    let (mut above, mut below) = (0.0, 0.0);
    for (at, ahead, trip) in &points {
        let weight = weight(*trip);
        above += weight * (at - x) * (ahead - y);
        below += weight * (at - x).powi(2);
    }
    let drift = if below > 0.0 && end - begin >= MIN_DRIFT_SPAN {
        above / below
    } else {
        0.0
    };
    let between = between.max(0.0).round() as u64;
    Some((y, begin + x.round() as u64, drift, between))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets both ways, each later than the path takes; the second clock is ahead and drifts.
    fn times(near_first: bool) -> ([Vec<(u64, i128)>; 2], f64, f64) {
        let (offset, drift) = (-3.7e9, 120e-6);
        let mut both: [Vec<(u64, i128)>; 2] = Default::default();
        for n in 0..2000_u64 {
            let left = 1_700_000_000_000_000_000 + n * 10_000_000;
            let from_client = n % 2 == 0;
            let queued = (n * 7919 % 101) * 30_000;
            let path = (20_000_000 + queued).cast_signed();
            let path = if from_client == near_first {
                path
            } else {
                -path
            };
            let there = left.cast_signed() + path;
            let ahead = offset + drift * (there - 1_700_000_000_000_000_000) as f64;
            let second = there + ahead as i64;
            let ahead = i128::from(second) - i128::from(left);
            both[usize::from(!from_client)].push((second as u64, ahead));
        }
        (both, offset, drift)
    }

    #[test]
    fn offset_and_drift_are_found_through_queues() {
        let ([up, down], offset, drift) = times(true);
        let (ahead, at, slope, between) = fit(&up, &down).unwrap();
        // The time by the second clock.
        let since = at as f64 - 1_700_000_000_000_000_000.0 - offset;
        let expected = offset + drift * since;
        assert!((ahead - expected).abs() < 500_000.0, "{ahead} {expected}");
        assert!((slope - drift).abs() < 20e-6, "{slope}");
        assert!((40_000_000..41_500_000).contains(&between), "{between}");
    }

    #[test]
    fn what_is_nearer_to_the_client_is_not_guessed() {
        for near_first in [true, false] {
            let ([mut up, mut down], ..) = times(near_first);
            let is_near = middle(&mut up).unwrap() >= middle(&mut down).unwrap();
            assert_eq!(is_near, near_first);
        }
    }
}
