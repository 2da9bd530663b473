//! How long before a release to stop sleeping: what this machine's wake-ups turn out to need, and no more.

use std::time::Duration;

const LEAST: Duration = Duration::from_micros(20);
/// Spinning takes a processor from the very programs that are measured; beyond this, being late is the lesser evil.
const MOST: Duration = Duration::from_micros(150);

/// Up by nine when a wake-up came later than this, down by one when not: settles where nine in ten are in time.
const UP: Duration = Duration::from_micros(9);
const DOWN: Duration = Duration::from_micros(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Margin(Duration);

impl Default for Margin {
    fn default() -> Self {
        Self(Duration::from_micros(80))
    }
}

impl Margin {
    pub(super) fn length(self) -> Duration {
        self.0
    }

    /// Learns from a sleep that ended `late`.
    pub(super) fn learn(&mut self, late: Duration) {
        let wanted = if late > self.0 {
            self.0 + UP
        } else {
            self.0.saturating_sub(DOWN)
        };
        self.0 = wanted.clamp(LEAST, MOST);
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
        // Nineteen in twenty take 50 µs, the last one 10 ms.
        let margin = after((0..5000).map(|turn| if turn % 20 == 0 { 10_000 } else { 50 }));
        let near = Duration::from_micros(40)..Duration::from_micros(70);
        assert!(near.contains(&margin), "{margin:?}");
    }
}
