//! Hash functions, taken from the library's cipher suites.

use rustls::SupportedCipherSuite;
use rustls::crypto::{aws_lc_rs, hash};

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> hash::Output {
    let common = match aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256 {
        SupportedCipherSuite::Tls13(suite) => &suite.common,
        SupportedCipherSuite::Tls12(suite) => &suite.common,
    };
    common.hash_provider.hash(bytes)
}

/// The output length of the hash function of the TLS 1.3 suite with this IANA number.
pub(crate) fn hash_length(suite: u16) -> Option<usize> {
    aws_lc_rs::DEFAULT_CIPHER_SUITES
        .iter()
        .filter_map(SupportedCipherSuite::tls13)
        .find(|known| u16::from(known.common.suite) == suite)
        .map(|known| known.common.hash_provider.output_len())
}
