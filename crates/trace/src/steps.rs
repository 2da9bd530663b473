//! The packets of a connection in a few words each, for the ladder.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use roundtrip_wire::packet::Flags;

use crate::conversation::LadderStep;
use crate::segment::{SeenSegment, Side, is_keep_alive};
use crate::tcp::TcpFlow;
use crate::vantage::Vantage;

/// The largest number of packets that a ladder shows of one connection.
pub(crate) const MAX_STEPS: usize = 4000;
/// The number of holes of one side that are remembered.
const MAX_HOLES: usize = 64;
/// A copy of a missing segment comes no sooner than this after the segment behind it, as a share of
/// the round trip to their sender.
const SOONEST: f64 = 0.8;

pub(crate) fn of(flow: &TcpFlow, vantage: &Vantage) -> Vec<LadderStep> {
    let mut copies = Copies::new(flow, vantage);
    let mut steps = Vec::new();
    for sight in flow.sights.iter().take(MAX_STEPS) {
        let (start, again) = copies.take(flow, sight);
        steps.push(LadderStep {
            frame: sight.frame,
            at: sight.at,
            from_client: sight.from == Side::Client,
            text: words(sight, start),
            place: start,
            bytes: u64::from(sight.length),
            is_plain: !sight.is_syn() && !sight.is_fin() && !sight.is_reset() && sight.window > 0,
            again,
            elsewhere: None,
        });
    }
    steps
}

/// How many segments each side sent again.
pub(crate) fn sent_again(flow: &TcpFlow, vantage: &Vantage) -> [u64; 2] {
    let mut copies = Copies::new(flow, vantage);
    let mut sums = [0; 2];
    for sight in &flow.sights {
        let (_, again) = copies.take(flow, sight);
        sums[sight.from.index()] += u64::from(again);
    }
    sums
}

/// Finds segments that were sent before: with data below what was seen of their side, or another
/// SYN or FIN. A segment that was not seen before, and fills a hole sooner than its sender can have
/// heard of the hole, was only overtaken. A keep-alive is not a copy of lost data.
struct Copies {
    highest: [u64; 2],
    acknowledged: [u64; 2],
    syns: [bool; 2],
    fins: [bool; 2],
    /// For each side, what was missing when later data was seen: where, and since when.
    holes: [VecDeque<(Range<u64>, u64)>; 2],
    /// In nanoseconds: the soonest time at which a copy can follow.
    soonest: [u64; 2],
}

impl Copies {
    fn new(flow: &TcpFlow, vantage: &Vantage) -> Self {
        let soonest = |trip: Option<Duration>| {
            trip.map_or(0, |trip| (trip.as_nanos() as f64 * SOONEST) as u64)
        };
        Self {
            highest: flow.unreported(),
            acknowledged: [0; 2],
            syns: [false; 2],
            fins: [false; 2],
            holes: Default::default(),
            soonest: [soonest(vantage.to_client), soonest(vantage.to_server)],
        }
    }

    fn was_overtaken(&self, side: usize, start: u64, at: u64) -> bool {
        let mut holes = self.holes[side].iter().rev();
        let hole = holes.find(|(range, _)| range.contains(&start));
        hole.is_some_and(|(_, opened)| at.saturating_sub(*opened) < self.soonest[side])
    }

    /// Where the segment's data begins, and whether it was sent before.
    fn take(&mut self, flow: &TcpFlow, sight: &SeenSegment) -> (Option<u64>, bool) {
        let side = sight.from.index();
        if let Some(end) = flow.acknowledged(sight) {
            let acknowledged = &mut self.acknowledged[sight.from.other().index()];
            *acknowledged = end.max(*acknowledged);
        }
        let data_at = sight.sequence.wrapping_add(u32::from(sight.is_syn()));
        let start = flow.place(sight.from, data_at);
        let known = start.filter(|_| sight.length > 0);
        let again = known.is_some_and(|start| {
            let highest = self.highest[side];
            start < highest
                && !is_keep_alive(sight, start, highest, self.acknowledged[side])
                && !self.was_overtaken(side, start, sight.at)
        });
        if let Some(start) = known {
            let end = start.saturating_add(u64::from(sight.length));
            if start > self.highest[side] {
                self.holes[side].push_back((self.highest[side]..start, sight.at));
                if self.holes[side].len() > MAX_HOLES {
                    self.holes[side].pop_front();
                }
            }
            self.highest[side] = self.highest[side].max(end);
        }
        let syn_again = sight.is_syn() && std::mem::replace(&mut self.syns[side], true);
        let fin_again = sight.is_fin() && std::mem::replace(&mut self.fins[side], true);
        (start, again || (syn_again || fin_again) && known.is_none())
    }
}

fn words(sight: &SeenSegment, start: Option<u64>) -> String {
    let mut words = Vec::new();
    let named = [
        (Flags::SYN, "SYN"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
    ];
    for (flag, name) in named {
        if sight.flags.contains(flag) {
            words.push(name.to_owned());
        }
    }
    if sight.flags.contains(Flags::ACK) && (sight.length == 0 || sight.is_syn()) {
        words.push("ACK".to_owned());
    }
    if sight.length > 0 {
        let from = start
            .map(|start| format!(" from {start}"))
            .unwrap_or_default();
        words.push(format!("{} bytes{from}", sight.length));
    }
    if sight.window == 0 && !sight.is_reset() {
        words.push("window 0".to_owned());
    }
    words.join(" ")
}
