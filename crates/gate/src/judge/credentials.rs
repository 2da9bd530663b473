//! Turns a session's stored `credentials` into its `Authorization` value. Three forms are read:
//!
//! - `v1.<kid>.<nonce>.<ciphertext>`: AES-256-GCM with a random nonce, and the `sid` as associated
//!   data, so that it cannot be moved to another session. This is the only form that is written.
//! - Standard base64 of `user:password`, as in hyper-auth-proxy; unless it is
//!   [refused](Vault::refuse_plain).
//! - Standard base64 of iv (16 bytes) ‖ AES-256-CBC with PKCS#7 padding, **without** a MAC, for
//!   migration only. It replaces plain base64, from which it cannot be distinguished, once its key
//!   [is given](Vault::read_cbc). Anyone who can write to the store can change what such a value
//!   means without being noticed: reseal the sessions, then remove the key.
//!
//! `sealed_text` seals logins and what belongs to them with keys that are derived from the same
//! ones.
//!
//! The plain text must be UTF-8 with a colon and without control characters. The store decides
//! where it is kept.

mod sealed_text;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::hkdf::Prk;
use aws_lc_rs::iv::FixedLength;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT, URL_SAFE_NO_PAD};
use roundtrip_wire::envelope::{self, Envelope};
use roundtrip_wire::unhex;
use zeroize::Zeroizing;

pub use crate::error::CredentialsError;
use crate::{GateError, Secret};

/// The largest number of keys that may open credentials; the first one seals.
const MAX_KEYS: usize = 16;
const KEY_LENGTH: usize = 32;
const IV_LENGTH: usize = 16;

/// The keys of sessions' credentials. It has no `Debug`.
pub struct Vault {
    keys: Vec<VaultKey>,
    cbc: Option<Zeroizing<[u8; KEY_LENGTH]>>,
    plain: bool,
}

struct VaultKey {
    name: String,
    aead: LessSafeKey,
    /// The key from which the keys for single texts are derived.
    texts: Prk,
}

impl Default for Vault {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            cbc: None,
            plain: true,
        }
    }
}

