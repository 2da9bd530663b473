//! Where a connection was seen from, and how long the path is on either side of that place.
//!
//! The handshake decides first: near the client, its acknowledgement follows the SYN-ACK at once;
//! near the server, the SYN-ACK follows the SYN at once. The capturing host's own record of
//! directions, and hop limits that no router has reduced, confirm this, or decide if the handshake
//! cannot.

use std::collections::VecDeque;
use std::time::Duration;

use roundtrip_wire::link::LinkDirection;

use crate::segment::{SeenSegment, Side};
use crate::tcp::TcpFlow;

/// The longest time in nanoseconds that a host itself needs to acknowledge: a kernel (TCP), and a
/// program (QUIC).
const AT_ONCE: u64 = 200_000;
pub(crate) const AT_ONCE_QUIC: u64 = 300_000;
/// If both halves of a short path are at least this long (in nanoseconds) and this similar (as a
/// ratio), neither is a host's own delay.
const NOT_AT_HOME: u64 = 100_000;
const ALIKE: u64 = 3;
/// One half of the path must be this many times as long as the other to decide anything.
const CLEARLY: u64 = 5;
/// If one round trip is shorter than this share of another, different hosts answered.
const SAME: f64 = 0.8;
/// If a host is slow, one half of the path may be shorter than the other by this factor.
const SLOW_HOST: u64 = 20;
/// The number of hops from which on an end is far: if no hop is before the other end, the capture
/// was made in that other end's network.
const FAR: u8 = 4;
/// The delay of a slow host varies. If at least this many acknowledgements are about as late as the
/// soonest one, a path delays them, such as an emulated link.
const STEADY: usize = 4;
const AS_LATE: f64 = 0.1;
/// The hop limits that systems use when they send.
const FRESH: [u8; 4] = [64, 128, 255, 32];

/// Where the capture was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VantagePoint {
    Client,
    Server,
    Middle,
    /// The place is unknown; the capture is read as if it had been made at the client.
    Unknown,
}

impl VantagePoint {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Middle => "middle",
            Self::Unknown => "unknown",
        }
    }
}

/// The place that a connection was seen from.
#[derive(Debug, Clone, PartialEq)]
pub struct Vantage {
    pub place: VantagePoint,
    /// The evidence for the place.
    pub evidence: Vec<String>,
    /// The shortest round trips from here to the client and to the server, if they could be
    /// measured.
    pub to_client: Option<Duration>,
    pub to_server: Option<Duration>,
}

impl Vantage {
    pub(crate) fn from_flow(flow: &TcpFlow) -> Self {
        let (halves, steady) = halves(flow);
        let hops = hops(&flow.sights);
        Self::decide((halves, steady), AT_ONCE, hints(&flow.sights), hops)
    }

    /// The halves: to the client and to the server, in nanoseconds, and whether either is steady;
    /// `at_once`: what a host itself may need of that.
    pub(crate) fn decide(
        ((to_client, to_server), steady): ((Option<u64>, Option<u64>), [bool; 2]),
        at_once: u64,
        hint: Option<VantagePoint>,
        hops: Option<(u8, u8)>,
    ) -> Self {
        let mut votes: Vec<(VantagePoint, u32, String)> = Vec::new();
        if let Some(place) = hint {
            let why = "the capturing host says which packets it sent";
            votes.push((place, 3, why.into()));
        }
        if let (Some(client), Some(server)) = (to_client, to_server) {
            let place = near(client, server, at_once);
            let why = format!(
                "the client acknowledges {}, the server {}",
                delay(client),
                delay(server)
            );
            let weight = if place == VantagePoint::Unknown { 0 } else { 2 };
            votes.push((place, weight, why));
        }
        if let Some((client, server)) = hops {
            let fresh = |hops: u8| FRESH.contains(&hops);
            let why = format!("hop limits are {client} from the client, {server} from the server");
            let vote = match (fresh(client), fresh(server)) {
                (true, false) => Some(VantagePoint::Client),
                (false, true) => Some(VantagePoint::Server),
                (false, false) => Some(VantagePoint::Middle),
                (true, true) => None,
            };
            let worn = |hops: u8| {
                let fresh = FRESH.into_iter().filter(|fresh| *fresh >= hops).min();
                fresh.map_or(0, |fresh| fresh - hops)
            };
            // Behind a NAT on the client's own host, both hop limits are lowered, too.
            let apart = worn(client).abs_diff(worn(server)) >= FAR;
            let is_end = match vote {
                Some(VantagePoint::Client) => !steady[Side::Client.index()],
                Some(VantagePoint::Server) => !steady[Side::Server.index()],
                _ => false,
            };
            let weight = if apart && is_end { 3 } else { 1 };
            votes.extend(vote.map(|place| (place, weight, why)));
        }
        let weight = |place: VantagePoint| -> u32 {
            let votes = votes.iter().filter(|(p, ..)| *p == place);
            votes.map(|(_, weight, _)| weight).sum()
        };
        let order = [
            VantagePoint::Client,
            VantagePoint::Server,
            VantagePoint::Middle,
        ];
        let best = order
            .into_iter()
            .max_by_key(|place| (weight(*place), *place == VantagePoint::Client));
        let place = best
            .filter(|place| weight(*place) > 0)
            .unwrap_or(VantagePoint::Unknown);
        let evidence = votes
            .into_iter()
            .filter(|(p, ..)| *p == place || place == VantagePoint::Unknown);
        Self {
            place,
            evidence: evidence.map(|(_, _, why)| why).collect(),
            to_client: to_client.map(Duration::from_nanos),
            to_server: to_server.map(Duration::from_nanos),
        }
    }

