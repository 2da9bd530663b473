//! A packet that was changed anywhere is refused, and nothing of its plaintext is left.

use super::super::aes::AES_128;
use super::{Dice, Gcm, Key, cpu};

#[test]
fn a_change_in_any_place_is_refused() {
    let Some(cpu) = cpu() else { return };
    let mut dice = Dice(6);
    for (key_length, length) in [(16, 0), (32, 5), (16, 300), (32, 300), (16, 2100)] {
        let own = Key::new(cpu, &dice.bytes(key_length), &dice.array());
        let (aad, plain, number) = (dice.bytes(20), dice.bytes(length), dice.roll());
        let mut sealed = plain.clone();
        let tag = own.seal(number, &aad, &mut sealed);
        let refuses = |number, aad: &[u8], sealed: &[u8], tag| {
            let mut data = sealed.to_vec();
            !own.open(number, aad, &mut data, &tag) && data.iter().all(|byte| *byte == 0)
        };
        assert!(!refuses(number, &aad, &sealed, tag));
        for place in 0..length {
            let mut sealed = sealed.clone();
            sealed[place] ^= 1 << dice.below(8);
            assert!(refuses(number, &aad, &sealed, tag), "byte {place}");
        }
        for bit in 0..128 {
            let tag = (u128::from_le_bytes(tag) ^ (1 << bit)).to_le_bytes();
            assert!(refuses(number, &aad, &sealed, tag), "bit {bit} of the tag");
        }
        for place in 0..aad.len() {
            let mut aad = aad.clone();
            aad[place] ^= 1 << dice.below(8);
            assert!(
                refuses(number, &aad, &sealed, tag),
                "byte {place} of the header"
            );
        }
        for bit in 0..64 {
            assert!(refuses(number ^ (1 << bit), &aad, &sealed, tag));
        }
    }
}

/// Lengths are authenticated, so zeros at the end are detected.
#[test]
fn zeros_more_or_less_are_refused() {
    let Some(cpu) = cpu() else { return };
    let own = Key::new(cpu, &[1; 16], &[2; 12]);
    let (mut data, aad) = (vec![0; 40], [0; 10]);
    let tag = own.seal(3, &aad, &mut data);
    assert!(!own.open(3, &aad, &mut data.clone()[..39], &tag));
    assert!(!own.open(3, &aad[..9], &mut data.clone(), &tag));
    assert!(!own.open(3, &[0; 11], &mut data.clone(), &tag));
    assert!(own.open(3, &aad, &mut data, &tag));
}

#[test]
fn wiped_keys_hold_nothing() {
    let Some(cpu) = cpu() else { return };
    let mut gcm = Gcm::<AES_128>::new(cpu, &[7; 16], &[9; 12]);
    let keys = gcm.keys();
    assert!(!keys.is_wiped());
    keys.wipe();
    assert!(keys.is_wiped());
}
