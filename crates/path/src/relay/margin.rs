//! How long before a release to stop sleeping and spin: as long as wake-ups of this machine turn
//! out to need, and at most a quarter of a processor. In dense traffic, spinning would starve the
//! very programs that are measured.

use std::time::Duration;

const LEAST: Duration = Duration::from_micros(20);
/// Beyond this, being late is the lesser evil.
const MOST: Duration = Duration::from_micros(150);

/// The steps by which the margin grows after a late wake-up, and shrinks after one in time: it
/// settles where nine in ten are in time.
const UP: Duration = Duration::from_micros(9);
const DOWN: Duration = Duration::from_micros(1);

/// One part in `SHARE` of the time may be spent spinning, and up to `PURSE` of it can be saved up.
const SHARE: u32 = 4;
const PURSE: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Margin {
    length: Duration,
    /// Spinning time that is still granted, as of `reckoned`.
    purse: Duration,
    reckoned: Duration,
}

impl Default for Margin {
    fn default() -> Self {
        Self {
            length: Duration::from_micros(80),
            purse: PURSE,
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
            self.length + UP
        } else {
            self.length.saturating_sub(DOWN)
        };
        self.length = wanted.clamp(LEAST, MOST);
    }

    /// Whether to spin for `left` from `now` on. If so, the time is deducted.
    pub(super) fn grant(&mut self, now: Duration, left: Duration) -> bool {
        let earned = now.saturating_sub(self.reckoned) / SHARE;
        self.reckoned = now;
        let purse = PURSE.min(self.purse + earned);
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
        assert_eq!(after((0..1000).map(|_| 1)), LEAST);
        assert_eq!(after((0..1000).map(|_| 5000)), MOST);
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