    /// If the connection does not show where it was seen from, another one between the same hosts
    /// does.
    #[must_use]
    pub(crate) fn or_as(self, other: Option<&Self>) -> Self {
        match other.filter(|_| self.place == VantagePoint::Unknown) {
            Some(other) => Self {
                place: other.place,
                evidence: vec!["as another connection between these hosts".into()],
                to_client: self.to_client.or(other.to_client),
                to_server: self.to_server.or(other.to_server),
            },
            None => self,
        }
    }

    /// The path's round trip, from the client's side.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        match self.place {
            VantagePoint::Client | VantagePoint::Unknown => self.to_server,
            VantagePoint::Server | VantagePoint::Middle => Some(self.to_server? + self.to_client?),
        }
    }

    /// How long a packet takes from the client to the capture, in nanoseconds.
    pub(crate) fn distance(&self) -> u64 {
        let half = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(0) / 2;
        match self.place {
            VantagePoint::Client | VantagePoint::Unknown => 0,
            VantagePoint::Server | VantagePoint::Middle => self.to_client.map_or(0, half),
        }
    }
}

fn near(client: u64, server: u64, at_once: u64) -> VantagePoint {
    let close = |here: u64, there: u64| {
        (here <= at_once && here.saturating_mul(CLEARLY) <= there)
            || here.saturating_mul(SLOW_HOST) <= there
    };
    if close(client, server) {
        VantagePoint::Client
    } else if close(server, client) {
        VantagePoint::Server
    } else if (client > at_once && server > at_once)
        || (client.min(server) >= NOT_AT_HOME && client.max(server) <= client.min(server) * ALIKE)
    {
        VantagePoint::Middle
    } else {
        VantagePoint::Unknown
    }
}

fn delay(nanoseconds: u64) -> String {
    match nanoseconds as f64 / 1e6 {
        ..0.005 => "at once".into(),
        ms @ ..10.0 => format!("within {ms:.2} ms"),
        ms => format!("within {ms:.0} ms"),
    }
}

/// The capturing host's record of whose packets it sent.
fn hints(sights: &[SeenSegment]) -> Option<VantagePoint> {
    let mut place = None;
    for sight in sights {
        let vote =
            match (sight.from, sight.way?) {
                (Side::Client, LinkDirection::Outgoing)
                | (Side::Server, LinkDirection::Incoming) => VantagePoint::Client,
                (Side::Client, LinkDirection::Incoming)
                | (Side::Server, LinkDirection::Outgoing) => VantagePoint::Server,
            };
        // A router sees each packet arrive and leave.
        if place.is_some_and(|place| place != vote) {
            return None;
        }
        place = Some(vote);
    }
    place
}

/// The hop limits of the client's and the server's packets, if each has only one.
fn hops(sights: &[SeenSegment]) -> Option<(u8, u8)> {
    let one = |side: Side| {
        let mut limits = sights
            .iter()
            .filter(|s| s.from == side)
            .map(|s| s.hop_limit);
        let first = limits.next()?;
        limits.all(|limit| limit == first).then_some(first)
    };
    Some((one(Side::Client)?, one(Side::Server)?))
}

