//! Data that a server issues and later recognizes without storing it: address tokens (RFC 9000
//! §8.1) and stateless reset tokens (§10.3.2). The content of tokens, and how long they are valid,
//! belongs to `endpoint`.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;

use roundtrip_wire::quic::ConnectionId;

/// The purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Sent in a Retry packet.
    Retry,
    /// Sent in a NEW_TOKEN frame, for another connection.
    New,
}

/// The keys of one endpoint, or of several that share one address.
pub(crate) struct TokenSealer {
    /// Nonces are random and numerous: if one repeats, this cipher reveals only whether two tokens
    /// are the same.
    tokens: LessSafeKey,
    resets: hmac::Key,
}

const NONCE: usize = 12;

impl TokenSealer {
    /// Endpoints that do not know each other's connections may share the key `tokens`, but must not
    /// share the key `resets`: RFC 9000 §21.11.
    pub(crate) fn new(tokens: [u8; 32], resets: [u8; 32]) -> Result<Self, Unspecified> {
        let tokens = UnboundKey::new(&AES_256_GCM_SIV, &derive(&tokens, b"address tokens"))?;
        Ok(Self {
            tokens: LessSafeKey::new(tokens),
            resets: hmac::Key::new(hmac::HMAC_SHA256, &derive(&resets, b"stateless resets")),
        })
    }

    /// Makes a token: its kind, the nonce, and the encrypted and authenticated `content`.
    pub(crate) fn seal(
        &self,
        kind: TokenKind,
        content: &[u8],
        nonce: [u8; NONCE],
    ) -> Result<Vec<u8>, Unspecified> {
        let mut sealed = content.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.tokens
            .seal_in_place_append_tag(unique, Aad::from([kind.byte()]), &mut sealed)?;
        Ok([&[kind.byte()], &nonce[..], &sealed].concat())
    }

    /// Returns `None` if the token is not ours.
    pub(crate) fn open(&self, token: &[u8]) -> Option<(TokenKind, Vec<u8>)> {
        let (kind, rest) = token.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>()?;
        let mut content = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self
            .tokens
            .open_in_place(nonce, Aad::from([*kind]), &mut content);
        let length = opened.ok()?.len();
        content.truncate(length);
        Some((TokenKind::from_byte(*kind)?, content))
    }

    /// RFC 9000 §10.3.2.
    pub(crate) fn reset_token(&self, id: &ConnectionId) -> [u8; 16] {
        let tag = hmac::sign(&self.resets, id.as_slice());
        first_bytes(tag.as_ref())
    }
}

impl TokenKind {
    fn byte(self) -> u8 {
        match self {
            Self::Retry => b'R',
            Self::New => b'N',
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Retry, Self::New]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// Derives a key for one purpose.
fn derive(key: &[u8; 32], purpose: &[u8]) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    first_bytes(hmac::sign(&key, purpose).as_ref())
}

fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(key: u8) -> TokenSealer {
        TokenSealer::new([key; 32], [key; 32]).unwrap()
    }

    #[test]
    fn a_token_is_opened_only_with_the_key_that_sealed_it() {
        let token = vault(1)
            .seal(TokenKind::Retry, b"content", [7; 12])
            .unwrap();
        let expected = Some((TokenKind::Retry, b"content".to_vec()));
        assert_eq!(vault(1).open(&token), expected);
        assert_eq!(vault(2).open(&token), None);
        assert!(!token.windows(7).any(|part| part == b"content"));
        let empty = vault(1).seal(TokenKind::New, b"", [0; 12]).unwrap();
        assert_eq!(vault(1).open(&empty), Some((TokenKind::New, Vec::new())));
    }

    #[test]
    fn no_byte_of_a_token_can_be_changed() {
        let token = vault(1)
            .seal(TokenKind::Retry, b"content", [7; 12])
            .unwrap();
        for at in 0..token.len() {
            for bit in 0..8 {
                let mut changed = token.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(vault(1).open(&changed), None, "byte {at}");
            }
            assert_eq!(vault(1).open(&token[..at]), None);
        }
        let as_new = [&b"N"[..], &token[1..]].concat();
        assert_eq!(vault(1).open(&as_new), None);
    }

    #[test]
    fn reset_tokens_depend_on_id_and_key() {
        let id = |bytes: &[u8]| ConnectionId::new(bytes).unwrap();
        let token = vault(1).reset_token(&id(b"12345678"));
        assert_eq!(token, vault(1).reset_token(&id(b"12345678")));
        assert_ne!(token, vault(1).reset_token(&id(b"12345679")));
        let other = |tokens, resets| TokenSealer::new([tokens; 32], [resets; 32]).unwrap();
        assert_eq!(token, other(2, 1).reset_token(&id(b"12345678")));
        assert_ne!(token, other(1, 2).reset_token(&id(b"12345678")));
    }
}
