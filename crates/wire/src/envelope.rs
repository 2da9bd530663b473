//! Sealed credentials as text: `v1.<kid>.<nonce>.<ciphertext>`. Sealing and opening are left to
//! callers with keys.
//!
//! The nonce (12 bytes) and the ciphertext with its tag (the last 16 bytes) are base64url without
//! padding, so that each value has one spelling. `kid` names the key: 1 to 64 of `A`–`Z`, `a`–`z`,
//! `0`–`9`, `-`, `_`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::{Error, Result};

/// The largest envelope in bytes; credentials have a few dozen.
pub const MAX_ENVELOPE: usize = 16 * 1024;
pub const NONCE: usize = 12;
const TAG: usize = 16;
const MAX_KEY_ID_LENGTH: usize = 64;
const PREFIX: &[u8] = b"v1.";

#[derive(Clone, PartialEq, Eq)]
pub struct Envelope {
    pub key_id: String,
    pub nonce: [u8; NONCE],
    /// The ciphertext, with its tag at the end.
    pub ciphertext: Vec<u8>,
}

impl Envelope {
    /// Whether the text looks sealed. Standard base64 never does, because it has no dot.
    pub fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(PREFIX)
    }

    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |why| Error::malformed("the sealed value", why);
        if bytes.len() > MAX_ENVELOPE {
            return Err(Error::TooLarge {
                what: "the sealed value",
                limit: MAX_ENVELOPE,
            });
        }
        let rest = bytes
            .strip_prefix(PREFIX)
            .ok_or(bad("it does not begin with 'v1.'"))?;
        let mut parts = rest.split(|b| *b == b'.');
        let (Some(key_id), Some(nonce), Some(ciphertext), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad("it does not have four parts"));
        };
        let key_id = std::str::from_utf8(key_id).unwrap_or_default();
        if !is_key_id(key_id) {
            return Err(bad("its key has an invalid name"));
        }
        let nonce = URL_SAFE_NO_PAD.decode(nonce);
        let nonce = nonce.ok().and_then(|n| n.try_into().ok());
        let ciphertext = URL_SAFE_NO_PAD.decode(ciphertext);
        let ciphertext = ciphertext.ok().filter(|c| c.len() >= TAG);
        Ok(Self {
            key_id: key_id.to_owned(),
            nonce: nonce.ok_or(bad("its nonce is not 12 bytes of base64url"))?,
            ciphertext: ciphertext
                .ok_or(bad("its ciphertext is not 16 bytes of base64url or more"))?,
        })
    }

    pub fn encode(&self) -> String {
        let nonce = URL_SAFE_NO_PAD.encode(self.nonce);
        let ciphertext = URL_SAFE_NO_PAD.encode(&self.ciphertext);
        format!("v1.{}.{nonce}.{ciphertext}", self.key_id)
    }
}

/// Whether a key may have this name.
pub fn is_key_id(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=MAX_KEY_ID_LENGTH).contains(&name.len()) && name.bytes().all(allowed)
}

/// Shows the name of the key, and nothing of the content.
impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_one_spelling_is_read() {
        let envelope = Envelope {
            key_id: "2026-11".into(),
            nonce: *b"twelve bytes",
            ciphertext: b"some seventeen by".to_vec(),
        };
        let text = envelope.encode();
        assert_eq!(text, "v1.2026-11.dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnk");
        assert_eq!(Envelope::parse(text.as_bytes()), Ok(envelope));
        for bad in [
            "",
            "v1",
            "v2.a.dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnk",
            "v1..dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnk",
            "v1.a b.dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnk",
            "v1.a.dHdlbHZlIGJ5dGU.c29tZSBzZXZlbnRlZW4gYnk",
            "v1.a.dHdlbHZlIGJ5dGVz.c29tZQ",
            "v1.a.dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnk=",
            // The last bits are not zero.
            "v1.a.dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnl",
            "v1.a.dHdlbHZlIGJ5dGVz.c29tZSBzZXZlbnRlZW4gYnk.",
        ] {
            assert!(Envelope::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        let long = format!("v1.a.dHdlbHZlIGJ5dGVz.{}", "A".repeat(MAX_ENVELOPE));
        assert!(matches!(
            Envelope::parse(long.as_bytes()),
            Err(Error::TooLarge { .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Envelope::parse(&bytes);
        }

        #[test]
        fn written_envelopes_are_read_back(id in "[A-Za-z0-9_-]{1,64}", nonce: [u8; 12], ciphertext in proptest::collection::vec(any::<u8>(), 16..80)) {
            let envelope = Envelope { key_id: id, nonce, ciphertext };
            let text = envelope.encode();
            prop_assert!(Envelope::is_meant(text.as_bytes()));
            prop_assert_eq!(Envelope::parse(text.as_bytes()), Ok(envelope));
        }
    }
}
