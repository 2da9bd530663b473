//! The library's cipher suites of TLS 1.3, wrapped to tell `intercept` which tickets arrived and
//! which secret belongs to each, and to take that secret from `seal` while a stored session is
//! revived.
//!
//! rustls' sessions cannot be serialised. But rustls does let callers supply the key schedule's
//! hash function (`Hkdf`) and the record protection (`Tls13AeadAlgorithm`). The ones here call the
//! library's and observe.

use std::sync::LazyLock;

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::crypto::{ActiveKeyExchange, aws_lc_rs, hmac};
use rustls::{
    CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, Error,
    SupportedCipherSuite, Tls13CipherSuite,
};

use crate::intercept::TicketReader;
use crate::{intercept, seal};

/// The same objects for every configuration, in the library's order, but AES with 128 bits and
/// SHA-256 first, as browsers offer them: a handshake computes dozens of hashes, and processors
/// have instructions for SHA-256.
static SUITES: LazyLock<Vec<SupportedCipherSuite>> = LazyLock::new(|| {
    let mut suites = aws_lc_rs::default_provider().cipher_suites;
    suites.sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    suites.into_iter().map(observed).collect()
});

pub(crate) fn all() -> Vec<SupportedCipherSuite> {
    SUITES.clone()
}

/// The suite with this IANA number.
pub(crate) fn tls13(number: u16) -> Option<&'static Tls13CipherSuite> {
    SUITES
        .iter()
        .filter_map(SupportedCipherSuite::tls13)
        .find(|suite| u16::from(suite.common.suite) == number)
}

fn observed(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let SupportedCipherSuite::Tls13(real) = suite else {
        return suite;
    };
    // Suites live as long as the program; each is made once.
    let suite = Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: real.common.suite,
            hash_provider: real.common.hash_provider,
            confidentiality_limit: real.common.confidentiality_limit,
        },
        hkdf_provider: Box::leak(Box::new(Schedule(real.hkdf_provider))),
        aead_alg: Box::leak(Box::new(Protection(real.aead_alg))),
        quic: real.quic,
    };
    SupportedCipherSuite::Tls13(Box::leak(Box::new(suite)))
}

struct Schedule(&'static dyn Hkdf);

impl Hkdf for Schedule {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.0.extract_from_zero_ikm(salt)
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.0.extract_from_secret(salt, secret)
    }

    fn extract_from_kx_shared_secret(
        &self,
        salt: Option<&[u8]>,
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
    ) -> Result<Box<dyn HkdfExpander>, Error> {
        self.0.extract_from_kx_shared_secret(salt, kx, peer_pub_key)
    }

    /// The secret of a ticket is derived from a finished secret, not from an intermediate one. RFC
    /// 8446 §7.1.
    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander(self.0.expander_for_okm(okm)))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> hmac::Tag {
        self.0.hmac_sign(key, message)
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

struct Expander(Box<dyn HkdfExpander>);

impl HkdfExpander for Expander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        self.0.expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let Some(nonce) = ticket_nonce(info) else {
            return self.0.expand_block(info);
        };
        if let Some(kept) = seal::ticket_secret(nonce) {
            return kept;
        }
        let secret = self.0.expand_block(info);
        intercept::on_ticket_secret(nonce, &secret);
        secret
    }

    fn hash_len(&self) -> usize {
        self.0.hash_len()
    }
}

/// `HKDF-Expand-Label(resumption_master_secret, "resumption", ticket_nonce, Hash.length)`, RFC 8446
/// §4.6.1: length, label with its length, context with its length (§7.1).
fn ticket_nonce<'a>(info: &[&'a [u8]]) -> Option<&'a [u8]> {
    match *info {
        [_, _, b"tls13 ", b"resumption", _, nonce] => Some(nonce),
        _ => None,
    }
}

struct Protection(&'static dyn Tls13AeadAlgorithm);

impl Tls13AeadAlgorithm for Protection {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        self.0.encrypter(key, iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Decrypter {
            real: self.0.decrypter(key, iv),
            tickets: TicketReader::default(),
        })
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// One decrypter per key: handshake messages do not span a change of keys. RFC 8446 §5.1.
struct Decrypter {
    real: Box<dyn MessageDecrypter>,
    tickets: TicketReader,
}

impl MessageDecrypter for Decrypter {
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain = self.real.decrypt(msg, seq)?;
        if plain.typ == ContentType::Handshake {
            self.tickets.read(plain.payload);
        }
        Ok(plain)
    }
}
