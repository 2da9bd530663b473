//! A packet from its first block to its tag: AES in counter mode, GHASH between its rounds. NIST SP
//! 800-38D §7.1, §7.2.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_setzero_si128, _mm_xor_si128, _mm512_aesenc_epi128,
    _mm512_aesenclast_epi128, _mm512_castsi512_si128, _mm512_mask_blend_epi64, _mm512_or_si512,
    _mm512_set_epi64, _mm512_setzero_si512, _mm512_xor_si512, _mm512_zextsi128_si512,
};

use super::aes;
use super::ghash::{Sum, turn};
use super::keys::{COUNTED, FIRST, Keys, counters_from};
use super::lanes::{BLOCK, LANES, keep, load, load_block, load_some, spread, store, store_some};

/// Vectors that are encrypted side by side: a round of AES takes four cycles, and one begins in
/// each.
const GROUP: usize = 4;
/// In the vector with which the sum begins, the last lane has the lengths, and the others have the
/// header.
const LENGTHS: u8 = 0b1100_0000;
const AAD_AT_ONCE: usize = LANES - BLOCK;

/// Encrypts or decrypts `data`, and returns the tag of the ciphertext. The lowest 32 bits of
/// `nonce` are free for the counter.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn protect<const K: usize, const SEALS: bool>(
    keys: &Keys<K>,
    nonce: u128,
    aad: &[u8],
    data: &mut [u8],
) -> __m128i {
    // First, so that it is done while the rest is.
    let veil = aes::encrypt(&keys.rounds, load_block(&(nonce | 1).to_be_bytes()));
    let lengths = _mm512_set_epi64(bits(aad), bits(data), 0, 0, 0, 0, 0, 0);
    let mut aes = Aes::new(keys, nonce);
    let whole = aad.len() <= AAD_AT_ONCE && data.len() <= room(FIRST);
    let (head, head_blocks, data, first) = if whole {
        (turn(load_some(aad)), blocks(aad), data, FIRST)
    } else {
        let (so_far, rest, first) = begin_long::<K, SEALS>(keys, nonce, &mut aes, aad, data);
        (_mm512_zextsi128_si512(so_far), 0, rest, first)
    };
    let blocks = blocks(data);
    let powers = load(&keys.powers_from(head_blocks + blocks + 1)[0]);
    let powers = _mm512_mask_blend_epi64(LENGTHS, powers, spread(keys.first_power()));
    let mut sum = Sum::zero();
    sum.add(_mm512_or_si512(head, lengths), powers);
    aes.run::<SEALS>(first, keys.powers_from(blocks + 1), data, &mut sum);
    let hash = turn(_mm512_zextsi128_si512(sum.reduce()));
    _mm_xor_si128(_mm512_castsi512_si128(hash), veil)
}

/// Handles longer data in pieces: `GHASH` so far, the data of this piece, and the place in the
/// table of counters where it begins.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn begin_long<'d, const K: usize, const SEALS: bool>(
    keys: &Keys<K>,
    nonce: u128,
    aes: &mut Aes<K>,
    aad: &[u8],
    mut data: &'d mut [u8],
) -> (__m128i, &'d mut [u8], usize) {
    let mut so_far = _mm_setzero_si128();
    for part in aad.chunks(LANES) {
        let blocks = turn(load_some(part));
        let blocks = _mm512_xor_si512(blocks, _mm512_zextsi128_si512(so_far));
        so_far = times(blocks, keys, part.len().div_ceil(BLOCK)).reduce();
    }
    let mut first = FIRST;
    let mut counter = 0;
    while data.len() > room(first) {
        let (piece, rest) = data.split_at_mut(room(first));
        let powers = COUNTED - first;
        let mut sum = times(_mm512_zextsi128_si512(so_far), keys, powers);
        aes.run::<SEALS>(first, keys.powers_from(powers), piece, &mut sum);
        so_far = sum.reduce();
        data = rest;
        first = 0;
        counter += COUNTED as u128;
        aes.begin(nonce | counter);
    }
    (so_far, data, first)
}

