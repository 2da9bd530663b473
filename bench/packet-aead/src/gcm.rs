//! AES-GCM and the mask of headers as safe Rust sees them: keys that only exist where the processor
//! has what they need.

#![allow(unsafe_code)] // to enter functions that enable features of the processor

use super::aes::{self, RoundKeys};
use super::cpu::Cpu;
use super::keys::Keys;
use super::lanes::{BLOCK, load_block, store_block};
use super::run;

pub(super) const TAG: usize = 16;
pub(super) const IV: usize = 12;

/// NIST SP 800-38D §5.2.1.1: 2³⁹ - 256 bits, for the counter has 32.
const MAX_DATA: u64 = (1 << 36) - 32;

/// The key of a direction's packets. K: how many round keys it has.
pub(super) struct Gcm<const K: usize> {
    keys: Box<Keys<K>>,
    /// This key exists only if the processor has what `run` enables.
    _cpu: Cpu,
}

impl<const K: usize> Gcm<K> {
    pub(super) fn new<const KEY: usize>(cpu: Cpu, key: &[u8; KEY], iv: &[u8; IV]) -> Self {
        let mut keys = Keys::empty();
        let iv = iv.iter().fold(0, |iv, byte| iv << 8 | u128::from(*byte));
        keys.iv = iv << 32;
        // SAFETY: a `Cpu` only exists where the processor has these features.
        unsafe { keys.fill(key) };
        Self { keys, _cpu: cpu }
    }

    /// Encrypts `data` in place. Returns `None` and changes nothing if it is too long.
    pub(super) fn seal(&self, nonce: Nonce, aad: &[u8], data: &mut [u8]) -> Option<[u8; TAG]> {
        check_length(data)?;
        let mut tag = [0; TAG];
        // SAFETY: a `Cpu` only exists where the processor has these features.
        unsafe {
            let value = run::protect::<K, true>(&self.keys, self.nonce(nonce), aad, data);
            store_block(&mut tag, value);
        }
        Some(tag)
    }

    /// Decrypts `data` in place. If it is not authentic, returns `None` and overwrites it with
    /// zeros.
    pub(super) fn open(
        &self,
        nonce: Nonce,
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8; TAG],
    ) -> Option<()> {
        check_length(data)?;
        let mut right = [0; TAG];
        // SAFETY: a `Cpu` only exists where the processor has these features.
        unsafe {
            let value = run::protect::<K, false>(&self.keys, self.nonce(nonce), aad, data);
            store_block(&mut right, value);
        }
        // One comparison of all bits: its duration does not show where they differ.
        let difference = u128::from_ne_bytes(right) ^ u128::from_ne_bytes(*tag);
        if std::hint::black_box(difference) == 0 {
            return Some(());
        }
        data.fill(0);
        None
    }

    #[cfg(test)]
    pub(super) fn keys(&mut self) -> &mut Keys<K> {
        &mut self.keys
    }

    fn nonce(&self, nonce: Nonce) -> u128 {
        let above = u128::from(nonce.path) << 96 | u128::from(nonce.number) << 32;
        self.keys.iv ^ above
    }
}

fn check_length(data: &[u8]) -> Option<()> {
    (data.len() as u64 <= MAX_DATA).then_some(())
}

/// What is XORed with the initialization vector. RFC 9001 §5.3, and the paths of multipath QUIC.
#[derive(Clone, Copy)]
pub(super) struct Nonce {
    pub(super) path: u32,
    pub(super) number: u64,
}

/// The key that masks headers. RFC 9001 §5.4.3.
pub(super) struct Masker<const K: usize> {
    round_keys: Box<zeroize::Zeroizing<RoundKeys<K>>>,
    /// This key exists only if the processor has AES.
    _cpu: Cpu,
}

impl<const K: usize> Masker<K> {
    pub(super) fn new<const KEY: usize>(cpu: Cpu, key: &[u8; KEY]) -> Self {
        let mut round_keys = Box::new(zeroize::Zeroizing::new([[0; BLOCK]; K]));
        // SAFETY: a `Cpu` only exists where the processor has these features.
        unsafe { aes::expand(key, &mut round_keys) };
        Self {
            round_keys,
            _cpu: cpu,
        }
    }

    pub(super) fn mask(&self, sample: &[u8; BLOCK]) -> [u8; BLOCK] {
        let mut mask = [0; BLOCK];
        // SAFETY: a `Cpu` only exists where the processor has these features.
        unsafe {
            let value = aes::encrypt(&self.round_keys, load_block(sample));
            store_block(&mut mask, value);
        }
        mask
    }
}
