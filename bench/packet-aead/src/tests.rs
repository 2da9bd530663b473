//! Agreement with aws-lc and with published vectors; data that is not authentic is refused. If the
//! processor lacks the instructions, the tests report that and do nothing.

#![allow(clippy::unwrap_used)] // what a test's helper expects is expected of the code

mod equality;
mod suites;
mod tampering;
mod vectors;

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, UnboundKey};

use super::aes::{AES_128, AES_256};
use super::cpu::Cpu;
use super::gcm::{Gcm, Nonce};

const TAG: usize = 16;

/// Keys of both sizes, as one type.
enum Key {
    Short(Gcm<AES_128>),
    Long(Gcm<AES_256>),
}

impl Key {
    fn new(cpu: Cpu, key: &[u8], iv: &[u8; 12]) -> Self {
        match key.len() {
            16 => Self::Short(Gcm::new::<16>(cpu, key.try_into().unwrap(), iv)),
            _ => Self::Long(Gcm::new::<32>(cpu, key.try_into().unwrap(), iv)),
        }
    }

    fn seal(&self, number: u64, aad: &[u8], data: &mut [u8]) -> [u8; TAG] {
        let nonce = Nonce { path: 0, number };
        let tag = match self {
            Self::Short(gcm) => gcm.seal(nonce, aad, data),
            Self::Long(gcm) => gcm.seal(nonce, aad, data),
        };
        tag.unwrap()
    }

    fn open(&self, number: u64, aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> bool {
        let nonce = Nonce { path: 0, number };
        let opened = match self {
            Self::Short(gcm) => gcm.open(nonce, aad, data, tag),
            Self::Long(gcm) => gcm.open(nonce, aad, data, tag),
        };
        opened.is_some()
    }
}

fn cpu() -> Option<Cpu> {
    let cpu = Cpu::detect();
    if cpu.is_none() {
        eprintln!("SKIPPED: this processor has no AVX-512 with VAES and VPCLMULQDQ");
    }
    cpu
}

/// The result of aws-lc: the nonce is the initialization vector with the number in its last bytes.
fn seal_elsewhere(
    key: &[u8],
    iv: &[u8; 12],
    number: u64,
    aad: &[u8],
    data: &mut [u8],
) -> [u8; TAG] {
    let algorithm = if key.len() == 16 {
        &AES_128_GCM
    } else {
        &AES_256_GCM
    };
    let key = LessSafeKey::new(UnboundKey::new(algorithm, key).unwrap());
    let mut nonce = *iv;
    for (byte, other) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= other;
    }
    let nonce = aws_lc_rs::aead::Nonce::assume_unique_for_key(nonce);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), data);
    tag.unwrap().as_ref().try_into().unwrap()
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.roll() as u8).collect()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap()
    }
}