/// The shortest round trips from here to the client and to the server, in nanoseconds, and whether
/// many take as long.
fn halves(flow: &TcpFlow) -> ((Option<u64>, Option<u64>), [bool; 2]) {
    let mut all: [Vec<u64>; 2] = Default::default();
    let mut shortest: [Option<u64>; 2] = [None, None];
    let mut handshake: [Option<u64>; 2] = [None, None];
    let mut waiting: [WaitingData; 2] = Default::default();
    for sight in &flow.sights {
        let side = sight.from;
        if let Some(end) = flow.acknowledged(sight) {
            let newest = waiting[side.other().index()].acknowledged(end);
            if let Some(at) = newest.and_then(|newest| newest.left(sight)) {
                let took = sight.at.saturating_sub(at);
                handshake[side.index()].get_or_insert(took);
                all[side.index()].push(took);
                let best = &mut shortest[side.index()];
                *best = Some(best.map_or(took, |b: u64| b.min(took)));
            }
        }
        let takes = u64::from(sight.length);
        let Some(start) = flow.place(side, sight.sequence.wrapping_add(u32::from(sight.is_syn())))
        else {
            continue;
        };
        let open = &mut waiting[side.index()];
        if sight.is_syn() || takes > 0 {
            let end = if sight.is_syn() { 0 } else { start + takes };
            open.sent(start, end, sight);
        }
    }
    let steady = [0, 1].map(|side| {
        let most = shortest[side].map_or(0, |best| best + (AS_LATE * best as f64) as u64);
        let as_late = all[side].iter().filter(|took| **took <= most);
        most > AT_ONCE && as_late.count() >= STEADY
    });
    // A nearby NAT or proxy acknowledges data itself, and only the handshake crosses the path. But
    // a server that answered clearly sooner than this is nearer: its SYN-ACK was late.
    let answered = [None, first_answer(&flow.sights)];
    if flow.syn.is_some() {
        for ((best, first), answered) in shortest.iter_mut().zip(handshake).zip(answered) {
            let nearby = |best: u64| best <= AT_ONCE * CLEARLY;
            if let (Some(took), Some(first)) = (*best, first)
                && nearby(took)
                && answered.is_none_or(|answered| answered as f64 >= SAME * first as f64)
                && took.saturating_mul(SLOW_HOST) <= first
                && first > AT_ONCE * SLOW_HOST
            {
                *best = Some(first);
            }
        }
    }
    // The client's acknowledgements measure the half between here and the client.
    let [to_client, to_server] = shortest;
    ((to_client, to_server), steady)
}

/// Data of one side that has not been acknowledged.
#[derive(Default)]
struct WaitingData {
    /// The waiting data, in the order of its ends.
    open: VecDeque<Waiting>,
    /// The number of segments so far.
    segments: u64,
    /// Where the repeated segments began, in ascending order. Each replaces earlier ones that began
    /// at the same place or later.
    again: Vec<(u64, SentCopy)>,
}

/// A copy of a segment: which segment of its side it was, when it was seen, and the sender's clock
/// in it.
#[derive(Clone, Copy)]
struct SentCopy {
    number: u64,
    at: u64,
    clock: Option<u32>,
}

impl WaitingData {
    fn sent(&mut self, start: u64, end: u64, sight: &SeenSegment) {
        self.segments += 1;
        let copy = SentCopy {
            number: self.segments,
            at: sight.at,
            clock: sight.stamps.map(|(clock, _)| clock),
        };
        if self.open.back().is_none_or(|last| last.end < end) {
            let (first, last) = (copy, None);
            self.open.push_back(Waiting { end, first, last });
        } else {
            // It may fill a hole before those that follow it.
            while self.again.pop_if(|(other, _)| *other >= start).is_some() {}
            self.again.push((start, copy));
        }
    }

    /// Removes what was acknowledged up to `end`, and returns its last segment.
    fn acknowledged(&mut self, end: u64) -> Option<Waiting> {
        let mut newest = None;
        while let Some(first) = self.open.pop_front_if(|first| first.end <= end) {
            newest = Some(first);
        }
        let mut newest = newest?;
        let before = self
            .again
            .partition_point(|(start, _)| *start < newest.end.max(1));
        let last = before.checked_sub(1).and_then(|last| self.again.get(last));
        newest.last = last.map(|(_, copy)| *copy);
        newest.last = newest.last.filter(|last| last.number > newest.first.number);
        if self.open.is_empty() {
            self.again.clear();
        }
        Some(newest)
    }
}

