//! Chooses packet numbers that are never used, so that a peer that acknowledges packets it has not
//! seen is detected. RFC 9000 §21.4.

/// The first skipped number is at least this far from the start; the distance doubles each time, up
/// to the last constant.
const NEAREST: u64 = 128;
const FURTHEST: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Skips {
    next: u64,
    distance: u64,
    state: u64,
}

impl Skips {
    pub(super) fn new(seed: u64) -> Self {
        let mut skips = Self {
            next: 0,
            distance: NEAREST,
            state: seed | 1,
        };
        skips.choose(0);
        skips
    }

    /// Whether to skip this number; if so, the next one to skip is chosen.
    #[inline]
    pub(super) fn skip(&mut self, number: u64) -> bool {
        let skipped = number >= self.next;
        if skipped {
            self.choose(number);
        }
        skipped
    }

    #[cold]
    fn choose(&mut self, number: u64) {
        // Marsaglia's xorshift; it has to withstand one guess among `distance` numbers.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let random = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        self.next = number + self.distance + random % self.distance;
        self.distance = (self.distance * 2).min(FURTHEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(seed: u64) -> Vec<u64> {
        let mut skips = Skips::new(seed);
        (0..4_000_000).filter(|n| skips.skip(*n)).collect()
    }

    #[test]
    fn some_numbers_are_skipped_ever_more_rarely_and_by_the_seed() {
        let numbers = skipped(7);
        assert!((10..25).contains(&numbers.len()), "{numbers:?}");
        assert!(
            numbers[0] >= NEAREST && numbers[0] < 2 * NEAREST,
            "{numbers:?}"
        );
        assert_ne!(numbers, skipped(1_000_003));
    }
}
