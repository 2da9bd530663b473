//! The ciphers of TLS and QUIC for a passive reader: keys from a secret, and records or packets
//! opened. RFC 8446 §5.2 and §7.3, RFC 9001 §5.

use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, HKDF_SHA384, KeyType, Prk};

use crate::{Error, Result};

/// The tag of the AEAD, in bytes.
pub(crate) const TAG: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Cipher {
    /// The ciphers of TLS 1.3 whose secrets have this length, the length of the hash.
    pub(crate) fn with_secret_length(length: usize) -> &'static [Self] {
        match length {
            32 => &[Self::Aes128, Self::ChaCha20],
            48 => &[Self::Aes256],
            _ => &[],
        }
    }

    pub(crate) fn key_length(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 | Self::ChaCha20 => 32,
        }
    }

    /// Makes a key for further derivations.
    pub(crate) fn secret(self, bytes: &[u8]) -> Prk {
        let hash = match self {
            Self::Aes128 | Self::ChaCha20 => HKDF_SHA256,
            Self::Aes256 => HKDF_SHA384,
        };
        Prk::new_less_safe(hash, bytes)
    }

    fn aead(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128 => &aead::AES_128_GCM,
            Self::Aes256 => &aead::AES_256_GCM,
            Self::ChaCha20 => &aead::CHACHA20_POLY1305,
        }
    }

    pub(crate) fn header_key(self, secret: &[u8], label: &str) -> Result<HeaderProtectionKey> {
        let algorithm = match self {
            Self::Aes128 => &quic::AES_128,
            Self::Aes256 => &quic::AES_256,
            Self::ChaCha20 => &quic::CHACHA20,
        };
        let key = expand_label(&self.secret(secret), label, self.key_length())?;
        HeaderProtectionKey::new(algorithm, &key).map_err(|_| Error::Protected)
    }
}

/// Opens the records or packets of one side.
pub(crate) struct PacketKey {
    key: LessSafeKey,
    iv: [u8; 12],
}

impl PacketKey {
    pub(crate) fn new(cipher: Cipher, key: &[u8], iv: [u8; 12]) -> Result<Self> {
        let key = UnboundKey::new(cipher.aead(), key).map_err(|_| Error::Protected)?;
        let key = LessSafeKey::new(key);
        Ok(Self { key, iv })
    }

    pub(crate) fn derive(
        cipher: Cipher,
        secret: &[u8],
        key_label: &str,
        iv_label: &str,
    ) -> Result<Self> {
        let secret = cipher.secret(secret);
        let key = expand_label(&secret, key_label, cipher.key_length())?;
        let iv = expand_label(&secret, iv_label, 12)?;
        Self::new(cipher, &key, iv.try_into().map_err(|_| Error::Protected)?)
    }

    /// Opens what was sealed under this number; `sealed` is overwritten if that fails.
    pub(crate) fn open(&self, number: u64, header: &[u8], sealed: &mut Vec<u8>) -> Result<()> {
        let mut nonce = self.iv;
        let number = number.to_be_bytes();
        for (byte, bits) in nonce.iter_mut().skip(4).zip(number) {
            *byte ^= bits;
        }
        self.open_with(nonce, header, sealed)
    }

    /// Like [`Self::open`], with an explicit nonce: in TLS 1.2 its last eight bytes are in the
    /// record. RFC 5288 §3.
    pub(crate) fn open_explicit(
        &self,
        explicit: [u8; 8],
        header: &[u8],
        sealed: &mut Vec<u8>,
    ) -> Result<()> {
        let mut nonce = self.iv;
        for (byte, bits) in nonce.iter_mut().skip(4).zip(explicit) {
            *byte = bits;
        }
        self.open_with(nonce, header, sealed)
    }

    fn open_with(&self, nonce: [u8; 12], header: &[u8], sealed: &mut Vec<u8>) -> Result<()> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = self.key.open_in_place(nonce, Aad::from(header), sealed);
        let length = opened.map_err(|_| Error::Protected)?.len();
        sealed.truncate(length);
        Ok(())
    }
}

/// HKDF-Expand-Label without context. RFC 8446 §7.1.
pub(crate) fn expand_label(secret: &Prk, label: &str, length: usize) -> Result<Vec<u8>> {
    let size = (length as u16).to_be_bytes();
    let label_length = [(6 + label.len()) as u8];
    let info = [
        size.as_slice(),
        &label_length,
        b"tls13 ",
        label.as_bytes(),
        &[0],
    ];
    let mut key = vec![0; length];
    secret
        .expand(&info, Length(length))
        .and_then(|expanded| expanded.fill(&mut key))
        .map_err(|_| Error::Protected)?;
    Ok(key)
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}
