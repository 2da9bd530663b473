//! Random numbers that can be had again: the same seed gives the same path.

use crate::direction::Direction;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one word of state, and good enough to lose packets by.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers for one hop and way, which do not depend on how many other hops there are before it in the other way.
    pub(crate) fn of_hop(seed: u64, place: u64, way: Direction) -> Self {
        let mut mixed = Self(seed ^ place.rotate_left(32) ^ u64::from(way == Direction::Down));
        Self(mixed.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly in 0 ≤ x < 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly in 0 ≤ x < `bound`; 0 when there is no room.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// With the mean 0 and the deviation 1 (Box and Muller 1958). Always draws two numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.unit(), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_sequence() {
        // From the authors' Java implementation, seed 1234567.
        let mut random = Random::seeded(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
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
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn each_way_and_place_has_numbers_of_its_own() {
        let mut all: Vec<u64> = (0..50)
            .flat_map(|place| Direction::BOTH.map(|way| Random::of_hop(1, place, way).next()))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100);
    }
}