impl Vault {
    /// Adds a key of 32 bytes: raw, in base64, or in hex. The first one that is added seals.
    pub fn add_key(&mut self, name: &str, key: &Secret) -> Result<(), GateError> {
        let bad = |why| GateError::Key {
            name: name.to_owned(),
            why,
        };
        if !envelope::is_key_id(name) {
            return Err(bad(
                "its name has to be 1 to 64 letters, digits, '-' or '_'",
            ));
        }
        if self.keys.iter().any(|key| key.name == name) {
            return Err(bad("another key has the same name"));
        }
        if self.keys.len() >= MAX_KEYS {
            return Err(GateError::TooManyKeys(MAX_KEYS));
        }
        let key = key_bytes(key).ok_or(bad("it has to be 32 bytes: raw, in base64, or in hex"))?;
        let texts = sealed_text::derive(&*key);
        let key = UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| GateError::Cryptography)?;
        self.keys.push(VaultKey {
            name: name.to_owned(),
            aead: LessSafeKey::new(key),
            texts,
        });
        Ok(())
    }

    /// Makes the vault read unsealed credentials as AES-256-CBC.
    pub fn read_cbc(&mut self, key: &Secret) -> Result<(), GateError> {
        self.cbc = key_bytes(key);
        self.cbc.as_ref().map(|_| ()).ok_or_else(|| GateError::Key {
            name: "AES-256-CBC".into(),
            why: "it has to be 32 bytes: raw, in base64, or in hex",
        })
    }

    /// Makes the vault refuse plain base64.
    pub fn refuse_plain(&mut self) {
        self.plain = false;
    }

    /// The name of the sealing key, if there is one.
    pub fn seals_with(&self) -> Option<&str> {
        self.keys.first().map(|key| key.name.as_str())
    }

    /// Whether plain base64 is accepted.
    pub fn takes_plain(&self) -> bool {
        self.plain && self.cbc.is_none()
    }

    pub fn takes_cbc(&self) -> bool {
        self.cbc.is_some()
    }

    /// Seals `user:password` for one session, with a nonce from the system. Random nonces of 96
    /// bits suffice for 2³² sealings under one key (NIST SP 800-38D §8.3).
    pub fn seal(&self, session: &str, login: &Secret) -> Result<String, GateError> {
        if !is_login(login.line()) {
            return Err(GateError::NotALogin);
        }
        let VaultKey { name, aead, .. } = self.keys.first().ok_or(GateError::NoSealingKey)?;
        let mut nonce = [0; envelope::NONCE];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| GateError::Cryptography)?;
        // The capacity includes the tag: a reallocation would leave a copy of the password in
        // memory.
        let mut sealed = Vec::with_capacity(login.line().len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(login.line());
        let aad = Aad::from(session.as_bytes());
        aead.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(|_| GateError::Cryptography)?;
        let envelope = Envelope {
            key_id: name.clone(),
            nonce,
            ciphertext: sealed,
        };
        Ok(envelope.encode())
    }

    /// Opens a session's stored credentials; returns `user:password`.
    pub fn open(&self, session: &str, stored: &[u8]) -> Result<Secret, CredentialsError> {
        let stored = stored.trim_ascii_end();
        let opened = if Envelope::is_meant(stored) {
            self.unseal(session, stored)?
        } else if let Some(key) = &self.cbc {
            decrypt_cbc(key, stored)?
        } else if self.plain {
            decode(stored)?
        } else {
            return Err(CredentialsError::Plain);
        };
        // One newline, as `echo` adds it.
        let login = opened.strip_suffix(b"\n").unwrap_or(&opened);
        if !is_login(login) {
            return Err(CredentialsError::NotALogin);
        }
        Ok(Secret::new(login.to_vec()))
    }

    fn key(&self, name: &str) -> Option<&VaultKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    fn unseal(&self, session: &str, stored: &[u8]) -> Result<Zeroizing<Vec<u8>>, CredentialsError> {
        let envelope = Envelope::parse(stored).map_err(|_| CredentialsError::Malformed)?;
        let key = self.key(&envelope.key_id);
        let key = key.ok_or(CredentialsError::NoSuchKey)?;
        let nonce = Nonce::assume_unique_for_key(envelope.nonce);
        let mut bytes = Zeroizing::new(envelope.ciphertext);
        let opened = key
            .aead
            .open_in_place(nonce, Aad::from(session.as_bytes()), &mut bytes);
        let length = opened.map_err(|_| CredentialsError::Closed)?.len();
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// The value of `Authorization` for a login. RFC 7617 §2.
pub(crate) fn authorization(login: &Secret) -> Secret {
    let encoded = Zeroizing::new(STANDARD.encode(login.expose()));
    Secret::new([b"Basic ", encoded.as_bytes()].concat())
}

/// Whether this can be `user:password`. RFC 7617 §2: the user ends at the first colon, and there
/// are no control characters. Decrypting something with another form gives noise; this check keeps
/// it from the backend.
fn is_login(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes);
    text.is_ok_and(|text| text.contains(':') && !text.chars().any(char::is_control))
}

fn decode(stored: &[u8]) -> Result<Zeroizing<Vec<u8>>, CredentialsError> {
    let decoded = STANDARD_PAD_INDIFFERENT.decode(stored);
    decoded
        .map(Zeroizing::new)
        .map_err(|_| CredentialsError::Malformed)
}

/// Decrypts AES-256-CBC. Every failure after base64 decoding gives the same error.
fn decrypt_cbc(
    key: &[u8; KEY_LENGTH],
    stored: &[u8],
) -> Result<Zeroizing<Vec<u8>>, CredentialsError> {
    let mut bytes = decode(stored)?;
    let (iv, ciphertext) = bytes
        .split_first_chunk_mut::<IV_LENGTH>()
        .ok_or(CredentialsError::Closed)?;
    let context = DecryptionContext::Iv128(FixedLength::from(&*iv));
    let key = UnboundCipherKey::new(&AES_256, key).map_err(|_| CredentialsError::Closed)?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).map_err(|_| CredentialsError::Closed)?;
    let opened = key
        .decrypt(ciphertext, context)
        .map_err(|_| CredentialsError::Closed)?;
    Ok(Zeroizing::new(opened.to_vec()))
}

/// 32 bytes: raw, in base64, or in hex.
pub(crate) fn key_bytes(secret: &Secret) -> Option<Zeroizing<[u8; KEY_LENGTH]>> {
    if let Ok(raw) = secret.expose().try_into() {
        return Some(Zeroizing::new(raw));
    }
    let text = secret.line();
    let digits = unhex(text).filter(|key| key.len() == KEY_LENGTH);
    let decoded = digits
        .or_else(|| STANDARD_PAD_INDIFFERENT.decode(text).ok())
        .or_else(|| URL_SAFE_NO_PAD.decode(text).ok());
    let decoded = Zeroizing::new(decoded?);
    decoded.as_slice().try_into().ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests;
