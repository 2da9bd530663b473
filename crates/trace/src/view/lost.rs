//! Which of the data that was seen did not reach the client.

use std::collections::{BTreeMap, HashMap};

use super::mss;
use crate::segment::{SeenSegment, Side};
use crate::tcp::TcpFlow;
use crate::vantage::{Vantage, VantagePoint};

/// The shortest time in which an acknowledgement can arrive, as a share of the round trip to the
/// client.
const SOONEST: f64 = 0.8;
/// The number of earlier segments that a copy is compared with, and of copies that may be
/// unacknowledged at once.
const MAX_BEFORE: usize = 64;
const MAX_COPIES: usize = 4096;

/// The lost parts of segments, by frame: ranges in the server's stream.
#[derive(Debug, Default)]
pub(super) struct Lost {
    parts: HashMap<u64, Vec<(u64, u64)>>,
    /// SYN-ACKs that were lost.
    answers: Vec<u64>,
    /// The frame in which the client acknowledged the SYN-ACK, if some were lost.
    acknowledged: Option<u64>,
}

/// Data that was sent and is not acknowledged yet.
struct OpenData {
    end: u64,
    clock: Option<u32>,
}

/// A copy of data, sent again before the first was acknowledged.
struct DataCopy {
    at: u64,
    end: u64,
    /// The server's clock in this copy, if every earlier copy had another clock; and its clock in
    /// the original.
    clock: Option<u32>,
    original: Option<u32>,
    /// The range that each frame repeats.
    repeats: Vec<(u64, (u64, u64))>,
}

impl DataCopy {
    /// Whether the acknowledgement shows that the copy came, or that the original did: it echoes a
    /// clock that is not older than the copy's, or the clock of the original. A segment that fills
    /// a gap is acknowledged at once.
    fn came_first(&self, acknowledgement: &SeenSegment) -> Option<bool> {
        let (_, echo) = acknowledgement.stamps?;
        let is_later = |clock: u32| echo.wrapping_sub(clock).cast_signed() >= 0;
        if self.clock.is_some_and(is_later) {
            return Some(true);
        }
        (self.clock.is_some() && self.original == Some(echo)).then_some(false)
    }
}

impl Lost {
    /// Finds what was lost between the capture and the client: data that was sent again before it
    /// was acknowledged, unless an acknowledgement arrived so soon that it must belong to the
    /// original; its echo may show either. Beyond a capture at the client itself, nothing can be
    /// lost.
    pub(super) fn beyond(flow: &TcpFlow, vantage: &Vantage) -> Self {
        let mut lost = Self::default();
        if !matches!(vantage.place, VantagePoint::Server | VantagePoint::Middle) {
            return lost;
        }
        let trip = vantage.to_client.map_or(0, |trip| trip.as_nanos() as u64);
        let soonest = (trip as f64 * SOONEST) as u64;
        // By where it begins, and by frame.
        let mut open: BTreeMap<(u64, u64), OpenData> = BTreeMap::new();
        let mut copies: Vec<DataCopy> = Vec::new();
        let (mut acknowledged, mut longest) = (0, 0);
        for sight in &flow.sights {
            if sight.from == Side::Client {
                let end = flow.acknowledged(sight);
                let Some(end) = end.filter(|end| *end > acknowledged) else {
                    continue;
                };
                acknowledged = end;
                while let Some(first) = open.first_entry().filter(|first| first.get().end <= end) {
                    first.remove();
                }
                let done = copies.extract_if(.., |copy| copy.end <= end);
                let is_copys = |copy: &DataCopy| {
                    let is_late = sight.at >= copy.at + soonest;
                    copy.came_first(sight).unwrap_or(is_late)
                };
                for copy in done.filter(is_copys) {
                    lost.add(copy);
                }
                continue;
            }
            let at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
            let Some(start) = flow.place(Side::Server, at).filter(|_| sight.length > 0) else {
                continue;
            };
            let length = u64::from(sight.length);
            let end = start + length;
            longest = length.max(longest);
            let clock = sight.stamps.map(|(clock, _)| clock);
            let before = open.range((start.saturating_sub(longest), 0)..(end, 0));
            let before = before.filter(|(_, data)| data.end > start.max(acknowledged));
            let before: Vec<_> = before.rev().take(MAX_BEFORE).collect();
            if !before.is_empty() && copies.len() < MAX_COPIES {
                let original = before.iter().min_by_key(|((_, frame), _)| *frame);
                let is_new = before.iter().all(|(_, data)| data.clock != clock);
                copies.push(DataCopy {
                    at: sight.at,
                    end,
                    clock: clock.filter(|_| is_new),
                    original: original.and_then(|(_, data)| data.clock),
                    repeats: before
                        .iter()
                        .map(|((from, frame), data)| {
                            (*frame, ((*from).max(start), data.end.min(end)))
                        })
                        .collect(),
                });
            }
            open.insert((start, sight.frame), OpenData { end, clock });
        }
        for copy in copies {
            lost.add(copy);
        }
        lost.add_answers(flow, soonest);
        lost
    }

