//! Deduces from packet numbers and data offsets what was lost or late in either direction, and when
//! sent data had arrived at the peer.

use std::time::Duration;

use roundtrip_model::{Event, Moment};
use roundtrip_quic::Stats;

/// The smallest full datagram in bytes. RFC 9000 §14.1.
const MIN_FULL: usize = 1200;

#[derive(Default)]
pub(super) struct Evidence {
    last: Stats,
    /// The time when data arrived while earlier data was still missing.
    gap: Option<Moment>,
    gaps: u32,
    /// The departure of the oldest unacknowledged packet that was lost and may have carried data of
    /// a stream.
    lost: Option<Moment>,
}

impl Evidence {
    /// How often there was a gap.
    pub(super) fn gaps(&self) -> u32 {
        self.gaps
    }

    /// Evaluates `bytes` bytes that arrived at this time and that the engine began to read at
    /// `read`. A gap that the same bytes opened and filled does not count.
    pub(super) fn on_read(
        &mut self,
        at: Moment,
        read: Moment,
        bytes: usize,
        stats: &Stats,
    ) -> Vec<Event> {
        let before = std::mem::replace(&mut self.last, *stats);
        let mut events = Vec::new();
        let spurious = stats.spurious.saturating_sub(before.spurious);
        let lost = stats.packets_lost.saturating_sub(before.packets_lost);
        let lost = lost.saturating_sub(spurious);
        // Packets that are not sent again when lost, such as acknowledgements, delay nothing.
        if lost > 0 && stats.bytes_lost > before.bytes_lost {
            let left = Moment(at.0.saturating_sub(nanos(stats.lost_after)));
            if stats.stream_bytes_sent > 0 {
                self.lost.get_or_insert(left);
            }
            events.push(Event::Resent {
                segments: narrow(lost),
                unacked: stats.lost_after,
            });
        }
        let packets = stats.missing.saturating_sub(before.missing);
        if packets > 0 {
            events.push(Event::Missed { packets });
        }
        match (self.gap, stats.behind_gap) {
            (None, 0) => {}
            (None, segments) => {
                self.gap = Some(at);
                self.gaps += 1;
                events.push(Event::GapOpened {
                    segments: narrow(segments),
                    short: bytes < MIN_FULL,
                });
            }
            (Some(since), 0) => {
                self.gap = None;
                events.push(Event::Overtaken {
                    segments: narrow(before.behind_gap),
                    late: at.since(since),
                });
            }
            (Some(_), _) => {}
        }
        if stats.stream_bytes_acked > before.stream_bytes_acked {
            let newest = stats.acked_after.saturating_sub(read.since(at));
            let lost = self.lost.take().map(|left| at.since(left));
            events.push(Event::Acknowledged {
                after: lost.map_or(newest, |first| first.max(newest)),
                again: lost.map(|_| newest),
            });
        }
        events
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(evidence: &mut Evidence, at: u64, stats: &Stats) -> Vec<Event> {
        evidence.on_read(Moment(at), Moment(at + 1), 1200, stats)
    }

    #[test]
    fn data_behind_a_gap_is_recorded_with_the_gap() {
        let mut evidence = Evidence::default();
        let mut stats = Stats {
            missing: 2,
            behind_gap: 1,
            ..Stats::default()
        };
        let (segments, short) = (1, false);
        let opened = [
            Event::Missed { packets: 2 },
            Event::GapOpened { segments, short },
        ];
        assert_eq!(read(&mut evidence, 100, &stats), opened);
        stats.behind_gap = 3;
        assert_eq!(read(&mut evidence, 110, &stats), []);
        (stats.behind_gap, stats.missing) = (0, 1);
        let (segments, late) = (3, Duration::from_nanos(50));
        let filled = [Event::Overtaken { segments, late }];
        assert_eq!(read(&mut evidence, 150, &stats), filled);
        assert_eq!(evidence.gaps(), 1);
    }

    #[test]
    fn our_losses_are_recorded_unless_spurious() {
        let mut evidence = Evidence::default();
        let unacked = Duration::from_nanos(90);
        let mut stats = Stats {
            packets_lost: 2,
            bytes_lost: 900,
            lost_after: unacked,
            ..Stats::default()
        };
        let segments = 2;
        let lost = [Event::Resent { segments, unacked }];
        assert_eq!(read(&mut evidence, 100, &stats), lost);
        (stats.packets_lost, stats.bytes_lost, stats.spurious) = (3, 1000, 1);
        assert_eq!(read(&mut evidence, 120, &stats), []);
        stats.packets_lost = 4;
        assert_eq!(read(&mut evidence, 120, &stats), []);
    }

    #[test]
    fn an_acknowledgement_counts_from_when_it_came() {
        let mut evidence = Evidence::default();
        let stats = Stats {
            stream_bytes_acked: 5,
            acked_after: Duration::from_nanos(61),
            ..Stats::default()
        };
        let (after, again) = (Duration::from_nanos(60), None);
        let acknowledged = [Event::Acknowledged { after, again }];
        assert_eq!(read(&mut evidence, 100, &stats), acknowledged);
        assert_eq!(read(&mut evidence, 120, &stats), []);
    }

    #[test]
    fn what_was_lost_and_sent_again_is_acknowledged_from_both_on() {
        let mut evidence = Evidence::default();
        let mut stats = Stats {
            packets_lost: 1,
            bytes_lost: 100,
            lost_after: Duration::from_nanos(200),
            stream_bytes_sent: 50,
            ..Stats::default()
        };
        assert_eq!(read(&mut evidence, 300, &stats).len(), 1);
        (stats.stream_bytes_acked, stats.acked_after) = (5, Duration::from_nanos(101));
        let (after, again) = (Duration::from_nanos(310), Duration::from_nanos(100));
        let again = Some(again);
        let acknowledged = [Event::Acknowledged { after, again }];
        assert_eq!(read(&mut evidence, 410, &stats), acknowledged);
    }

    /// The first flight of the handshake was lost, before there was a request.
    #[test]
    fn a_loss_in_the_handshake_delayed_no_request() {
        let mut evidence = Evidence::default();
        let mut stats = Stats {
            packets_lost: 2,
            bytes_lost: 2400,
            lost_after: Duration::from_nanos(200),
            ..Stats::default()
        };
        assert_eq!(read(&mut evidence, 300, &stats).len(), 1);
        (stats.stream_bytes_sent, stats.stream_bytes_acked) = (50, 50);
        stats.acked_after = Duration::from_nanos(41);
        let (after, again) = (Duration::from_nanos(40), None);
        let acknowledged = [Event::Acknowledged { after, again }];
        assert_eq!(read(&mut evidence, 410, &stats), acknowledged);
    }
}
