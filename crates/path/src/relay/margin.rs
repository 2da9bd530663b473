//! Decides how long before a release to stop sleeping and spin: as long as wake-ups take on this
//! machine, but for at most a quarter of the processor's time. In dense traffic, spinning would
//! take the processor from the programs that are measured.

use std::time::Duration;

const MIN_MARGIN: Duration = Duration::from_micros(20);
/// The longest margin: a longer one would cost more than a late release.
const MAX_MARGIN: Duration = Duration::from_micros(150);

/// The steps by which the margin grows after a late wake-up, and shrinks after a timely one: it
/// settles where nine in ten are in time.
const STEP_UP: Duration = Duration::from_micros(9);
const STEP_DOWN: Duration = Duration::from_micros(1);

/// One part in `SPIN_SHARE` of the time can be spent spinning, and up to `MAX_SAVED_SPINNING` of it
/// can be saved up.
const SPIN_SHARE: u32 = 4;
const MAX_SAVED_SPINNING: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Margin {
    length: Duration,
    /// The spinning time that is still granted, as of `reckoned`.
    purse: Duration,
    reckoned: Duration,
}

impl Default for Margin {
    fn default() -> Self {
        Self {
            length: Duration::from_micros(80),
            purse: MAX_SAVED_SPINNING,
            reckoned: Duration::ZERO,
        }
    }
}

impl Margin {
    pub(super) fn length(self) -> Duration {
        self.length
    }

    /// Learns from a sleep that ended `late`.
    pub(super) fn learn(&mut self, late: Duration) {
        let wanted = if late > self.length {
            self.length + STEP_UP
        } else {
            self.length.saturating_sub(STEP_DOWN)
        };
        self.length = wanted.clamp(MIN_MARGIN, MAX_MARGIN);
    }

    /// Whether to spin for `left` from `now` on. If so, the time is deducted.
    pub(super) fn grant(&mut self, now: Duration, left: Duration) -> bool {
        let earned = now.saturating_sub(self.reckoned) / SPIN_SHARE;
        self.reckoned = now;
        let purse = MAX_SAVED_SPINNING.min(self.purse + earned);
        let rest = purse.checked_sub(left).filter(|_| left <= self.length);
        self.purse = rest.unwrap_or(purse);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lateness: impl Iterator<Item = u64>) -> Duration {
        let mut margin = Margin::default();
        lateness.for_each(|late| margin.learn(Duration::from_micros(late)));
        margin.length()
    }

    #[test]
    fn it_follows_the_machine_within_its_limits() {
        assert_eq!(after((0..1000).map(|_| 1)), MIN_MARGIN);
        assert_eq!(after((0..1000).map(|_| 5000)), MAX_MARGIN);
    }

    #[test]
    fn it_settles_where_most_wake_ups_are_in_time() {
        // Nineteen in twenty take 50 µs, the twentieth takes 10 ms.
        let margin = after((0..5000).map(|turn| if turn % 20 == 0 { 10_000 } else { 50 }));
        let near = Duration::from_micros(40)..Duration::from_micros(70);
        assert!(near.contains(&margin), "{margin:?}");
    }

    #[test]
    fn a_lone_packet_is_always_worth_the_spinning() {
        let mut margin = Margin::default();
        let every = (1..1000).map(Duration::from_millis);
        assert!(
            every
                .into_iter()
                .all(|now| margin.grant(now, margin.length()))
        );
    }

    #[test]
    fn dense_traffic_gets_a_quarter() {
        let mut margin = Margin::default();
        let every = (1..10_000).map(|turn| Duration::from_micros(turn * 40));
        let granted = every
            .filter(|now| margin.grant(*now, Duration::from_micros(40)))
            .count();
        assert!((2400..2700).contains(&granted), "{granted}");
    }
}
