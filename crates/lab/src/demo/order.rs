//! In which order the ways are asked: in turns, so that what disturbs one of them disturbs all alike.

/// Places of ways, round after round. The first round goes from top to bottom, so that the table fills as one reads;
/// the others are shuffled. The same seed gives the same order.
pub(super) fn rounds(ways: usize, runs: u32, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    let mut order: Vec<usize> = (0..ways).collect();
    let mut all = order.clone();
    for _ in 1..runs {
        // Fisher and Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        all.extend(&order);
    }
    all
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The bias of the remainder does not matter among so few.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_way_once() {
        let order = rounds(7, 5, 3);
        assert_eq!(order.len(), 35);
        assert_eq!(order[..7], [0, 1, 2, 3, 4, 5, 6]);
        for round in order.chunks(7) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
        }
    }

    #[test]
    fn a_seed_is_an_order() {
        assert_eq!(rounds(7, 9, 1), rounds(7, 9, 1));
        assert_ne!(rounds(7, 9, 1), rounds(7, 9, 2));
    }

    #[test]
    fn as_published() {
        // The first numbers of SplitMix64 for the seed 1234567, as its reference implementation gives them.
        let mut random = Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }
}
