//! `[token]`: where a request's token is, and which keys may have signed it.

use std::path::PathBuf;

use serde::Deserialize;

use super::{SecretFrom, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    /// The cookie's name; if empty, cookies are ignored.
    pub cookie: String,
    pub cookie_form: TokenForm,
    /// Whether `Authorization: Bearer` is accepted if there is no such cookie.
    pub bearer: bool,
    /// How far clocks may differ.
    pub leeway: Span,
    /// Verified tokens that each thread caches; 0: each signature is verified each time.
    pub remembered: usize,
    /// The required `iss`, and what `aud` must contain; each only if it is set.
    pub issuer: Option<String>,
    pub audience: Option<String>,
    pub key: Vec<SigningKey>,
    pub jwks: Option<Jwks>,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            cookie: "Authorization".into(),
            cookie_form: TokenForm::Base64,
            bearer: true,
            leeway: Span::seconds(30),
            remembered: 4096,
            issuer: None,
            audience: None,
            key: Vec::new(),
            jwks: None,
        }
    }
}

/// How the cookie contains the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenForm {
    /// The form of hyper-auth-proxy: in base64.
    Base64,
    Raw,
}

/// A secret (HS…), or a public key in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigningKey {
    /// `HS256` … `HS512`, `RS…`, `PS…`, `ES…`, `EdDSA`.
    pub algorithm: String,
    /// The token's `kid`; without it the key is tried for every token. A token without `kid` is
    /// tried with eight of the keys of its algorithm that have an id.
    pub id: Option<String>,
    pub from: SecretFrom,
}

/// A set of keys, read again periodically.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jwks {
    pub file: Option<PathBuf>,
    pub url: Option<String>,
    /// The CA certificate in PEM for the URL's server; otherwise the system's CAs.
    pub ca: Option<PathBuf>,
    #[serde(default = "every")]
    pub every: Span,
    /// The minimum time between two reads if a token names a key that is missing.
    #[serde(default = "unknown_kid")]
    pub unknown_kid: Span,
    /// The algorithms that the keys of the set may use.
    #[serde(default = "Jwks::usual_algorithms")]
    pub algorithms: Vec<String>,
}

fn every() -> Span {
    Span::seconds(300)
}

fn unknown_kid() -> Span {
    Span::seconds(10)
}
