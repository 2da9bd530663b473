//! Games from seeds, with an adversary that has the keys; `fuzz/fuzz_targets/quic_adversary.rs`
//! searches for more of them.

use super::adversary::{Reached, play};
use super::link::Dice;

const SEEDS: u64 = 120;

#[test]
fn whatever_a_peer_with_the_keys_does_the_engine_keeps_its_bounds() {
    let mut all = Vec::new();
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let mut bytes = dice.bytes(3000);
        // Either side, mostly without Retry and without waiting for the owner.
        bytes[0] = (seed & 1) as u8 | if seed % 8 == 7 { 0x0e } else { 0 };
        all.push(play(&bytes));
    }
    // They get far enough to find something.
    let sum = |of: fn(&Reached) -> u64| all.iter().map(of).sum::<u64>();
    let connected = sum(|reached| reached.connected.into());
    assert!(connected > SEEDS / 2, "{connected} connected");
    let packets = sum(|reached| reached.packets);
    assert!(packets > 20 * SEEDS, "{packets} packets");
    let (moves, bytes) = (
        sum(|reached| reached.migrations),
        sum(|reached| reached.bytes_read),
    );
    assert!(moves > 10 && bytes > 1000, "{moves} moves, {bytes} bytes");
}

#[test]
fn the_same_bytes_play_the_same_game() {
    for seed in 0..4 {
        let bytes = Dice::new(1000 + seed).bytes(2000);
        let [first, second] = [play(&bytes), play(&bytes)].map(|reached| format!("{reached:?}"));
        assert_eq!(first, second);
    }
}
