//! `[token]`: where a request's token is, and which keys may have signed it.

use std::path::PathBuf;

use serde::Deserialize;

use super::{SecretFrom, Span};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    /// The cookie's name; empty: no cookie is looked at.
    pub cookie: String,
    pub cookie_form: TokenForm,
    /// Is `Authorization: Bearer` taken where there is no such cookie?
    pub bearer: bool,
    /// How far clocks may differ.
    pub leeway: Span,
    /// Verified tokens that each thread remembers; 0: each signature is verified each time.
    pub remembered: usize,
    /// `iss` has to be this, where set; `aud` has to name this.
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

/// How the cookie holds the token.
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
    /// The token's `kid`; without it the key is tried for every token.
    pub id: Option<String>,
    pub from: SecretFrom,
}

/// A set of keys, read again every so often.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jwks {
    pub file: Option<PathBuf>,
    pub url: Option<String>,
    /// PEM of the authority that vouches for the URL's server; else the system's.
    pub ca: Option<PathBuf>,
    #[serde(default = "every")]
    pub every: Span,
    /// Before its time, because a token names a key that it has not: how long after the last time
    /// at the soonest.
    #[serde(default = "unknown_kid")]
    pub unknown_kid: Span,
    /// What its keys may sign with.
    #[serde(default = "Jwks::usual_algorithms")]
    pub algorithms: Vec<String>,
}

fn every() -> Span {
    Span::seconds(300)
}

fn unknown_kid() -> Span {
    Span::seconds(10)
}
