//! The estimated round-trip time. RFC 9002 §5.

use std::time::Duration;

use crate::Time;

/// The resolution of timers. RFC 9002 §6.1.2.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    latest: Duration,
    smoothed: Duration,
    variation: Duration,
    min: Duration,
    /// When the first sample was taken; until then all values are guesses.
    sampled: Option<Time>,
    /// The next sample becomes the minimum, whatever came before. RFC 9002 §5.2.
    restart_min: bool,
}

impl Rtt {
    pub(crate) fn new(guess: Duration) -> Self {
        Self {
            latest: guess,
            smoothed: guess,
            variation: guess / 2,
            min: guess,
            sampled: None,
            restart_min: true,
        }
    }

    /// RFC 9002 §5.3. `delay` is the peer's reported delay, already limited to its maximum. Returns
    /// the sample without it, if that is plausible.
    pub(crate) fn on_sample(&mut self, now: Time, sample: Duration, delay: Duration) -> Duration {
        self.latest = sample.max(Duration::from_nanos(1));
        if self.sampled.is_none() {
            self.sampled = Some(now);
            self.restart_min = false;
            self.min = self.latest;
            self.smoothed = self.latest;
            self.variation = self.latest / 2;
            return self.latest;
        }
        self.min = if std::mem::take(&mut self.restart_min) {
            self.latest
        } else {
            self.min.min(self.latest)
        };
        let credible = self.latest >= self.min.saturating_add(delay);
        let delay = if credible { delay } else { Duration::ZERO };
        let adjusted = self.latest.saturating_sub(delay);
        self.variation = (self.variation * 3 + self.smoothed.abs_diff(adjusted)) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
        adjusted
    }

    /// Forgets the minimum, because after persistent congestion the path may have changed. RFC 9002
    /// §5.2.
    pub(crate) fn forget_min(&mut self) {
        self.restart_min = true;
    }

    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }

    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    pub(crate) fn min(&self) -> Duration {
        self.min
    }

    pub(crate) fn sampled(&self) -> Option<Time> {
        self.sampled
    }

    /// How long to wait for an acknowledgement that the peer sends at once. RFC 9002 §6.2.1.
    pub(crate) fn pto(&self) -> Duration {
        self.smoothed + (self.variation * 4).max(GRANULARITY)
    }

    /// A packet sent longer ago than this is lost once a later one has arrived: 9/8 of a round
    /// trip. RFC 9002 §6.1.2.
    pub(crate) fn loss_delay(&self) -> Duration {
        let longest = self.latest.max(self.smoothed);
        (longest + longest / 8).max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn before_a_sample_the_guess_holds() {
        let rtt = Rtt::new(ms(333));
        assert_eq!((rtt.smoothed(), rtt.pto()), (ms(333), ms(999)));
        assert_eq!(rtt.sampled(), None);
    }

    #[test]
    fn samples_are_smoothed_as_the_rfc_says() {
        let mut rtt = Rtt::new(ms(333));
        rtt.on_sample(Time(5), ms(100), ms(50));
        assert_eq!(
            (rtt.smoothed(), rtt.variation(), rtt.min()),
            (ms(100), ms(50), ms(100))
        );
        // The delay is subtracted, since the sample stays above the minimum.
        rtt.on_sample(Time(6), ms(148), ms(40));
        assert_eq!((rtt.smoothed(), rtt.latest()), (ms(101), ms(148)));
        assert_eq!(rtt.variation(), (ms(50) * 3 + ms(8)) / 4);
        // Here it would fall below the minimum, so the reported delay is ignored.
        rtt.on_sample(Time(7), ms(109), ms(40));
        assert_eq!((rtt.smoothed(), rtt.min()), (ms(102), ms(100)));
    }

    #[test]
    fn after_persistent_congestion_the_least_is_found_anew() {
        let mut rtt = Rtt::new(ms(333));
        rtt.on_sample(Time(5), ms(20), ms(0));
        rtt.forget_min();
        rtt.on_sample(Time(6), ms(90), ms(0));
        rtt.on_sample(Time(7), ms(95), ms(0));
        assert_eq!(rtt.min(), ms(90));
    }
}
