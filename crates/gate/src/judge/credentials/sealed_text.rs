//! Texts of any length, sealed for one purpose: what the store keeps of a login, and what a browser
//! keeps of one that has begun.
//!
//! `l1.<kid>.<salt and ciphertext>`, the last part in base64url. Each text has its own key, which
//! HKDF-SHA256 (RFC 5869) derives from the named key, the purpose and a random salt: however many
//! texts strangers make gate seal, no key seals two of them.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::Vault;
use crate::GateError;

const PREFIX: &str = "l1.";
const SALT: &[u8] = b"roundtrip gate login 1";
const SALT_LENGTH: usize = 32;
/// The largest sealed text. Tokens are a few KiB.
const MAX_SEALED: usize = 64 * 1024;

pub(super) fn derive(key: &[u8]) -> Prk {
    Salt::new(HKDF_SHA256, SALT).extract(key)
}

impl Vault {
    /// Seals with the first key.
    pub(crate) fn seal_text(&self, purpose: &str, text: &[u8]) -> Result<String, GateError> {
        let key = self.keys.first().ok_or(GateError::NoSealingKey)?;
        let mut sealed = vec![0; SALT_LENGTH];
        aws_lc_rs::rand::fill(&mut sealed).map_err(|_| GateError::Cryptography)?;
        let one = key_of_one(&key.texts, purpose, &sealed).ok_or(GateError::Cryptography)?;
        // Includes room for the tag: a reallocation would leave a copy of the text behind.
        let mut inner = Zeroizing::new(Vec::with_capacity(text.len() + AES_256_GCM.tag_len()));
        inner.extend_from_slice(text);
        // The key is used once, so any nonce will do.
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        one.seal_in_place_append_tag(nonce, Aad::from(purpose.as_bytes()), &mut *inner)
            .map_err(|_| GateError::Cryptography)?;
        sealed.extend_from_slice(&inner);
        let text = URL_SAFE_NO_PAD.encode(sealed);
        Ok(format!("{PREFIX}{}.{text}", key.name))
    }

    /// Opens a text; `None` if it was not sealed for this purpose with one of the keys.
    pub(crate) fn open_text(&self, purpose: &str, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        if sealed.len() > MAX_SEALED {
            return None;
        }
        let sealed = std::str::from_utf8(sealed).ok()?.strip_prefix(PREFIX)?;
        let (name, text) = sealed.split_once('.')?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (salt, ciphertext) = bytes.split_at_checked(SALT_LENGTH)?;
        let one = key_of_one(&self.key(name)?.texts, purpose, salt)?;
        let mut opened = Zeroizing::new(ciphertext.to_vec());
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let aad = Aad::from(purpose.as_bytes());
        let length = one.open_in_place(nonce, aad, &mut opened).ok()?.len();
        opened.truncate(length);
        Some(opened)
    }

    /// Whether the key that seals now has sealed it.
    pub(crate) fn is_sealed_with_first(&self, sealed: &[u8]) -> bool {
        let named = self
            .keys
            .first()
            .map(|key| format!("{PREFIX}{}.", key.name));
        named.is_some_and(|named| sealed.starts_with(named.as_bytes()))
    }

    /// Whether a stored value is such a text.
    pub(crate) fn is_sealed_text(stored: &[u8]) -> bool {
        stored.starts_with(PREFIX.as_bytes())
    }
}

fn key_of_one(texts: &Prk, purpose: &str, salt: &[u8]) -> Option<LessSafeKey> {
    let info = [purpose.as_bytes(), &[0], salt];
    let okm = texts.expand(&info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(okm)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn vault(keys: &[(&str, u8)]) -> Vault {
        let mut vault = Vault::default();
        for (name, byte) in keys {
            vault.add_key(name, &Secret::new(vec![*byte; 32])).unwrap();
        }
        vault
    }

    #[test]
    fn a_text_is_opened_for_its_purpose_and_with_its_key_only() {
        let old = vault(&[("a", 1)]);
        let sealed = old.seal_text("one", b"canary").unwrap();
        assert!(Vault::is_sealed_text(sealed.as_bytes()) && !sealed.contains("canary"));
        let new = vault(&[("b", 2), ("a", 1)]);
        let open = |vault: &Vault, purpose: &str, sealed: &str| {
            let opened = vault.open_text(purpose, sealed.as_bytes());
            opened.map(|opened| opened.to_vec())
        };
        assert_eq!(open(&new, "one", &sealed), Some(b"canary".to_vec()));
        assert_eq!(open(&new, "two", &sealed), None);
        assert_eq!(open(&vault(&[("a", 2)]), "one", &sealed), None);
        assert_eq!(open(&vault(&[("b", 1)]), "one", &sealed), None);
        assert!(new.seal_text("one", b"").unwrap().starts_with("l1.b."));
        // Sealing the same text twice gives results that have nothing in common.
        assert_ne!(sealed, old.seal_text("one", b"canary").unwrap());
    }

    #[test]
    fn no_byte_of_it_can_be_changed() {
        let vault = vault(&[("a", 1)]);
        let sealed = vault.seal_text("p", b"text").unwrap();
        for at in 0..sealed.len() {
            let mut other = sealed.clone().into_bytes();
            other[at] ^= 1;
            assert!(vault.open_text("p", &other).is_none(), "{at}");
            assert!(vault.open_text("p", &other[..at]).is_none(), "{at}");
        }
        // A session's credentials have a different form, and are not taken for a sealed text.
        let login = Secret::new(b"u:p".to_vec());
        let credentials = vault.seal("p", &login).unwrap();
        assert!(vault.open_text("p", credentials.as_bytes()).is_none());
        assert!(vault.open("p", sealed.as_bytes()).is_err());
    }
}
