//! AES-GCM made for packets: the cipher suites of a rustls provider whose QUIC keys protect 1 to 2
//! kB at a time faster than a library made for long records does. No released program holds it:
//! `perf` measures with it, by the feature `packet-aead`.
//!
//! **Not reviewed by cryptographers.** It agrees byte for byte with aws-lc over random keys and
//! lengths, and with published test vectors, branches on no secret and looks nothing up by one;
//! that is no proof. It is for measuring what QUIC would cost with it; everything that protects
//! something uses aws-lc.
//!
//! What is different from a library's AES-GCM, all of it because packets are short:
//! - GHASH multiplies each block by its own power of H and adds up the products of the whole
//!   packet, header and lengths included, before it reduces *once*: the powers are a table, made
//!   when the key is (`keys`).
//! - Counter blocks are not counted: they are another table, by which the nonce is XORed.
//! - Each vector of four blocks (VAES, VPCLMULQDQ, AVX-512) is hashed between the rounds of AES of
//!   others (`run`).
//!
//! Packets with more blocks than the table has powers are sealed in pieces, with one reduction for
//! each.
//!
//! Keys and powers are wiped when they are dropped; copies that the compiler put on the stack are
//! not found.
//!
//! The header's protection is beside it, a single AES block; TLS records stay aws-lc's. Processors
//! without those instructions get aws-lc's suites as they are. `unsafe` is in `lanes` (loads and
//! stores) and in `gcm` (entry).

#[cfg(target_arch = "x86_64")]
mod aes;
#[cfg(target_arch = "x86_64")]
mod cpu;
#[cfg(target_arch = "x86_64")]
mod gcm;
#[cfg(target_arch = "x86_64")]
mod ghash;
#[cfg(target_arch = "x86_64")]
mod keys;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod run;
#[cfg(target_arch = "x86_64")]
mod suites;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use rustls::SupportedCipherSuite;
use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// aws-lc's provider, except that QUIC's keys of the AES suites are made here, if the processor
/// supports that.
#[must_use]
pub fn provider() -> CryptoProvider {
    let plain = aws_lc_rs::default_provider();
    CryptoProvider {
        cipher_suites: plain.cipher_suites.into_iter().map(suite).collect(),
        ..plain
    }
}

/// The suite of the same name with this module's QUIC keys, if the suite and the processor support
/// them; otherwise the suite itself.
#[must_use]
pub fn suite(plain: SupportedCipherSuite) -> SupportedCipherSuite {
    #[cfg(target_arch = "x86_64")]
    if let Some(made) = suites::made_here(plain) {
        return made;
    }
    plain
}

/// Whether this processor has the instructions. If it does not, [`provider`] is that of aws-lc.
#[must_use]
pub fn is_supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    return cpu::Cpu::detect().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    false
}
