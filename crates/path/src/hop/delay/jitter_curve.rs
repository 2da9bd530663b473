//! The delay that jitter adds, as a function of time.
//!
//! A delay drawn for each packet cannot keep both the order and its distribution: all packets
//! behind a late one wait for it, so that dense traffic sees the maximum. Here the delay itself
//! varies in time. It rises at once to a peak and falls evenly to zero, then the next peak follows:
//! as when a link stalls and then catches up. It never falls faster than time passes, so no packet
//! overtakes another, and traffic of any density samples the same curve.
//!
//! While the delay falls from a peak Y, each value below Y takes the same time. Over many falls,
//! the share of the time that is spent at x is proportional to P(Y > x). Every shape has a
//! decreasing density f, so peaks with P(Y > x) = f(x) / f(0) give exactly the density f. The speed
//! of a fall is drawn independently of its peak and does not affect this.

use std::time::Duration;

use crate::link::Jitter;
use roundtrip_model::Random;

/// The duration of a fall is between these multiples of the shortest one that keeps the order.
const SLOWNESS: (f64, f64) = (1.0, 2.0);

/// The smallest scale of time: below this, falls become slower instead of more frequent.
const MIN_SCALE: Duration = Duration::from_millis(2);

/// The time, in multiples of the scale, after which a curve no longer depends on where it began.
const SETTLED_AFTER: f64 = 150.0;

pub(super) struct JitterCurve {
    jitter: Jitter,
    random: Random,
    /// The beginning and end of the current fall, in seconds on the path's clock.
    from: f64,
    until: f64,
    /// The delay at the beginning of a fall, in seconds.
    peak: f64,
}

impl JitterCurve {
    pub(super) fn new(jitter: Jitter, random: Random) -> Self {
        Self {
            jitter,
            random,
            from: f64::NEG_INFINITY,
            until: f64::NEG_INFINITY,
            peak: 0.0,
        }
    }

    /// The delay to add at `at`. Calls come in the order of time, except for the relay's lateness.
    pub(super) fn at(&mut self, at: Duration) -> Duration {
        let (at, by) = (at.as_secs_f64(), self.jitter.by.as_secs_f64());
        if by <= 0.0 {
            return Duration::ZERO;
        }
        let scale = by.max(MIN_SCALE.as_secs_f64());
        // The first packet, and one after a long silence, finds a curve that has run for a while.
        self.until = self.until.max(at - SETTLED_AFTER * scale);
        while self.until <= at {
            let peak = self.jitter.draw_peak(&mut self.random);
            let (least, most) = SLOWNESS;
            let slowness = least + (most - least) * self.random.unit();
            self.peak = peak * by;
            self.from = self.until;
            self.until += peak * slowness * scale;
        }
        let passed = ((at - self.from) / (self.until - self.from)).clamp(0.0, 1.0);
        Duration::from_secs_f64(self.peak * (1.0 - passed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sorted delays, in ms, that `packets` packets see at a rate of `a_second` packets per
    /// second.
    fn seen(jitter: &str, a_second: f64, packets: u32) -> Vec<f64> {
        let mut curve = JitterCurve::new(jitter.parse().unwrap(), Random::seeded(3));
        let time = |number: u32| Duration::from_secs_f64(5.0 + f64::from(number) / a_second);
        let mut all: Vec<f64> = (0..packets)
            .map(|number| curve.at(time(number)).as_secs_f64() * 1e3)
            .collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn traffic_of_any_density_sees_the_configured_distribution() {
        // Quartiles, the upper decile and percentile, in multiples of TIME.
        let shapes = [
            ("uniform", [0.25, 0.5, 0.75, 0.9, 0.99]),
            ("normal", [0.319, 0.674, 1.150, 1.645, 2.576]),
            ("exponential", [0.288, 0.693, 1.386, 2.303, 4.605]),
            ("pareto", [0.201, 0.520, 1.175, 2.309, 7.283]),
        ];
        for (shape, quantiles) in shapes {
            for (by_ms, a_second) in [
                (0.3, 5_000.0),
                (10.0, 5.0),
                (10.0, 50.0),
                (10.0, 500.0),
                (10.0, 5_000.0),
                (40.0, 50.0),
                (40.0, 500.0),
                (300.0, 5.0),
                (300.0, 50.0),
            ] {
                let packets = 60_000;
                let all = seen(&format!("{by_ms}ms,{shape}"), a_second, packets);
                for (share, expected) in [0.25, 0.5, 0.75, 0.9, 0.99].into_iter().zip(quantiles) {
                    let found = all[(share * f64::from(packets)) as usize] / by_ms;
                    let ratio = found / expected;
                    // The rarest peaks are few, and they last longest.
                    let tolerance = if share > 0.95 { 0.25 } else { 0.1 };
                    assert!(
                        (1.0 - tolerance..1.0 + tolerance).contains(&ratio),
                        "{by_ms} ms {shape}, {a_second} a second: {share} at {found}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn it_never_falls_faster_than_time_passes() {
        for shape in ["uniform", "normal", "exponential", "pareto"] {
            let jitter = format!("20ms,{shape}").parse().unwrap();
            let mut curve = JitterCurve::new(jitter, Random::seeded(4));
            let times = (0..200_000).map(|number| Duration::from_micros(number * 130));
            let leaving: Vec<Duration> = times.map(|at| at + curve.at(at)).collect();
            assert!(leaving.is_sorted(), "{shape}");
        }
    }

    #[test]
    fn a_long_silence_costs_no_more_than_a_short_one() {
        let mut curve = JitterCurve::new("1us".parse().unwrap(), Random::seeded(5));
        for days in 0..1000 {
            assert!(curve.at(Duration::from_hours(24 * days)) <= Duration::from_micros(1));
        }
    }

    #[test]
    fn the_first_packet_may_meet_any_delay() {
        let first = |seed| {
            let mut curve = JitterCurve::new("10ms".parse().unwrap(), Random::seeded(seed));
            curve.at(Duration::from_secs(1)).as_secs_f64() * 1e3
        };
        let mean = (0..400).map(first).sum::<f64>() / 400.0;
        assert!((4.4..5.6).contains(&mean), "{mean}");
    }
}
