//! Notices that segments have arrived behind a gap in the stream, while nothing can be read. The
//! kernel wakes no reader for them, so a long wait checks from time to time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use roundtrip_model::{Event, Moment};
use tokio::time::{Instant, Sleep, sleep};

/// The shortest time from the beginning of a wait to the first check.
const MIN_DISTANCE: Duration = Duration::from_millis(50);
/// The least memory that the kernel needs for a segment besides its data: `struct sk_buff` and
/// `struct skb_shared_info`.
const SEGMENT_OVERHEAD: u32 = 512;

/// The values of `TCP_INFO` about segments behind a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GapSigns {
    /// The number of segments that have ever arrived out of order.
    pub(crate) out_of_order: u32,
    /// The amount of data in a full segment of the peer.
    pub(crate) full: u32,
    /// The time since the last segment with an acknowledgement arrived; all segments have one.
    pub(crate) last_arrival: Duration,
}

/// Counts the segments behind gaps that have been reported.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    told: u32,
    looked: Moment,
}

impl Gaps {
    /// Whether more segments have arrived out of order than have been reported.
    pub(crate) fn has_news(&self, signs: &GapSigns) -> bool {
        signs.out_of_order > self.told
    }

    /// Notes a check that found nothing new.
    pub(crate) fn looked(&mut self, now: Moment) {
        self.looked = now;
    }

    /// Processes new segments. `held` is the memory of received data that cannot be read.
    ///
    /// If there is no such memory, the gap is filled already. A segment takes more memory than its
    /// data has bytes. So if all of them together take less memory than a single full segment
    /// would, none of them is full. (Some network devices receive everything into large buffers.
    /// Then the amount of data in them is unknown.)
    pub(crate) fn look(
        &mut self,
        now: Moment,
        signs: &GapSigns,
        held: u32,
    ) -> Option<(Moment, Event)> {
        let segments = signs.out_of_order.saturating_sub(self.told);
        let looked = std::mem::replace(&mut self.looked, now);
        self.told = signs.out_of_order;
        if segments == 0 || held == 0 {
            return None;
        }
        let overhead = SEGMENT_OVERHEAD.saturating_mul(segments);
        let short = held < signs.full.saturating_add(overhead);
        let at = (now - signs.last_arrival).max(looked);
        Some((at, Event::GapOpened { segments, short }))
    }
}

/// The times of the checks during a wait: at growing distances.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    timer: Option<Pin<Box<Sleep>>>,
    distance: Duration,
}

impl Looks {
    /// Begins a wait on a path with this round trip.
    pub(crate) fn begin(&mut self, rtt: Duration) {
        self.distance = MIN_DISTANCE.max(rtt * 2);
        self.set();
    }

    fn set(&mut self) {
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(Instant::now() + self.distance),
            None => self.timer = Some(Box::pin(sleep(self.distance))),
        }
    }

    /// Whether it is time to check; otherwise the task is woken when it is.
    pub(crate) fn poll_due(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(timer) = &mut self.timer else {
            return false;
        };
        if timer.as_mut().poll(cx) == Poll::Pending {
            return false;
        }
        self.distance *= 2;
        self.set();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::from_millis(ms as f64)
    }

    fn signs(out_of_order: u32, last_arrival: u64) -> GapSigns {
        GapSigns {
            out_of_order,
            full: 1448,
            last_arrival: Duration::from_millis(last_arrival),
        }
    }

    fn gap(at_ms: u64, segments: u32, short: bool) -> (Moment, Event) {
        (at(at_ms), Event::GapOpened { segments, short })
    }

    #[test]
    fn a_gap_is_reported_once_with_the_time_of_its_last_segment() {
        let mut gaps = Gaps::default();
        gaps.looked(at(50));
        assert_eq!(
            gaps.look(at(100), &signs(2, 20), 4608),
            Some(gap(80, 2, false))
        );
        assert_eq!(gaps.look(at(200), &signs(2, 120), 4608), None);
        assert_eq!(
            gaps.look(at(400), &signs(3, 10), 6912),
            Some(gap(390, 1, false))
        );
        // The kernel's clock is coarse.
        assert_eq!(
            gaps.look(at(402), &signs(4, 4), 9000),
            Some(gap(400, 1, false))
        );
    }

    #[test]
    fn a_gap_without_held_memory_has_been_filled() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.look(at(100), &signs(2, 20), 0), None);
        assert!(!gaps.has_news(&signs(2, 20)));
        assert_eq!(
            gaps.look(at(200), &signs(3, 1), 800),
            Some(gap(199, 1, true))
        );
    }

    #[test]
    fn a_segment_is_short_if_a_full_one_would_need_more_memory() {
        let short = |segments, held| {
            let told = Gaps::default().look(at(9), &signs(segments, 1), held);
            matches!(told, Some((_, Event::GapOpened { short: true, .. })))
        };
        assert!(short(1, 1280) && !short(1, 2304) && !short(1, 1960));
        assert!(short(2, 2400) && !short(2, 2560));
    }

    #[tokio::test(start_paused = true)]
    async fn looks_grow_rarer() {
        let mut looks = Looks::default();
        let began = Instant::now();
        looks.begin(Duration::from_millis(40));
        let mut times = Vec::new();
        while times.len() < 4 {
            poll_fn(|cx| {
                if looks.poll_due(cx) {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            times.push(began.elapsed().as_millis());
        }
        assert_eq!(times, [80, 240, 560, 1200]);
    }
}
