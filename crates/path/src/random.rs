//! Seeds the random numbers of a path: the same seed gives the same path.

use roundtrip_model::Random;

use crate::direction::Direction;

/// The generator of one section and direction. It does not depend on how many other hops there are.
pub(crate) fn for_stretch(seed: u64, place: u64, way: Direction) -> Random {
    let mixed = seed ^ place.rotate_left(32) ^ u64::from(way == Direction::Down);
    Random::seeded(Random::seeded(mixed).next_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_and_place_has_separate_numbers() {
        let mut all: Vec<u64> = (0..50)
            .flat_map(|place| Direction::BOTH.map(|way| for_stretch(1, place, way).next_u64()))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100);
    }
}
