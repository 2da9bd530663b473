//! Finds pauses: times without new payload while more was to come, in steps of the observations.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pauses {
    bytes: u64,
    /// When new payload was last seen; `None` before the first byte.
    since: Option<Duration>,
    longest: Duration,
}

impl Pauses {
    /// Observes the payload so far, at this time after the start.
    pub(crate) fn see(&mut self, bytes: u64, elapsed: Duration) {
        if bytes == self.bytes {
            return;
        }
        // The time before the end is not a pause if nothing more came: everything has arrived.
        if let Some(since) = self.since {
            self.longest = self.longest.max(elapsed.saturating_sub(since));
        }
        (self.bytes, self.since) = (bytes, Some(elapsed));
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_way_to_the_first_byte_nor_the_end_is_a_pause() {
        let mut pauses = Pauses::default();
        let seen = [
            (50, 0),
            (900, 0),
            (950, 7),
            (1000, 9),
            (1300, 9),
            (1350, 12),
            (4000, 12),
        ];
        for (at, bytes) in seen {
            pauses.see(bytes, Duration::from_millis(at));
        }
        assert_eq!(pauses.longest(), Duration::from_millis(350));
    }
}
