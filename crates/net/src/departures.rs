//! When written data left the host, and when the peer acknowledged it, from the kernel's
//! timestamps. Reads neither socket nor clock; `socket` does, and passes both in.

use std::collections::VecDeque;
use std::time::Duration;

use roundtrip_model::{Event, Moment};

use crate::sys::transmit::TimestampKind;

/// A shorter delay between a write and its departure is caused by the system call itself.
const MIN_HELD_BACK: Duration = Duration::from_micros(500);
/// The largest number of writes that are remembered. The kernel drops a timestamp if it has no
/// memory for it.
const MAX_UNDER_WAY: usize = 1024;
/// The largest number of unread timestamps, because they take room in the receive buffer.
const MAX_UNREAD: usize = 32;

/// The size in bytes of a write that fits the initial window (RFC 6928 §2): only this host can
/// delay it.
const MAX_SHORT: u64 = 5_000;

/// Writes that are not acknowledged, in the clock's own time.
#[derive(Debug, Default)]
pub(crate) struct PendingWrites {
    /// The position in the stream from which the kernel counts; `None` if it makes no timestamps.
    origin: Option<u64>,
    under_way: VecDeque<PendingWrite>,
    /// The position after the last write.
    end: u64,
    unread: usize,
}

#[derive(Debug)]
struct PendingWrite {
    /// The position in the stream after the last byte.
    end: u64,
    /// The time before the system call.
    written: Moment,
    left: Option<Moment>,
    /// The time when the data was sent again.
    again: Option<Moment>,
    /// The data fits any initial window.
    is_short: bool,
}

/// The information in a timestamp about a write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WriteTimestamp {
    pub(crate) written: Moment,
    pub(crate) at: Moment,
    pub(crate) event: Event,
}

impl PendingWrites {
    /// Notes that the kernel timestamps data that is written from this position on.
    pub(crate) fn begin(&mut self, origin: u64) {
        self.origin = Some(origin);
        self.end = origin;
    }

    /// Notes a write that ends at this position.
    pub(crate) fn wrote(&mut self, end: u64, at: Moment) {
        if self.origin.is_none() {
            return;
        }
        if self.under_way.len() == MAX_UNDER_WAY {
            self.under_way.pop_front();
        }
        self.under_way.push_back(PendingWrite {
            end,
            written: at,
            left: None,
            again: None,
            is_short: end.saturating_sub(self.end) <= MAX_SHORT,
        });
        self.end = end;
        self.unread += 1;
    }

    /// Whether there can be timestamps in the error queue.
    pub(crate) fn is_expecting(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Whether the timestamps have to be read now, to make room.
    pub(crate) fn is_full(&self) -> bool {
        self.unread >= MAX_UNREAD
    }

    /// Notes that the error queue has been emptied.
    pub(crate) fn emptied(&mut self) {
        self.unread = 0;
    }

    /// Processes one timestamp. Writes that share a segment have one timestamp, that of the last
    /// write. A second timestamp of a departure belongs to a retransmission.
    pub(crate) fn stamped(
        &mut self,
        stage: TimestampKind,
        place: u32,
        at: Moment,
    ) -> Option<WriteTimestamp> {
        let origin = self.origin?;
        let is_meant = |d: &PendingWrite| (d.end.wrapping_sub(origin + 1)) as u32 == place;
        let index = self.under_way.iter().position(is_meant)?;
        match stage {
            TimestampKind::Left => {
                let departure = self.under_way.get_mut(index)?;
                if departure.left.is_some() {
                    departure.again = Some(at);
                    return None;
                }
                let (written, left) = (departure.written, at.max(departure.written));
                departure.left = Some(left);
                let took = left.since(written);
                // Data behind other bytes can wait for a window.
                (took >= MIN_HELD_BACK && index == 0 && departure.is_short).then_some(
                    WriteTimestamp {
                        written,
                        at: left,
                        event: Event::HeldBack { took },
                    },
                )
            }
            TimestampKind::Acknowledged => {
                let acknowledged = self.under_way.drain(..=index).next_back()?;
                let left = acknowledged.left.unwrap_or(acknowledged.written);
                Some(WriteTimestamp {
                    written: acknowledged.written,
                    at: at.max(left),
                    event: Event::Acknowledged {
                        after: at.since(left),
                        again: acknowledged.again.map(|again| at.since(again)),
                    },
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Moment {
        Moment::from_millis(ms)
    }

    fn acknowledged(written: f64, at_ms: f64, after: f64) -> WriteTimestamp {
        let after = at(after).since(Moment::ZERO);
        WriteTimestamp {
            written: at(written),
            at: at(at_ms),
            event: Event::Acknowledged { after, again: None },
        }
    }

    #[test]
    fn an_acknowledgement_covers_everything_before_it() {
        let mut departures = PendingWrites::default();
        departures.begin(100);
        departures.wrote(110, at(1.0));
        departures.wrote(130, at(2.0));
        departures.wrote(131, at(3.0));
        // The first two left in one segment, which carries the second one's position.
        assert_eq!(departures.stamped(TimestampKind::Left, 29, at(2.25)), None);
        assert_eq!(
            departures.stamped(TimestampKind::Acknowledged, 29, at(42.25)),
            Some(acknowledged(2.0, 42.25, 40.0))
        );
        assert_eq!(
            departures.stamped(TimestampKind::Acknowledged, 9, at(43.0)),
            None
        );
        // If there is no timestamp of the departure, the time of the write counts.
        assert_eq!(
            departures.stamped(TimestampKind::Acknowledged, 30, at(50.0)),
            Some(acknowledged(3.0, 50.0, 47.0))
        );
        assert!(!departures.is_expecting());
    }

    #[test]
    fn a_late_departure_is_reported_once() {
        let mut departures = PendingWrites::default();
        departures.begin(0);
        departures.wrote(10, at(1.0));
        let told = departures
            .stamped(TimestampKind::Left, 9, at(31.0))
            .unwrap();
        let took = Duration::from_millis(30);
        assert_eq!((told.at, told.event), (at(31.0), Event::HeldBack { took }));
        assert_eq!(departures.stamped(TimestampKind::Left, 9, at(231.0)), None);
        assert_eq!(
            departures
                .stamped(TimestampKind::Acknowledged, 9, at(271.0))
                .unwrap()
                .event,
            Event::Acknowledged {
                after: Duration::from_millis(240),
                again: Some(Duration::from_millis(40)),
            },
            "since it left first, and since it left again"
        );
    }

    #[test]
    fn the_kernel_counts_with_32_bits() {
        let mut departures = PendingWrites::default();
        departures.begin(0);
        departures.wrote((1 << 32) + 8, at(1.0));
        assert_eq!(
            departures.stamped(TimestampKind::Acknowledged, 7, at(2.0)),
            Some(acknowledged(1.0, 2.0, 1.0))
        );
    }

    #[test]
    fn memory_is_bounded_and_unused_without_timestamps() {
        let mut departures = PendingWrites::default();
        departures.wrote(1, at(1.0));
        assert!(!departures.is_expecting());
        departures.begin(1);
        for end in 2..10_000 {
            departures.wrote(end, at(1.0));
        }
        assert_eq!(departures.under_way.len(), MAX_UNDER_WAY);
        assert!(departures.is_full());
    }
}
