//! Seeded random numbers for orders, bootstraps and lost packets: the same seed gives the same
//! numbers on every machine. They are not secret and must never be used as secrets.

/// SplitMix64 (Steele, Lea, Flood, 2014).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, uniformly distributed to within n / 2⁶⁴; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// A number in 0 ≤ x < 1, uniformly distributed.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normally distributed number with mean 0 and standard deviation 1 (Box and Muller, 1958).
    /// Always draws two numbers.
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.unit(), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Shuffles; all orders are equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last + 1);
            items.swap(last, chosen);
        }
    }
}

/// The order in which arms are measured: blocks in which each arm occurs once, each block in a
/// random order. Drift during the measurement then affects all arms alike, and the arms of a block
/// can be paired.
pub fn blocks(arms: usize, blocks: usize, random: &mut Random) -> Vec<Vec<usize>> {
    let block = |_| {
        let mut order: Vec<usize> = (0..arms).collect();
        random.shuffle(&mut order);
        order
    };
    (0..blocks).map(block).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        let mut random = Random::seeded(1_234_567);
        let first = [random.next_u64(), random.next_u64()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn means_and_deviations() {
        let mut random = Random::seeded(7);
        let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05);
        let share = (0..20_000).filter(|_| random.unit() < 0.1).count();
        assert!((1800..2200).contains(&share), "{share}");
    }

    #[test]
    fn each_arm_comes_first_about_as_often() {
        let mut firsts = [0_u32; 4];
        for block in blocks(4, 4000, &mut Random::seeded(7)) {
            firsts[block[0]] += 1;
        }
        assert!(firsts.iter().all(|n| (850..1150).contains(n)), "{firsts:?}");
    }

    proptest! {
        #[test]
        fn a_number_below_is_below(seed: u64, n in 1_usize..1000) {
            prop_assert!(Random::seeded(seed).below(n) < n);
        }

        #[test]
        fn each_block_holds_each_arm_once(seed: u64, arms in 0_usize..12, count in 0_usize..8) {
            let order = blocks(arms, count, &mut Random::seeded(seed));
            prop_assert_eq!(order.len(), count);
            for mut block in order.clone() {
                block.sort_unstable();
                prop_assert_eq!(block, (0..arms).collect::<Vec<_>>());
            }
            prop_assert_eq!(order, blocks(arms, count, &mut Random::seeded(seed)));
        }
    }
}
