//! When the server's segments left it: as the capture saw them leave, or by the server's own clock
//! in their timestamps (RFC 7323 §3), which no delay on the way changes.

use std::time::Duration;

use roundtrip_model::Event;

use super::flight::MIN_PAUSE;
use super::timing::{MIN_SEEN, NEAR, TICKS};
use super::{UnackedData, Watcher};
use crate::segment::{SeenSegment, Side};
use crate::tcp::TcpFlow;
use crate::vantage::{Vantage, VantagePoint};

/// In nanoseconds: how late an acknowledgement is that its sender delayed on purpose: on Linux by
/// 40 ms or more, less a tick, and up to 200 ms, and longer if it is busy. RFC 1122 §4.2.3.2 allows
/// for less than 500 ms.
const DELAYED_ACKS: std::ops::Range<u64> = 36_000_000..300_000_000;
/// Less than one part in this many of the lateness arose on the way back.
const LATE_ALONE: u64 = 4;

/// What shows when a segment left.
#[derive(Debug, Clone, Copy, Default)]
enum Witness {
    /// The capture was made at the server.
    Capture,
    /// The clock of the server.
    Clock(ServerClock),
    #[default]
    Nothing,
}

#[derive(Debug, Clone, Copy)]
struct ServerClock {
    /// The length of a tick in nanoseconds, and what the clock showed first.
    tick: u64,
    first: u32,
    /// When that was, for the segment that came most quickly.
    zero: i128,
}

impl ServerClock {
    /// The clock with the shortest tick with which two segments agree, of which one came more
    /// quickly than all others.
    fn of_server(sights: &[SeenSegment]) -> Option<Self> {
        let all = || sights.iter().filter(|sight| sight.from == Side::Server);
        let first = all().find_map(|sight| sight.stamps)?.0;
        TICKS.into_iter().find_map(|tick| {
            let zero = 0;
            let clock = Self { tick, first, zero };
            let zeros = || all().filter_map(|sight| Some((clock.zero_by(sight)?, sight.at)));
            let (zero, came) = zeros().min()?;
            let agrees = |(by, at): (i128, u64)| {
                let seen = at.abs_diff(came);
                let near = (NEAR * seen as f64).max(tick as f64);
                seen >= MIN_SEEN && (by - zero) as f64 <= near
            };
            zeros().any(agrees).then_some(Self { zero, ..clock })
        })
    }

    /// When the clock began, if this segment had come at once.
    fn zero_by(&self, sight: &SeenSegment) -> Option<i128> {
        let ticks = sight.stamps?.0.wrapping_sub(self.first).cast_signed();
        Some(i128::from(sight.at) - i128::from(ticks) * i128::from(self.tick))
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Departures {
    witness: Witness,
    /// The segment that brought the last data that could be read, and the one that arrives now.
    pub(super) last: Option<SeenSegment>,
    pub(super) next: Option<SeenSegment>,
    /// What shows that the server had all that the client had sent, and when the client noticed it.
    asked: Option<(u64, SeenSegment)>,
}

impl Departures {
    pub(super) fn of_server(flow: &TcpFlow, vantage: &Vantage) -> Self {
        let clock =
            || ServerClock::of_server(&flow.sights).map_or(Witness::Nothing, Witness::Clock);
        Self {
            witness: match vantage.place {
                VantagePoint::Server => Witness::Capture,
                _ => clock(),
            },
            ..Self::default()
        }
    }

    /// How long after the last data the next one left, in nanoseconds; up to a tick too long.
    pub(super) fn between(&self) -> Option<u64> {
        self.after(&self.last?)
    }

    /// How long after another segment left, or came, the one that arrives now left.
    fn after(&self, last: &SeenSegment) -> Option<u64> {
        let next = self.next?;
        match self.witness {
            Witness::Capture => Some(next.at.saturating_sub(last.at)),
            Witness::Clock(clock) => {
                let ticks = next.stamps?.0.wrapping_sub(last.stamps?.0).cast_signed();
                let ticks = u64::try_from(ticks).ok()?;
                Some((ticks + 1).saturating_mul(clock.tick))
            }
            Witness::Nothing => None,
        }
    }

    /// How much longer this segment was under way than the quickest one, in nanoseconds; up to a
    /// tick too long.
    fn lateness(&self, sight: &SeenSegment) -> Option<u64> {
        match self.witness {
            Witness::Capture => Some(0),
            Witness::Clock(clock) => u64::try_from(clock.zero_by(sight)? - clock.zero).ok(),
            Witness::Nothing => None,
        }
    }
}

impl Watcher<'_> {
    /// The client has sent data, which a capture at the server saw arrive.
    pub(super) fn asks(&mut self, at: u64, sight: &SeenSegment) {
        let arrived = matches!(self.departures.witness, Witness::Capture);
        self.departures.asked = arrived.then_some((at, *sight));
    }

    /// The server has acknowledged all that the client has sent, without data.
    pub(super) fn was_asked(&mut self, at: u64, sight: &SeenSegment) {
        let clock = matches!(self.departures.witness, Witness::Clock(_));
        if clock && sight.length == 0 && self.under_way.is_empty() {
            self.departures.asked = Some((at, *sight));
        }
    }

    /// Notes how long the server had what the client asked before the data left that arrives now.
    pub(super) fn answers(&mut self, at: u64) {
        let Some((since, asked)) = self.departures.asked.take() else {
            return;
        };
        let after = self.departures.after(&asked);
        let after = after.map(|after| after.min(at.saturating_sub(since)));
        if let Some(after) = after.filter(|after| *after >= MIN_PAUSE) {
            let after = Duration::from_nanos(after);
            self.note(since, Event::Departed { after });
        }
    }

    /// Whether the server may have delayed an acknowledgement on purpose that came `took` after
    /// these bytes had left: it left late itself. The first data of a connection is acknowledged at
    /// once, and so is more than a segment.
    pub(super) fn may_have_waited(
        &self,
        sight: &SeenSegment,
        data: &UnackedData,
        bytes: u64,
        took: u64,
    ) -> bool {
        let is_alone = sight.length == 0 && data.again.is_none();
        let late = took.saturating_sub(self.rtt);
        let way_back = self.departures.lateness(sight);
        is_alone
            && data.start > 0
            && bytes <= self.mss()
            && DELAYED_ACKS.contains(&late)
            && way_back.is_some_and(|way_back| way_back <= late / LATE_ALONE)
    }
}