#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn times<const K: usize>(blocks: __m512i, keys: &Keys<K>, power: usize) -> Sum {
    let mut sum = Sum::zero();
    sum.add(blocks, load(&keys.powers_from(power)[0]));
    sum
}

/// The round keys in registers.
struct Aes<const K: usize> {
    rounds: [__m512i; K],
    /// Nonce, counter and the first round key; the counter's low bits, which are zero here, come
    /// from the table.
    base: __m512i,
}

impl<const K: usize> Aes<K> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(keys: &Keys<K>, nonce: u128) -> Self {
        let mut aes = Self {
            rounds: [_mm512_setzero_si512(); K],
            base: _mm512_setzero_si512(),
        };
        for (round, key) in aes.rounds.iter_mut().zip(&keys.rounds) {
            *round = spread(key);
        }
        aes.begin(nonce);
        aes
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(&mut self, nonce: u128) {
        self.base = _mm512_xor_si512(spread(&nonce.to_be_bytes()), self.rounds[0]);
    }

    /// Encrypts data that is counted from `first` on, as in the table; multiplies its first block
    /// by the first of the powers, and so on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn run<const SEALS: bool>(
        &self,
        first: usize,
        powers: &[[u8; LANES]],
        data: &mut [u8],
        sum: &mut Sum,
    ) {
        let vectors = data.len() / (GROUP * LANES) * GROUP;
        let (body, tail) = data.split_at_mut(vectors * LANES);
        let (counters, last_counters) = counters_from(first).split_at(vectors);
        let (powers, last_powers) = powers.split_at(vectors);
        let body = body.as_chunks_mut().0.as_chunks_mut().0.iter_mut();
        let groups = body.zip(counters.as_chunks().0.iter().zip(powers.as_chunks().0));
        let last = (last_counters, last_powers);
        if SEALS {
            self.seal(groups, last, tail, sum);
        } else {
            self.open(groups, last, tail, sum);
        }
    }

    /// What was encrypted is hashed while the next is encrypted.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn seal<'d>(
        &self,
        mut groups: impl Iterator<Item = Group<'d>>,
        last: (&[Vector], &[Vector]),
        tail: &mut [u8],
        sum: &mut Sum,
    ) {
        let Some((group, (counters, powers))) = groups.next() else {
            return self.seal_tail(last, tail, ([], &[]), sum);
        };
        let key_stream = self.key_stream(counters, ([], &[]), sum);
        let mut sealed: ([__m512i; GROUP], &[Vector]) = (encrypt(group, key_stream), powers);
        for (group, (counters, powers)) in groups {
            let key_stream = self.key_stream(counters, sealed, sum);
            sealed = (encrypt(group, key_stream), powers);
        }
        self.seal_tail(last, tail, sealed, sum);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn seal_tail<const P: usize>(
        &self,
        tables: (&[Vector], &[Vector]),
        tail: &mut [u8],
        sealed: ([__m512i; P], &[Vector]),
        sum: &mut Sum,
    ) {
        match tail.len().div_ceil(LANES) {
            0 => self.seal_last::<P, 0>(tables, tail, sealed, sum),
            1 => self.seal_last::<P, 1>(tables, tail, sealed, sum),
            2 => self.seal_last::<P, 2>(tables, tail, sealed, sum),
            3 => self.seal_last::<P, 3>(tables, tail, sealed, sum),
            _ => self.seal_last::<P, 4>(tables, tail, sealed, sum),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn seal_last<const P: usize, const T: usize>(
        &self,
        (counters, powers): (&[Vector], &[Vector]),
        tail: &mut [u8],
        sealed: ([__m512i; P], &[Vector]),
        sum: &mut Sum,
    ) {
        let key_stream: [_; T] = self.key_stream(counters, sealed, sum);
        for (part, (key, powers)) in tail.chunks_mut(LANES).zip(key_stream.iter().zip(powers)) {
            let encrypted = _mm512_xor_si512(load_some(part), *key);
            store_some(part, encrypted);
            sum.add(turn(keep(encrypted, part.len())), load(powers));
        }
    }

    /// What is decrypted is hashed at the same time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn open<'d>(
        &self,
        groups: impl Iterator<Item = Group<'d>>,
        last: (&[Vector], &[Vector]),
        tail: &mut [u8],
        sum: &mut Sum,
    ) {
        for (group, (counters, powers)) in groups {
            let mut sealed = [_mm512_setzero_si512(); GROUP];
            for (sealed, vector) in sealed.iter_mut().zip(group.iter()) {
                *sealed = turn(load(vector));
            }
            let key_stream: [_; GROUP] = self.key_stream(counters, (sealed, powers), sum);
            for (vector, key) in group.iter_mut().zip(key_stream) {
                store(vector, _mm512_xor_si512(load(vector), key));
            }
        }
        match tail.len().div_ceil(LANES) {
            0 => {}
            1 => self.open_last::<1>(last, tail, sum),
            2 => self.open_last::<2>(last, tail, sum),
            3 => self.open_last::<3>(last, tail, sum),
            _ => self.open_last::<4>(last, tail, sum),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn open_last<const T: usize>(
        &self,
        (counters, powers): (&[Vector], &[Vector]),
        tail: &mut [u8],
        sum: &mut Sum,
    ) {
        let mut sealed = [_mm512_setzero_si512(); T];
        for (sealed, part) in sealed.iter_mut().zip(tail.chunks(LANES)) {
            *sealed = turn(load_some(part));
        }
        let key_stream: [_; T] = self.key_stream(counters, (sealed, powers), sum);
        for (part, key) in tail.chunks_mut(LANES).zip(key_stream) {
            store_some(part, _mm512_xor_si512(load_some(part), key));
        }
    }

    /// Encrypts counters for G vectors, and meanwhile hashes P others, whose bytes were reversed
    /// before.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
    fn key_stream<const G: usize, const P: usize>(
        &self,
        counters: &[Vector],
        (sealed, powers): ([__m512i; P], &[Vector]),
        sum: &mut Sum,
    ) -> [__m512i; G] {
        let mut states = [_mm512_setzero_si512(); G];
        for (state, counters) in states.iter_mut().zip(counters) {
            *state = _mm512_xor_si512(self.base, load(counters));
        }
        for round in 1..K - 1 {
            for state in &mut states {
                *state = _mm512_aesenc_epi128(*state, self.rounds[round]);
            }
            // Behind the first round, the third and so on.
            if round % 2 == 1 && round / 2 < P {
                sum.add(sealed[round / 2], load(&powers[round / 2]));
            }
        }
        for state in &mut states {
            *state = _mm512_aesenclast_epi128(*state, self.rounds[K - 1]);
        }
        states
    }
}

type Vector = [u8; LANES];
/// Data with its counters and its powers.
type Group<'d> = (
    &'d mut [Vector; GROUP],
    (&'d [Vector; GROUP], &'d [Vector; GROUP]),
);

/// Encrypts in place; also returns the ciphertext with its bytes reversed.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn encrypt(group: &mut [Vector; GROUP], key_stream: [__m512i; GROUP]) -> [__m512i; GROUP] {
    let mut sealed = key_stream;
    for (sealed, vector) in sealed.iter_mut().zip(group) {
        let encrypted = _mm512_xor_si512(load(vector), *sealed);
        store(vector, encrypted);
        *sealed = turn(encrypted);
    }
    sealed
}

/// Bytes that the table counts, from that counter on.
fn room(first: usize) -> usize {
    (COUNTED - first) * BLOCK
}

fn blocks(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(BLOCK)
}

fn bits(bytes: &[u8]) -> i64 {
    (bytes.len() as u64 * 8).cast_signed()
}
