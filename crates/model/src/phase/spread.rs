//! By how much the path's round trips differ, as far as this exchange can tell: nothing that is
//! less late than that is anybody's fault.

use std::time::Duration;

use super::ms;
use crate::{Event, Exchange, Moment};

/// In milliseconds: an acknowledgement that is later by less may have been delayed on purpose (RFC
/// 1122 §4.2.3.2), and one that is later by more was not delayed by that alone. Linux waits for 40 ms,
/// and its timers are late.
pub const DELAYED_ACK: f64 = 60.0;
/// In milliseconds: the shortest delay of an acknowledgement on Linux, less a tick.
pub(super) const SHORTEST_DELAYED_ACK: f64 = 36.0;
/// In milliseconds, and as shares of R: round trips that differ by less do not differ, and the path on
/// which all of them do is steady.
const STEADY_MS: f64 = 1.0;
const SAME: f64 = 0.02;
const STEADY: f64 = 0.01;
/// In milliseconds, and as a share of R: what is later than this, if only one other sample is known, is
/// an exception.
const ALONE_MS: f64 = 20.0;
const ALONE: f64 = 0.5;
/// As a share of R, and how many times as late as the samples a round trip may be.
const WILD: f64 = 0.3;
const RARE: f64 = 2.5;
const RARE_WILD: f64 = 10.0;
/// An acknowledgement and data that come this close to each other come in one segment.
const TOGETHER: Duration = Duration::from_micros(200);

/// How much later than R the round trips of one exchange were that no application delayed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spread {
    /// In milliseconds beyond R, in ascending order.
    samples: Vec<f64>,
    /// R in milliseconds, or 0 if it is not known.
    rtt: f64,
}

impl Exchange {
    /// The samples of the round trip that no application delayed, as milliseconds beyond R: the
    /// SYN-ACK, and acknowledgements. Acknowledgements that may have been delayed on purpose are
    /// left out.
    pub fn spread(&self) -> Spread {
        let Some(r) = self.rtt.map(ms) else {
            return Spread::default();
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
            Event::Acknowledged { after, again: None } if alone(*at) => Some(ms(*after) - r),
            _ => None,
        });
        let undelayed = acknowledged.filter(|late| !(SHORTEST_DELAYED_ACK..).contains(late));
        let mut samples: Vec<f64> = syn
            .into_iter()
            .chain(undelayed)
            .map(|late| late.max(0.0))
            .collect();
        samples.sort_by(f64::total_cmp);
        Spread { samples, rtt: r }
    }
}

impl Spread {
    /// In milliseconds beyond R, in ascending order.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// In milliseconds: by how much round trips on this path differ. One sample that is far from
    /// others which hardly differ says nothing about the path: a neighbour had to be found, or a
    /// radio woke up.
    pub fn ms(&self) -> f64 {
        let same = STEADY_MS.max(SAME * self.rtt);
        let alone = ALONE_MS.max(ALONE * self.rtt);
        match self.samples.as_slice() {
            [.., next, most] if *next < same && (self.samples.len() > 2 || *most >= alone) => *next,
            [.., most] => *most,
            [] => 0.0,
        }
    }

    /// In milliseconds: what is later than a round trip by less than this may be the path's doing. A
    /// path whose round trips differ as much as they take has now and then one that is far longer.
    pub fn tolerance(&self) -> f64 {
        let spread = self.ms();
        let rare = if spread >= WILD * self.rtt {
            RARE_WILD
        } else {
            RARE
        };
        rare * spread
    }

    /// Whether several samples show that round trips on this path hardly differ.
    pub fn is_steady(&self) -> bool {
        self.samples.len() >= 2 && self.ms() <= STEADY_MS.max(STEADY * self.rtt)
    }
}
