//! The values that a key needs for all of its packets, and that are made once: round keys and
//! powers of H; and the table of counters, which is the same for all keys.

use std::arch::x86_64::_mm512_mask_blend_epi64;

use zeroize::Zeroize;

use super::aes::{self, RoundKeys};
use super::ghash;
use super::lanes::{BLOCK, LANES, load_block, spread, store, store_block};

/// One table counts this many blocks; the first two of a packet contain no data.
pub(super) const COUNTED: usize = 128;
/// The counter of the first block of data; the one before it is for the tag. NIST SP 800-38D §7.1.
pub(super) const FIRST: usize = 2;
/// The powers of H up to 132: one for each counted block, three for the header, and one for the
/// lengths.
const POWERS: usize = 132;
/// Zeros behind H^1, because vectors that end with it are longer.
const ZEROS: usize = 4;

/// Wiped when it is dropped. It is in a box from the beginning, so that no copies remain elsewhere.
#[repr(C, align(64))]
pub(super) struct Keys<const K: usize> {
    /// From the highest to the first, in the form of `ghash`.
    powers: [u8; (POWERS + ZEROS) * BLOCK],
    pub(super) rounds: RoundKeys<K>,
    /// As a number, above 32 bits for the counter.
    pub(super) iv: u128,
}

impl<const K: usize> Keys<K> {
    pub(super) fn empty() -> Box<Self> {
        Box::new(Self {
            powers: [0; _],
            rounds: [[0; _]; _],
            iv: 0,
        })
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,aes,sse4.1")]
    pub(super) fn fill<const KEY: usize>(&mut self, key: &[u8; KEY]) {
        aes::expand(key, &mut self.rounds);
        let mut h = [0; BLOCK];
        let encrypted = aes::encrypt(&self.rounds, load_block(&h));
        store_block(&mut h, encrypted);
        let mut shifted = ghash::shift(u128::from_le_bytes(h)).to_le_bytes();
        self.raise(&shifted);
        h.zeroize();
        shifted.zeroize();
    }

    /// All powers of H, four at a time.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,aes,sse4.1")]
    fn raise(&mut self, h: &[u8; BLOCK]) {
        let first = spread(h);
        let second = ghash::multiply(first, first);
        let third = ghash::multiply(second, first);
        let fourth = ghash::multiply(second, second);
        let upper = _mm512_mask_blend_epi64(0b0000_1100, fourth, third);
        let lower = _mm512_mask_blend_epi64(0b1100_0000, second, first);
        let mut powers = _mm512_mask_blend_epi64(0b1111_0000, upper, lower);
        let vectors = self.powers.as_chunks_mut::<LANES>().0;
        for place in vectors.iter_mut().rev().skip(ZEROS * BLOCK / LANES) {
            store(place, powers);
            powers = ghash::multiply(powers, fourth);
        }
    }

    /// From this one on. What follows H^1 is zero.
    #[inline]
    pub(super) fn powers_from(&self, power: usize) -> &[[u8; LANES]] {
        let from = (POWERS - power) * BLOCK;
        self.powers[from..].as_chunks().0
    }

    #[inline]
    pub(super) fn first_power(&self) -> &[u8; BLOCK] {
        &self.powers.as_chunks().0[POWERS - 1]
    }
}

impl<const K: usize> Keys<K> {
    /// In a way that the compiler does not leave out.
    pub(super) fn wipe(&mut self) {
        self.powers.zeroize();
        self.rounds.zeroize();
        self.iv.zeroize();
    }

    #[cfg(test)]
    pub(super) fn is_wiped(&self) -> bool {
        let mut bytes = self.powers.iter().chain(self.rounds.as_flattened());
        bytes.all(|byte| *byte == 0) && self.iv == 0
    }
}

impl<const K: usize> Drop for Keys<K> {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// Blocks that are zero but for the counter, 0 to 131. Block [`FIRST`] is where a cache line
/// begins.
#[repr(C, align(64))]
struct Counters {
    before: [[u8; BLOCK]; LANES / BLOCK - FIRST],
    blocks: [[u8; BLOCK]; COUNTED + LANES / BLOCK],
}

static COUNTERS: Counters = Counters {
    before: [[0; _]; _],
    blocks: {
        let mut blocks = [[0; BLOCK]; COUNTED + LANES / BLOCK];
        let mut at = 0;
        while at < blocks.len() {
            blocks[at] = (at as u128).to_be_bytes();
            at += 1;
        }
        blocks
    },
};

/// Counter blocks from that one on.
#[inline]
pub(super) fn counters_from(first: usize) -> &'static [[u8; LANES]] {
    COUNTERS.blocks[first..].as_flattened().as_chunks().0
}
