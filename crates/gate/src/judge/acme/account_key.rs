//! The account's key (ES256), and what it signs: requests (RFC 8555 §6.2), key authorizations
//! (§8.1) and bindings to an existing account at the CA (§7.3.4).

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::AcmeError;

/// An uncompressed point: a type, and two coordinates of this size.
const COORDINATE: usize = 32;

/// The private key. The type has no `Debug`, so it cannot be printed.
pub(crate) struct AccountKey {
    pair: EcdsaKeyPair,
    jwk: Value,
    thumbprint: String,
}

/// The signer of a request.
#[derive(Clone, Copy)]
pub(super) enum Signer<'a> {
    /// The key itself, for a new account.
    Key,
    /// The account's URL.
    Account(&'a str),
}

impl AccountKey {
    /// A new key, as PKCS #8.
    pub(super) fn generate() -> Result<Zeroizing<Vec<u8>>, AcmeError> {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let made = made.map_err(|_| AcmeError::Cryptography)?;
        Ok(Zeroizing::new(made.as_ref().to_vec()))
    }

    pub(super) fn from_pkcs8(pkcs8: &[u8]) -> Result<Self, AcmeError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8)
            .map_err(|_| AcmeError::Cryptography)?;
        let point = pair.public_key().as_ref();
        let coordinates = point.get(1..).and_then(|point| {
            let (x, y) = point.split_at_checked(COORDINATE)?;
            (y.len() == COORDINATE).then(|| (encode(x), encode(y)))
        });
        let (x, y) = coordinates.ok_or(AcmeError::Cryptography)?;
        // RFC 7638 §3: the required members in this order, without spaces.
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        Ok(Self {
            pair,
            jwk: json!({"crv": "P-256", "kty": "EC", "x": x, "y": y}),
            thumbprint: encode(digest(&SHA256, canonical.as_bytes()).as_ref()),
        })
    }

    /// Proves that the account requested this token. RFC 8555 §8.1.
    pub(super) fn authorization(&self, token: &str) -> String {
        format!("{token}.{}", self.thumbprint)
    }

    /// Signs a request. An empty payload makes it a POST-as-GET (RFC 8555 §6.3).
    pub(super) fn sign(
        &self,
        signer: Signer<'_>,
        url: &str,
        nonce: &str,
        payload: &str,
    ) -> Result<String, AcmeError> {
        let mut header = json!({"alg": "ES256", "nonce": nonce, "url": url});
        match signer {
            Signer::Key => header["jwk"] = self.jwk.clone(),
            Signer::Account(url) => header["kid"] = url.into(),
        }
        let (header, payload) = (
            encode(header.to_string().as_bytes()),
            encode(payload.as_bytes()),
        );
        let input = format!("{header}.{payload}");
        let signature = self.pair.sign(&SystemRandom::new(), input.as_bytes());
        let signature = signature.map_err(|_| AcmeError::Cryptography)?;
        Ok(flattened(&header, &payload, signature.as_ref()).to_string())
    }

    /// States that this key belongs to the account `id`, whose secret only its owner and the CA
    /// know.
    pub(super) fn bind(&self, id: &str, secret: &[u8], url: &str) -> Value {
        let header = json!({"alg": "HS256", "kid": id, "url": url});
        let header = encode(header.to_string().as_bytes());
        let payload = encode(self.jwk.to_string().as_bytes());
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let tag = hmac::sign(&key, format!("{header}.{payload}").as_bytes());
        flattened(&header, &payload, tag.as_ref())
    }
}

/// RFC 7515 §7.2.2.
fn flattened(header: &str, payload: &str, signature: &[u8]) -> Value {
    json!({"protected": header, "payload": payload, "signature": encode(signature)})
}

pub(super) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn part(jws: &Value, name: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(jws[name].as_str().unwrap()).unwrap()
    }

    fn input(jws: &Value) -> String {
        let [header, payload] = ["protected", "payload"].map(|name| jws[name].as_str().unwrap());
        format!("{header}.{payload}")
    }

    #[test]
    fn a_request_is_signed_for_its_url_and_its_nonce() {
        let key = AccountKey::from_pkcs8(&AccountKey::generate().unwrap()).unwrap();
        let jws = key.sign(Signer::Key, "https://ca/new", "n1", "{}").unwrap();
        let jws: Value = serde_json::from_str(&jws).unwrap();
        let header: Value = serde_json::from_slice(&part(&jws, "protected")).unwrap();
        assert_eq!(
            header,
            json!({"alg": "ES256", "nonce": "n1", "url": "https://ca/new", "jwk": key.jwk})
        );
        assert_eq!(part(&jws, "payload"), b"{}");
        let public = key.pair.public_key().as_ref();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        let signature = part(&jws, "signature");
        public.verify(input(&jws).as_bytes(), &signature).unwrap();
        assert!(public.verify(b"other", &signature).is_err());
        // With an account, the request names it and not the key.
        let jws = key.sign(Signer::Account("https://ca/1"), "u", "n", "");
        let jws: Value = serde_json::from_str(&jws.unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&part(&jws, "protected")).unwrap();
        assert_eq!(
            (&header["kid"], header.get("jwk")),
            (&json!("https://ca/1"), None)
        );
        assert_eq!(jws["payload"], "");
    }

    #[test]
    fn a_thumbprint_is_the_hash_of_the_canonical_key() {
        let key = AccountKey::from_pkcs8(&AccountKey::generate().unwrap()).unwrap();
        let canonical = serde_json::to_string(&key.jwk).unwrap();
        assert!(
            canonical.starts_with(r#"{"crv":"P-256","kty":"EC","x":""#),
            "{canonical}"
        );
        let hash = encode(digest(&SHA256, canonical.as_bytes()).as_ref());
        assert_eq!(key.authorization("token"), format!("token.{hash}"));
    }

    #[test]
    fn a_binding_has_the_key_and_a_tag_of_the_secret() {
        let key = AccountKey::from_pkcs8(&AccountKey::generate().unwrap()).unwrap();
        let bound = key.bind("id-1", b"secret", "https://ca/new");
        let header: Value = serde_json::from_slice(&part(&bound, "protected")).unwrap();
        assert_eq!(
            header,
            json!({"alg": "HS256", "kid": "id-1", "url": "https://ca/new"})
        );
        let payload: Value = serde_json::from_slice(&part(&bound, "payload")).unwrap();
        assert_eq!(payload, key.jwk);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
        hmac::verify(
            &secret,
            input(&bound).as_bytes(),
            &part(&bound, "signature"),
        )
        .unwrap();
    }

    #[test]
    fn nothing_else_is_taken_for_a_key() {
        for bytes in [&b""[..], b"-----BEGIN", &[0x30; 64]] {
            assert!(AccountKey::from_pkcs8(bytes).is_err());
        }
    }
}
