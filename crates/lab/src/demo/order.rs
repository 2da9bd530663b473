//! The order in which ways are measured: they alternate, so that disturbances affect all of them
//! equally.

use roundtrip_model::Random;

/// Indices of ways, round after round. The first round goes from top to bottom, so that the table
/// fills in reading order; later rounds are shuffled. The same seed gives the same order.
pub(super) fn rounds(ways: usize, runs: u32, seed: u64) -> Vec<usize> {
    let mut random = Random::seeded(seed);
    let mut order: Vec<usize> = (0..ways).collect();
    let mut all = order.clone();
    for _ in 1..runs {
        random.shuffle(&mut order);
        all.extend(&order);
    }
    all
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
}
