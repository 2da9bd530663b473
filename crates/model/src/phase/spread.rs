//! By how much the path's round trips differ, as far as this exchange can tell: nothing that is
//! less late than that is anybody's fault.

use std::time::Duration;

use super::ms;
use crate::{Event, Exchange, Moment};

/// In milliseconds: an acknowledgement that is later by less may have been delayed on purpose (RFC
/// 1122 §4.2.3.2), and one that is later by more was not delayed by that alone. Linux waits for 40 ms,
/// and its timers are late.
pub const DELAYED_ACK: f64 = 45.0;
/// In milliseconds: the shortest delay of an acknowledgement on Linux, less a tick.
pub(super) const SHORTEST_DELAYED_ACK: f64 = 36.0;
/// An acknowledgement and data that come this close to each other come in one segment.
const TOGETHER: Duration = Duration::from_micros(200);

impl Exchange {
    /// The samples of the round trip that no application delayed, as milliseconds beyond R: the
    /// SYN-ACK, and acknowledgements. Acknowledgements that may have been delayed on purpose are
    /// left out.
    pub fn excesses(&self) -> Vec<f64> {
        let Some(r) = self.rtt.map(ms) else {
            return Vec::new();
        };
        let syn = self
            .tcp
            .as_ref()
            .filter(|t| !self.reused && t.syn_retransmits == 0)
            .and_then(|t| t.handshake_rtt)
            .map(|took| ms(took) - r);
        // One that came with data may have waited for it.
        let arrivals: Vec<Moment> = self
            .timeline
            .iter()
            .filter(|(_, e)| matches!(e, Event::Received { .. }))
            .map(|(at, _)| *at)
            .collect();
        let alone = |at: Moment| {
            let next = arrivals.partition_point(|arrival| *arrival < at - TOGETHER);
            arrivals
                .get(next)
                .is_none_or(|arrival| *arrival > at + TOGETHER)
        };
        let acknowledged = self.timeline.iter().filter_map(|(at, event)| match event {
            Event::Acknowledged { after } if alone(*at) => Some(ms(*after) - r),
            _ => None,
        });
        let undelayed = acknowledged.filter(|late| !(SHORTEST_DELAYED_ACK..).contains(late));
        syn.into_iter()
            .chain(undelayed)
            .map(|late| late.max(0.0))
            .collect()
    }

    /// In milliseconds: by how much round trips on this path differ. One sample that is far from the
    /// others says nothing about the path (a neighbour had to be found, a radio woke up).
    pub fn spread(&self) -> f64 {
        let mut excesses = self.excesses();
        excesses.sort_by(f64::total_cmp);
        match excesses.len() {
            0 | 1 => 0.0,
            // R itself is one of the samples, so its excess is zero.
            2 => excesses.last().copied().unwrap_or_default(),
            n => excesses.get(n - 2).copied().unwrap_or_default(),
        }
    }
}
