//! Which packets of the server did not arrive, by their numbers and their flow labels.
//!
//! Many systems number the packets of a connection one after the other, although nothing requires
//! it (RFC 6864 §4.1). Where they do, a missing number shows a missing packet. With IPv6, Linux
//! gives a connection another flow label whenever its retransmission timer fires, in the hope of
//! another path (RFC 6437 §3); a probe before that (RFC 8985 §7.2) keeps the label.

use std::collections::HashMap;

use roundtrip_model::Event;

use super::{Watcher, mss};
use crate::segment::{SeenSegment, Side};
use crate::tcp::TcpFlow;

/// The number of packets that must follow each other in order: the smallest number, and the number
/// for each missing packet.
const MIN_IN_ORDER: u64 = 4;
const IN_ORDER_EACH: u64 = 4;
/// The number of packets that must have the label of the packet before: the smallest number, and
/// the number for each packet with another label.
const MIN_SAME: u64 = 3;
const SAME_EACH: u64 = 2;
/// The largest number of packets that are missing at once.
const MAX_MISSING: u16 = 3;
/// In nanoseconds: the shortest timeout of Linux, and how early and how late its timers fire.
const MIN_TIMEOUT: u64 = 200_000_000;
const EARLY: u64 = 5_000_000;
const LATE: u64 = 40_000_000;

/// What shows that packets are missing before a segment of the server.
#[derive(Debug, Clone, Copy)]
enum Shown {
    /// The packet numbers have a gap of this size.
    Numbers(u16),
    /// The flow label is another one: the sender's timer fired.
    Label,
}

/// What is missing before segments of the server, by their frames.
#[derive(Debug, Default)]
pub(super) struct Missing(HashMap<u64, Shown>);

impl Missing {
    pub(super) fn from_flow(flow: &TcpFlow) -> Self {
        let all = flow
            .sights
            .iter()
            .filter(|sight| sight.from == Side::Server);
        if all.clone().all(|sight| sight.label > 0) {
            Self::by_label(all)
        } else {
            Self::by_number(flow)
        }
    }

    fn by_label<'a>(all: impl Iterator<Item = &'a SeenSegment>) -> Self {
        let mut missing = HashMap::new();
        let mut same = 0;
        let mut last: Option<u32> = None;
        for sight in all.filter(|sight| !sight.is_reset()) {
            if last
                .replace(sight.label)
                .is_none_or(|last| last == sight.label)
            {
                same += 1;
            } else {
                missing.insert(sight.frame, Shown::Label);
            }
        }
        // Other systems may draw a label for each packet.
        if same < MIN_SAME.max(SAME_EACH * missing.len() as u64) {
            return Self::default();
        }
        Self(missing)
    }

    fn by_number(flow: &TcpFlow) -> Self {
        let segment = mss(flow).max(1);
        let numbered = |sight: &&SeenSegment| {
            sight.from == Side::Server && sight.id != 0 && !sight.is_syn() && !sight.is_reset()
        };
        let mut missing = HashMap::new();
        let mut in_order = 0;
        let mut due: Option<u16> = None;
        for sight in flow.sights.iter().filter(numbered) {
            // A segment that the capture has joined was several packets.
            let packets = u16::try_from(sight.length.div_ceil(segment).max(1)).unwrap_or(u16::MAX);
            if let Some(due) = due {
                match sight.id.wrapping_sub(due) {
                    0 => in_order += 1,
                    skipped @ 1..=MAX_MISSING => {
                        missing.insert(sight.frame, Shown::Numbers(skipped));
                    }
                    // They are numbered in another way, or came out of order.
                    _ => return Self::default(),
                }
            }
            due = Some(sight.id.wrapping_add(packets));
        }
        if in_order < MIN_IN_ORDER.max(IN_ORDER_EACH * missing.len() as u64) {
            return Self::default();
        }
        Self(missing)
    }
}

impl Watcher<'_> {
    /// Data was lost on its way to the client: a capture saw it leave, and leave again.
    pub(super) fn was_lost(&mut self, at: u64, sight: &SeenSegment) {
        let start = self.flow.place(Side::Server, sight.sequence);
        if start.is_some_and(|start| start + u64::from(sight.length) > self.read) {
            let packets = self.segments(sight.length.into());
            self.note(at, Event::Missed { packets });
        }
    }

    /// Data arrived behind a gap in the stream.
    pub(super) fn behind_a_gap(&mut self, at: u64, start: u64, end: u64, segments: u64) {
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        if self
            .ahead
            .get(&start)
            .is_some_and(|(until, ..)| *until >= end)
        {
            return;
        }
        if self.ahead.is_empty() {
            let short = end - start < self.mss();
            self.note(at, Event::GapOpened { segments, short });
        }
        self.view.out_of_order += segments;
        self.ahead.insert(start, (end, at, segments));
    }

    /// A packet is missing before this one, which comes as late as after a timeout.
    pub(super) fn missing(&mut self, at: u64, sight: &SeenSegment) {
        let last = self.heard.replace(at);
        let shown = self.missing.0.get(&sight.frame).copied();
        let Some((shown, last)) = shown.zip(last).filter(|_| sight.length > 0) else {
            return;
        };
        let is_next = self.flow.place(Side::Server, sight.sequence) == Some(self.read);
        let silence = at.saturating_sub(last);
        let (packets, is_late) = match shown {
            Shown::Numbers(packets) => (packets, is_like_a_timeout(silence, self.rtt, packets)),
            Shown::Label => (1, silence + EARLY >= MIN_TIMEOUT),
        };
        if is_next && is_late {
            let packets = packets.into();
            self.note(last, Event::Missed { packets });
        }
    }
}

/// Whether this silence may be a timeout, or a probe, for something that was lost this often. A
/// timeout begins when the sender hears of what it sent before, and doubles each time. RFC 6298 §2
/// and §5.5, RFC 8985 §7.2.
fn is_like_a_timeout(silence: u64, rtt: u64, times: u16) -> bool {
    let shortest = rtt + MIN_TIMEOUT;
    let all = [shortest, rtt + shortest, shortest.max(3 * rtt), 2 * rtt];
    let times = (1 << times) - 1;
    all.iter().any(|timeout| {
        let timeout = timeout * times;
        silence + EARLY >= timeout && silence <= timeout + LATE * times
    })
}
