//! When the next burst may leave, and how long it may be. RFC 9002 §7.7.
//!
//! A bucket that fills at the pacing rate. It holds what the path carries in a millisecond, as
//! Linux's TCP sizes its bursts, but at least an initial window, so that a short answer leaves at
//! once. On a fast path that is more than the window, so the bucket never limits; on a slow path it
//! keeps bursts, and therefore queues, short. A sender that woke late on a busy host may catch up:
//! otherwise it would always be slower than its rate.

use std::time::Duration;

use crate::Time;

/// The burst size, as the time in which the path carries it.
const SPAN: Duration = Duration::from_millis(1);
/// An initial window. RFC 9002 §7.2.
const MIN_BUCKET: u64 = 10;
/// A sender that has to wait waits until this many datagrams may leave, so that they do not cost a
/// timer each.
const MIN_BURST: u64 = 2;
/// The longest delay for which a late sender makes up.
const MAX_LATENESS: Duration = Duration::from_millis(4);

#[derive(Debug)]
pub(crate) struct Pacer {
    enabled: bool,
    /// The credit in bytes; negative while a burst is not paid for yet.
    credit: i64,
    filled: Option<Time>,
    /// The time until which the sender has to wait.
    waits: Option<Time>,
    /// How late the sender woke: the bucket is larger until this much time has passed.
    late: Duration,
}

impl Pacer {
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            credit: 0,
            filled: None,
            waits: None,
            late: Duration::ZERO,
        }
    }

    /// Returns how many of the `want`ed datagrams may leave now, at least one; or else when to ask
    /// again. The rate is in bytes a second.
    pub(crate) fn allowance(
        &mut self,
        now: Time,
        rate: u64,
        datagram: u16,
        want: usize,
    ) -> Result<usize, Time> {
        if !self.enabled {
            return Ok(want);
        }
        let datagram = u64::from(datagram).max(1);
        let span = carried(rate, SPAN);
        let bucket = carried(rate, SPAN + self.lateness(now)).max(MIN_BUCKET * datagram);
        let gained = match self.filled {
            Some(then) => {
                let gained = carried(rate, now.since(then));
                // Time that is too short for a byte counts in the next call; otherwise a sender
                // that asks often would get nothing.
                self.filled = Some(then.after(lasting(gained, rate)));
                gained
            }
            None => {
                self.filled = Some(now);
                bucket
            }
        };
        let full = i64::try_from(bucket).unwrap_or(i64::MAX);
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(gained).min(full);
        let quantum = span
            .max(MIN_BURST * datagram)
            .min(want as u64 * datagram)
            .min(bucket);
        let quantum = i64::try_from(quantum).unwrap_or(i64::MAX);
        if self.credit >= quantum {
            let fit = u64::try_from(self.credit).unwrap_or(0) / datagram;
            return Ok(usize::try_from(fit).unwrap_or(want).clamp(1, want.max(1)));
        }
        let missing = u64::try_from(quantum - self.credit).unwrap_or(0);
        let until = now.after(lasting(missing, rate));
        self.waits = Some(until);
        Err(until)
    }

    /// How much later than allowed the sender asks, or asked just before: it then sends more than
    /// one burst.
    fn lateness(&mut self, now: Time) -> Duration {
        let since = |then: Option<Time>| then.map_or(Duration::ZERO, |then| now.since(then));
        let overslept = since(self.waits.take()).min(MAX_LATENESS);
        self.late = self.late.saturating_sub(since(self.filled)).max(overslept);
        self.late
    }

    pub(crate) fn on_sent(&mut self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_sub(bytes);
    }
}

