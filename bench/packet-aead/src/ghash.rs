//! GHASH in vectors of four blocks: products that are added up, reduced once. NIST SP 800-38D §6.3
//! and §6.4.
//!
//! GCM counts a block's bits from its first byte's highest: once the bytes are reversed, bit i
//! of a register stands for x^(127-i). Products of such numbers come out shifted by one bit, for
//! which the powers of H make up: they are kept as H^n·x^-1, in GCM's terms. A product's lower half
//! then stands for x^128 and above, and is folded into the upper half 64 bits at a time (as
//! Montgomery reduces numbers), for x^128 = x^7 + x^2 + x + 1.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_set_epi64x, _mm_xor_si128, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_xor_si256, _mm512_broadcast_i32x4, _mm512_castsi512_si256,
    _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_shuffle_epi32, _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

/// x^7 + x^2 + x + 1 as bits are counted here, without the highest.
const REDUCER: i64 = 0xc2_u64.rotate_right(8).cast_signed();
/// Truth table of a ^ b ^ c.
const XOR_3: i32 = 0x96;
const SWAP_HALVES: i32 = 0x4e;

/// Unreduced sums of products, lane by lane: their lower, middle and upper parts, which overlap by
/// 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Sum {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> Self {
        let zero = _mm512_setzero_si512();
        Self {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// Each block (its bytes reversed) times its power.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn add(&mut self, blocks: __m512i, powers: __m512i) {
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128::<0x00>(blocks, powers));
        self.middle = _mm512_ternarylogic_epi64::<XOR_3>(
            self.middle,
            _mm512_clmulepi64_epi128::<0x01>(blocks, powers),
            _mm512_clmulepi64_epi128::<0x10>(blocks, powers),
        );
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128::<0x11>(blocks, powers));
    }

    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn reduce_lanes(self) -> __m512i {
        let reducer = _mm512_set1_epi64(REDUCER);
        let middle = _mm512_ternarylogic_epi64::<XOR_3>(
            self.middle,
            _mm512_shuffle_epi32::<SWAP_HALVES>(self.low),
            _mm512_clmulepi64_epi128::<0x00>(self.low, reducer),
        );
        _mm512_ternarylogic_epi64::<XOR_3>(
            self.high,
            _mm512_shuffle_epi32::<SWAP_HALVES>(middle),
            _mm512_clmulepi64_epi128::<0x00>(middle, reducer),
        )
    }

    /// All of it in one block, its bytes reversed.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn reduce(self) -> __m128i {
        let four = self.reduce_lanes();
        let two = _mm256_xor_si256(
            _mm512_castsi512_si256(four),
            _mm512_extracti64x4_epi64::<1>(four),
        );
        _mm_xor_si128(
            _mm256_castsi256_si128(two),
            _mm256_extracti128_si256::<1>(two),
        )
    }
}

/// Converts H from a block of AES to the form in which powers are kept.
pub(super) fn shift(block: u128) -> u128 {
    const ABOVE: u128 = (0xc2 << 120) | 1;
    let h = block.swap_bytes();
    let is_carried = 0u128.wrapping_sub(h >> 127);
    (h << 1) ^ (ABOVE & is_carried)
}

/// One product in each lane, reduced.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
pub(super) fn multiply(one: __m512i, other: __m512i) -> __m512i {
    let mut sum = Sum::zero();
    sum.add(one, other);
    sum.reduce_lanes()
}

/// Turns the bytes of each block round.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn turn(blocks: __m512i) -> __m512i {
    let order = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order))
}
