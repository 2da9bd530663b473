//! Our bytes equal those of aws-lc, whatever the lengths.

use super::{Cpu, Dice, Key, cpu, seal_elsewhere};

/// The lengths at which the tables end and begin again: the bytes that are handled at once, and
/// those of each piece of longer data.
const AT_ONCE: usize = 2016;
const PIECE: usize = 2048;

/// Sealed by both, and opened.
fn compare(dice: &mut Dice, cpu: Cpu, key_length: usize, aad: usize, length: usize) {
    let key = dice.bytes(key_length);
    let (iv, number) = (dice.array(), dice.roll());
    let (aad, plain) = (dice.bytes(aad), dice.bytes(length));
    let own = Key::new(cpu, &key, &iv);
    compare_with(&own, &key, &iv, number, &aad, &plain);
}

fn compare_with(own: &Key, key: &[u8], iv: &[u8; 12], number: u64, aad: &[u8], plain: &[u8]) {
    let (mut one, mut other) = (plain.to_vec(), plain.to_vec());
    let tag = own.seal(number, aad, &mut one);
    let expected = seal_elsewhere(key, iv, number, aad, &mut other);
    let what = (aad.len(), plain.len());
    assert!(one == other, "{what:?}: the ciphertexts differ");
    assert_eq!(tag, expected, "{what:?}");
    assert!(own.open(number, aad, &mut one, &tag), "{what:?}");
    assert!(one == plain, "{what:?}: decrypted, it is something else");
}

#[test]
fn packets_of_every_length() {
    let Some(cpu) = cpu() else { return };
    let mut dice = Dice(1);
    for key_length in [16, 32] {
        let (key, iv) = (dice.bytes(key_length), dice.array());
        let own = Key::new(cpu, &key, &iv);
        let plain = dice.bytes(2 * (AT_ONCE + 100));
        for length in 0..AT_ONCE + 100 {
            let number = dice.roll() >> dice.below(64);
            let aad = &plain[..dice.below(26)];
            compare_with(&own, &key, &iv, number, aad, &plain[length..2 * length]);
        }
    }
}

#[test]
fn headers_of_every_length() {
    let Some(cpu) = cpu() else { return };
    let mut dice = Dice(2);
    for aad in 0..=100 {
        for length in [0, 1, 16, 63, 64, 65, 1200, AT_ONCE, AT_ONCE + 1] {
            compare(&mut dice, cpu, 16, aad, length);
            compare(&mut dice, cpu, 32, aad, length);
        }
    }
    compare(&mut dice, cpu, 16, 5000, 100);
}

#[test]
fn data_around_the_ends_of_the_tables() {
    let Some(cpu) = cpu() else { return };
    let mut dice = Dice(3);
    for pieces in 0..9 {
        for around in [0, 1, 15, 16, 17, 31, 32, 33, 48, 49] {
            let end = AT_ONCE + pieces * PIECE;
            let aad = dice.below(64);
            compare(&mut dice, cpu, 16, aad, end - around);
            compare(&mut dice, cpu, 32, aad, end + around);
        }
    }
}

#[test]
fn long_data_of_random_lengths() {
    let Some(cpu) = cpu() else { return };
    let mut dice = Dice(4);
    for _ in 0..60 {
        let (aad, length) = (dice.below(101), dice.below(20_001));
        compare(&mut dice, cpu, 16, aad, length);
        compare(&mut dice, cpu, 32, aad, length);
    }
}

/// The same in every length: much for a build without optimisation.
#[test]
#[ignore = "takes minutes: cargo test --release -p roundtrip-packet-aead -- --ignored"]
fn data_of_every_length_up_to_20_000() {
    let Some(cpu) = cpu() else { return };
    let mut dice = Dice(5);
    for length in 0..=20_000 {
        let aad = dice.below(101);
        compare(&mut dice, cpu, 16, aad, length);
        compare(&mut dice, cpu, 32, aad, length);
    }
}
