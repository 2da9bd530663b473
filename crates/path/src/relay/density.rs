//! Measures the density of the traffic, which decides how the relay rests: waiting for each packet,
//! or polling at intervals.
//!
//! Waking up for each packet costs far more than carrying it. The time of a packet begins with the
//! kernel's timestamp, so in dense traffic the relay may fetch it later, as long as that is well
//! before the packet is due.

use std::time::Duration;

/// Packets closer together than this, on average, are dense traffic.
const DENSE_GAP: Duration = Duration::from_micros(100);
/// The shortest and the longest rest in dense traffic; a rest is longer than the shortest only if
/// the path's delay hides it.
const MIN_REST: Duration = Duration::from_micros(50);
const MAX_REST: Duration = Duration::from_micros(400);
/// The weight of a new gap in the moving average is 1 / `GAP_WEIGHT`.
const GAP_WEIGHT: u32 = 16;
/// Longer gaps are counted as this long.
const MAX_GAP: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(super) struct Density {
    /// The shortest time that a packet spends on the path.
    delay: Duration,
    gap: Duration,
    last: Duration,
}

impl Density {
    pub(super) fn new(delay: Duration) -> Self {
        Self {
            delay,
            gap: MAX_GAP,
            last: Duration::ZERO,
        }
    }

    /// Records that `count` packets were fetched at `now`.
    pub(super) fn fetched(&mut self, count: usize, now: Duration) {
        let passed = now.saturating_sub(self.last).min(MAX_GAP);
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(GAP_WEIGHT);
        if count > 0 {
            self.last = now;
            self.gap = (self.gap * (GAP_WEIGHT - count) + passed) / GAP_WEIGHT;
        } else if passed > DENSE_GAP * GAP_WEIGHT {
            self.gap = MAX_GAP;
        }
    }

    /// How long to rest in dense traffic; `None` if the traffic is not dense.
    pub(super) fn pause(&self) -> Option<Duration> {
        (self.gap < DENSE_GAP).then(|| (self.delay / 4).clamp(MIN_REST, MAX_REST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn a_stream_is_polled_and_a_lone_packet_waited_for() {
        let mut tempo = Density::new(us(1200));
        tempo.fetched(1, us(10_000));
        assert_eq!(tempo.pause(), None);
        (0..200).for_each(|turn| tempo.fetched(2, us(10_000 + turn * 50)));
        assert_eq!(tempo.pause(), Some(us(300)));
        // Nothing arrived for a while.
        tempo.fetched(0, us(21_000));
        assert_eq!(tempo.pause(), Some(us(300)));
        tempo.fetched(0, us(23_000));
        assert_eq!(tempo.pause(), None);
    }

    #[test]
    fn a_short_path_is_polled_more_often() {
        let dense = |delay| {
            let mut tempo = Density::new(delay);
            (0..200).for_each(|turn| tempo.fetched(8, us(turn * 50)));
            tempo.pause()
        };
        assert_eq!(dense(Duration::ZERO), Some(MIN_REST));
        assert_eq!(dense(Duration::from_secs(1)), Some(MAX_REST));
    }
}