struct Waiting {
    end: u64,
    /// The only or first copy, and the last.
    first: SentCopy,
    last: Option<SentCopy>,
}

impl Waiting {
    /// When the segment that this acknowledges was seen. If it was sent again, the acknowledgement
    /// may be for either copy (Karn's rule), unless the echoed timestamp is that of one of them
    /// (RFC 7323 §4).
    fn left(&self, acknowledgement: &SeenSegment) -> Option<u64> {
        let Some(last) = self.last else {
            return Some(self.first.at);
        };
        let echo = acknowledgement.stamps.map(|(_, echo)| echo)?;
        (last.clock == Some(echo) && self.first.clock != last.clock).then_some(last.at)
    }
}

/// How long after the client's first data the server's first data came, in nanoseconds; `None` if
/// the server spoke first.
fn first_answer(sights: &[SeenSegment]) -> Option<u64> {
    let mut data = sights.iter().filter(|s| s.length > 0 && !s.is_syn());
    let asked = data.next().filter(|s| s.from == Side::Client)?;
    let answered = data.find(|s| s.from == Side::Server)?;
    Some(answered.at.saturating_sub(asked.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_rounds_to_nothing_is_at_once() {
        let told = [0, 4_999, 8_000, 9_500_000, 80_000_000].map(delay);
        let expected = [
            "at once",
            "at once",
            "within 0.01 ms",
            "within 9.50 ms",
            "within 80 ms",
        ];
        assert_eq!(told, expected);
    }

    const MS: u64 = 1_000_000;

    fn place(
        halves: (u64, u64),
        hint: Option<VantagePoint>,
        hops: Option<(u8, u8)>,
    ) -> VantagePoint {
        let halves = (Some(halves.0), Some(halves.1));
        Vantage::decide((halves, [false; 2]), AT_ONCE, hint, hops).place
    }

    #[test]
    fn the_nearer_end_answers_at_once() {
        assert_eq!(place((50_000, 40 * MS), None, None), VantagePoint::Client);
        assert_eq!(place((40 * MS, 50_000), None, None), VantagePoint::Server);
        assert_eq!(place((10 * MS, 30 * MS), None, None), VantagePoint::Middle);
        assert_eq!(place((MS / 4, MS / 3), None, None), VantagePoint::Middle);
        assert_eq!(place((MS / 4, 2 * MS), None, None), VantagePoint::Middle);
        assert_eq!(
            place((MS, 80 * MS), None, None),
            VantagePoint::Client,
            "a slow host"
        );
    }

    #[test]
    fn on_a_short_path_other_signs_decide() {
        assert_eq!(place((40_000, 60_000), None, None), VantagePoint::Unknown);
        assert_eq!(
            place((40_000, 60_000), None, Some((64, 57))),
            VantagePoint::Client
        );
        let hint = Some(VantagePoint::Server);
        assert_eq!(
            place((40_000, 60_000), hint, Some((64, 64))),
            VantagePoint::Server
        );
    }

    #[test]
    fn a_link_that_a_host_emulates_is_a_part_of_the_path() {
        let seen = |steady| {
            let halves = (Some(28 * MS), Some(2 * MS));
            Vantage::decide((halves, [steady, false]), AT_ONCE, None, Some((64, 248))).place
        };
        assert_eq!(seen(true), VantagePoint::Middle);
        assert_eq!(seen(false), VantagePoint::Client, "a slow host");
    }

    #[test]
    fn the_whole_path_is_both_halves() {
        let seen = |halves| Vantage::decide((halves, [false; 2]), AT_ONCE, None, None);
        let middle = seen((Some(10 * MS), Some(30 * MS)));
        assert_eq!(middle.rtt(), Some(Duration::from_millis(40)));
        assert_eq!(middle.distance(), 5 * MS);
        let client = seen((Some(50_000), Some(30 * MS)));
        assert_eq!(client.rtt(), Some(Duration::from_millis(30)));
        assert_eq!(client.distance(), 0);
    }
}
