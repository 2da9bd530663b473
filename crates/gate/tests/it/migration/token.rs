//! Tokens as hyper-auth-proxy's programs make them, and tokens that are refused. They are signed
//! here, so that the tests do not depend on how gate makes its own.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) const KEY: &str =
    "a key of hyper-auth-proxy, which is a line of text and no shorter than 64 bytes";
/// All claims that hyper-auth-proxy requires.
pub(crate) const CLAIMS: &str =
    r#"{"sub":"alice@mail.example","sid":"s1","iat":1700000000,"exp":4000000000}"#;

/// The algorithm in the header, and the one that signs.
pub(crate) type Algorithm = (&'static str, &'static hmac::Algorithm);
pub(crate) const HS512: Algorithm = (r#"{"alg":"HS512"}"#, &hmac::HMAC_SHA512);
pub(crate) const HS256: Algorithm = (r#"{"alg":"HS256"}"#, &hmac::HMAC_SHA256);

pub(crate) fn jwt((header, algorithm): Algorithm, claims: &str) -> String {
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!("{}.{}", part(header.as_bytes()), part(claims.as_bytes()));
    let key = hmac::Key::new(*algorithm, KEY.as_bytes());
    let signature = part(hmac::sign(&key, signed.as_bytes()).as_ref());
    format!("{signed}.{signature}")
}

pub(crate) fn claims(session: &str) -> String {
    CLAIMS.replace("s1", session)
}

/// All claims but this one.
pub(crate) fn without(name: &str) -> String {
    let inner = CLAIMS.trim_matches(['{', '}']);
    let others = inner.split(',').filter(|claim| !claim.contains(name));
    let claims = others.collect::<Vec<_>>().join(",");
    assert_ne!(claims, inner);
    format!("{{{claims}}}")
}

/// Changes one letter of the signature.
pub(crate) fn spoilt(token: &str) -> String {
    let at = token.rfind('.').unwrap() + 1;
    let other = if token[at..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &token[..at], &token[at + 1..])
}

/// The whole field.
pub(crate) fn cookie(value: &str) -> String {
    format!("Cookie: Authorization={value}")
}
