//! Bytes into vector registers and back, without a byte before or behind. Nothing is computed here.

#![allow(unsafe_code)] // the intrinsics that take pointers

use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm512_broadcast_i32x4,
    _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_maskz_mov_epi8,
    _mm512_storeu_si512,
};

/// The size of one register: four blocks.
pub(super) const LANES: usize = 64;
pub(super) const BLOCK: usize = 16;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; LANES]) -> __m512i {
    // SAFETY: the reference is to all of the 64 bytes; they need not be aligned.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(bytes: &mut [u8; LANES], value: __m512i) {
    // SAFETY: the reference is to all of the 64 bytes, and there is no other; they need not be
    // aligned.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}

/// Loads the first 64 bytes, or as many as there are, followed by zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn load_some(bytes: &[u8]) -> __m512i {
    // SAFETY: the mask has a bit for bytes of the slice alone, and bytes without a bit are not
    // touched.
    unsafe { _mm512_maskz_loadu_epi8(mask(bytes.len()), bytes.as_ptr().cast()) }
}

/// Stores into the first 64 bytes, or as many as there are.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn store_some(bytes: &mut [u8], value: __m512i) {
    // SAFETY: the mask has a bit for bytes of the slice alone, and bytes without a bit are not
    // touched.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask(bytes.len()), value) }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn load_block(block: &[u8; BLOCK]) -> __m128i {
    // SAFETY: the reference is to all of the 16 bytes; they need not be aligned.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn store_block(block: &mut [u8; BLOCK], value: __m128i) {
    // SAFETY: the reference is to all of the 16 bytes, and there is no other; they need not be
    // aligned.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

/// The same block four times.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn spread(block: &[u8; BLOCK]) -> __m512i {
    _mm512_broadcast_i32x4(load_block(block))
}

/// The first bytes, and zeros behind them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn keep(value: __m512i, bytes: usize) -> __m512i {
    _mm512_maskz_mov_epi8(mask(bytes), value)
}

/// Has a bit for each of the first bytes, for at most 64.
fn mask(bytes: usize) -> u64 {
    match bytes {
        LANES.. => u64::MAX,
        fewer => (1 << fewer) - 1,
    }
}