    fn add(&mut self, copy: DataCopy) {
        for (frame, part) in copy.repeats {
            self.parts.entry(frame).or_default().push(part);
        }
    }

    /// Adds the SYN-ACKs. If there are several, the last one that the client can have acknowledged
    /// is the one that arrived, because a client acknowledges a SYN-ACK at once.
    fn add_answers(&mut self, flow: &TcpFlow, soonest: u64) {
        let is_answer = |sight: &&SeenSegment| sight.is_syn() && sight.from == Side::Server;
        let is_acknowledgement = |sight: &&SeenSegment| {
            sight.from == Side::Client && !sight.is_syn() && sight.acknowledges()
        };
        let Some(acknowledged) = flow.sights.iter().find(is_acknowledgement) else {
            return;
        };
        let answers = flow.sights.iter().filter(is_answer);
        let answers = answers.filter(|sight| sight.at + soonest <= acknowledged.at);
        self.answers = answers.map(|sight| sight.frame).collect();
        self.answers.pop();
        let again = !self.answers.is_empty();
        self.acknowledged = again.then_some(acknowledged.frame);
    }

    /// The number of SYN-ACKs that were lost.
    pub(super) fn answers(&self) -> u32 {
        u32::try_from(self.answers.len()).unwrap_or(u32::MAX)
    }

    /// Whether this is the client's acknowledgement of a SYN-ACK that was sent again.
    pub(super) fn is_acknowledged_by(&self, sight: &SeenSegment) -> bool {
        self.acknowledged == Some(sight.frame)
    }

    /// Whether data of this segment was lost.
    pub(super) fn is_part_of(&self, sight: &SeenSegment) -> bool {
        self.parts.contains_key(&sight.frame)
    }

    /// The parts of a segment of the server that arrived; `None` if it did not.
    pub(super) fn rest_of(&self, flow: &TcpFlow, sight: &SeenSegment) -> Option<Vec<(u64, u64)>> {
        if sight.is_syn() && self.answers.binary_search(&sight.frame).is_ok() {
            return None;
        }
        let at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
        let start = flow.place(Side::Server, at).filter(|_| sight.length > 0);
        let Some(start) = start else {
            return Some(Vec::new());
        };
        // A segment is lost as a whole; what the capture has joined is several.
        let is_one = sight.length <= mss(flow);
        if is_one && self.parts.contains_key(&sight.frame) {
            return None;
        }
        let mut rest = vec![(start, start + u64::from(sight.length))];
        for (from, until) in self.parts.get(&sight.frame).into_iter().flatten() {
            let pieces = rest.into_iter();
            let pieces =
                pieces.flat_map(|(start, end)| [(start, end.min(*from)), (start.max(*until), end)]);
            rest = pieces.filter(|(start, end)| start < end).collect();
        }
        (!rest.is_empty()).then_some(rest)
    }
}
