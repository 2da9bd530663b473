//! Which packets of the server did not arrive, by their numbers.
//!
//! Many systems number the packets of a connection one after the other, although nothing requires
//! it (RFC 6864 §4.1). Where they do, a number that is missing shows a packet that is missing.

use std::collections::HashMap;

use roundtrip_model::Event;

use super::{Watcher, mss};
use crate::segment::{SeenSegment, Side};
use crate::tcp::TcpFlow;

/// The number of packets that must follow each other in order: at least, and for each that is
/// missing.
const MIN_IN_ORDER: u64 = 4;
const IN_ORDER_EACH: u64 = 4;
/// The largest number of packets that are missing at once.
const MAX_MISSING: u16 = 3;
/// In nanoseconds: the shortest timeout of Linux, and how early and how late its timers fire.
const MIN_TIMEOUT: u64 = 200_000_000;
const EARLY: u64 = 5_000_000;
const LATE: u64 = 40_000_000;

/// The number of packets that are missing before a segment of the server, by its frame.
#[derive(Debug, Default)]
pub(super) struct Missing(HashMap<u64, u16>);

impl Missing {
    pub(super) fn from_flow(flow: &TcpFlow) -> Self {
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
                        missing.insert(sight.frame, skipped);
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

    /// A packet is missing before this one, which comes as late as after a timeout.
    pub(super) fn missing(&mut self, at: u64, sight: &SeenSegment) {
        let last = self.heard.replace(at);
        let packets = self.missing.0.get(&sight.frame).copied();
        let Some((packets, last)) = packets.zip(last).filter(|_| sight.length > 0) else {
            return;
        };
        let is_next = self.flow.place(Side::Server, sight.sequence) == Some(self.read);
        if is_next && is_like_a_timeout(at.saturating_sub(last), self.rtt, packets) {
            let packets = packets.into();
            self.note(last, Event::Missed { packets });
        }
    }
}

/// Whether something that was lost this often was sent again after this time: a timeout begins
/// when the sender hears of what it sent before, or there is a probe, and it doubles each time. RFC
/// 6298 §2 and §5.5, RFC 8985 §7.2.
fn is_like_a_timeout(silence: u64, rtt: u64, times: u16) -> bool {
    let shortest = rtt + MIN_TIMEOUT;
    let all = [shortest, rtt + shortest, shortest.max(3 * rtt), 2 * rtt];
    let times = (1 << times) - 1;
    all.iter().any(|timeout| {
        let timeout = timeout * times;
        silence + EARLY >= timeout && silence <= timeout + LATE * times
    })
}
