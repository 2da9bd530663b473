//! AES with the processor's rounds: round keys from a key, single blocks. FIPS 197. `run` handles
//! many blocks at once.

use std::arch::x86_64::{
    __m128i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_aeskeygenassist_si128, _mm_cvtsi128_si32,
    _mm_set1_epi32, _mm_xor_si128,
};

use zeroize::Zeroizing;

use super::lanes::{BLOCK, load_block};

/// One more key than there are rounds: 11 and 15 for keys of 128 and 256 bits.
pub(super) type RoundKeys<const K: usize> = [[u8; BLOCK]; K];

pub(super) const AES_128: usize = 11;
pub(super) const AES_256: usize = 15;

/// The length of the longest schedule.
const WORDS: usize = 4 * AES_256;

/// FIPS 197 §5.2, for keys of 16 bytes (K = 11) and of 32 (K = 15). A word's first byte is its
/// lowest here.
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn expand<const K: usize, const KEY: usize>(
    key: &[u8; KEY],
    round_keys: &mut RoundKeys<K>,
) {
    const { assert!((K == AES_128 && KEY == 16) || (K == AES_256 && KEY == 32)) }
    let given = KEY / 4;
    let mut words = Zeroizing::new([0u32; WORDS]);
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let mut constant = 1;
    for at in given..4 * K {
        let mut word = words[at - 1];
        if at % given == 0 {
            word = substitute(word.rotate_right(8)) ^ constant;
            // Doubled in GF(2⁸): the tenth is the first that is reduced.
            constant = (constant << 1) ^ (0x11b * (constant >> 7));
        } else if given == 8 && at % given == 4 {
            word = substitute(word);
        }
        words[at] = words[at - given] ^ word;
    }
    let bytes = round_keys.as_flattened_mut().as_chunks_mut().0;
    for (bytes, word) in bytes.iter_mut().zip(words.iter()) {
        *bytes = word.to_le_bytes();
    }
}

/// The S-box on each byte, without a table.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn substitute(word: u32) -> u32 {
    let words = _mm_set1_epi32(word.cast_signed());
    _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(words)).cast_unsigned()
}

#[target_feature(enable = "aes,sse4.1")]
pub(super) fn encrypt<const K: usize>(round_keys: &RoundKeys<K>, block: __m128i) -> __m128i {
    let mut state = block;
    for (round, key) in round_keys.iter().enumerate() {
        let key = load_block(key);
        state = match round {
            0 => _mm_xor_si128(state, key),
            _ if round == K - 1 => _mm_aesenclast_si128(state, key),
            _ => _mm_aesenc_si128(state, key),
        };
    }
    state
}