fn carried(rate: u64, span: Duration) -> u64 {
    let bytes = u128::from(rate) * span.as_nanos() / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// How long `bytes` last at this rate, rounded up, so that waiting this long is enough.
fn lasting(bytes: u64, rate: u64) -> Duration {
    let nanos = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: u16 = 1200;

    /// Simulates a second in which there is always more to send. Returns the most bytes that left
    /// within any millisecond, and how many left in total.
    fn drain(rate: u64, want: usize, late: Duration) -> (u64, u64) {
        let mut pacer = Pacer::new(true);
        let mut sent: Vec<(u64, u64)> = Vec::new();
        let mut now = Time::ZERO;
        while now < Time(1_000_000_000) {
            match pacer.allowance(now, rate, DATAGRAM, want) {
                Ok(count) => {
                    let bytes = count as u64 * u64::from(DATAGRAM);
                    pacer.on_sent(bytes);
                    sent.push((now.0, bytes));
                }
                Err(until) => now = until.after(late),
            }
        }
        let within = |from: u64| {
            let near = sent
                .iter()
                .filter(|(at, _)| (from..from + 1_000_000).contains(at));
            near.map(|(_, bytes)| bytes).sum::<u64>()
        };
        let busiest = sent.iter().map(|(at, _)| within(*at)).max().unwrap_or(0);
        (busiest, sent.iter().map(|(_, bytes)| bytes).sum())
    }

    #[test]
    fn the_rate_is_kept_and_bursts_are_short() {
        for (rate, longest) in [(1_250_000, 10), (12_500_000, 22), (125_000_000, 215)] {
            // Sleepers always wake a little late.
            let (busiest, all) = drain(rate, 64, Duration::from_micros(50));
            let datagrams = busiest / u64::from(DATAGRAM);
            assert!(datagrams <= longest, "{rate}: {datagrams} at once");
            let share = all as f64 / rate as f64;
            assert!((0.95..1.05).contains(&share), "{rate}: {share}");
        }
    }

    #[test]
    fn a_sender_that_wakes_late_keeps_the_rate() {
        for late in [1, 2, 3].map(Duration::from_millis) {
            let (_, all) = drain(12_500_000, 44, late);
            let share = all as f64 / 12_500_000.0;
            assert!((0.95..1.05).contains(&share), "{late:?}: {share}");
        }
    }

    #[test]
    fn a_sender_does_not_make_up_for_long_delays() {
        let mut pacer = Pacer::new(true);
        let rate = 12_500_000;
        pacer.on_sent(100_000);
        let until = pacer.allowance(Time(7), rate, DATAGRAM, 64).unwrap_err();
        let now = until.after(Duration::from_secs(1));
        // Five milliseconds' worth.
        assert_eq!(pacer.allowance(now, rate, DATAGRAM, 64), Ok(52));
        pacer.on_sent(10 * u64::from(DATAGRAM));
        assert_eq!(pacer.allowance(now, rate, DATAGRAM, 64), Ok(42));
        // The allowance expires: a sender that then has nothing to send starts again with a normal
        // bucket.
        let later = now.after(Duration::from_secs(1));
        assert_eq!(pacer.allowance(later, rate, DATAGRAM, 64), Ok(10));
    }

    #[test]
    fn a_sender_that_did_not_wait_for_the_pacer_was_not_late() {
        let mut pacer = Pacer::new(true);
        let rate = 12_500_000;
        assert_eq!(pacer.allowance(Time(7), rate, DATAGRAM, 5), Ok(5));
        pacer.on_sent(5 * u64::from(DATAGRAM));
        let later = Time(1_000_000_000);
        assert_eq!(pacer.allowance(later, rate, DATAGRAM, 64), Ok(10));
    }

    #[test]
    fn an_initial_window_leaves_at_once() {
        let mut pacer = Pacer::new(true);
        assert_eq!(pacer.allowance(Time(7), 10_000, DATAGRAM, 10), Ok(10));
        pacer.on_sent(12_000);
        assert!(pacer.allowance(Time(7), 10_000, DATAGRAM, 10).is_err());
    }

    #[test]
    fn who_asks_more_often_than_bytes_come_gets_them_all_the_same() {
        for (rate, step) in [(999, 700_000), (3000, 100_000), (400_000, 1001)] {
            let mut pacer = Pacer::new(true);
            let mut sent = 0;
            for count in 0..3_000_000_000 / step {
                let now = Time(count * step);
                while let Ok(count) = pacer.allowance(now, rate, DATAGRAM, 2) {
                    pacer.on_sent(count as u64 * u64::from(DATAGRAM));
                    sent += count as u64 * u64::from(DATAGRAM);
                }
            }
            let most = 3 * rate + 12 * u64::from(DATAGRAM);
            assert!(sent <= most && sent + 4 * 1200 >= most, "{sent} at {rate}");
        }
    }

    #[test]
    fn without_pacing_everything_may_leave() {
        let mut pacer = Pacer::new(false);
        pacer.on_sent(1 << 40);
        assert_eq!(pacer.allowance(Time(7), 1, DATAGRAM, 64), Ok(64));
    }

    #[test]
    fn a_path_that_is_fast_never_waits() {
        let mut pacer = Pacer::new(true);
        for step in 0..100 {
            let now = Time(step * 40_000);
            assert_eq!(pacer.allowance(now, 3_000_000_000, DATAGRAM, 64), Ok(64));
            pacer.on_sent(64 * 1200);
        }
    }
}
