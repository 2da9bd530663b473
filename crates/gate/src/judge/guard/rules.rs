//! A guard's rules: keys, where tokens are, and how much is cached.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_wire::jwt::{Claims, Jws};

use super::{Keys, Refresh};
use crate::judge::credentials::Vault;

/// How the cookie holds the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CookieForm {
    /// In standard base64, as hyper-auth-proxy has it.
    Base64,
    /// As it is.
    Raw,
}

/// A set of public keys, as it was at a URL.
pub struct Fetched {
    pub url: String,
    pub json: Vec<u8>,
}

/// Shared by all threads. It has no `Debug`.
#[derive(Clone)]
pub struct Rules {
    pub keys: Keys,
    pub vault: Arc<Vault>,
    /// `iss` has to be this. RFC 7519 §4.1.1.
    pub issuer: Option<String>,
    /// `aud` has to name this. RFC 7519 §4.1.3. Where it is not set, a token may be for whomever.
    pub audience: Option<String>,
    /// The set of keys that was fetched; `None` while one is still to come, or none is wanted.
    pub fetched: Option<Arc<Fetched>>,
    /// One is still to come: who brings a token that none of the others has signed is asked to come
    /// again.
    pub awaits_keys: bool,
    /// How the set is asked for before its time.
    pub refresh: Option<Refresh>,
    /// The name of the cookie with the token; `None` looks at no cookie.
    pub cookie: Option<String>,
    pub cookie_form: CookieForm,
    /// Is `Authorization: Bearer` taken where there is no such cookie? RFC 6750 §2.1.
    pub bearer: bool,
    /// How far clocks may differ, at `exp` and at `nbf`.
    pub leeway: Duration,
    /// Verified tokens that a thread remembers; none: each signature is verified each time.
    pub tokens: usize,
    /// Sessions that a thread remembers, at least one.
    pub sessions: usize,
}

impl Rules {
    /// `session` as in hyper-auth-proxy, and `Bearer`.
    pub fn new(keys: Keys, vault: Vault) -> Self {
        Self {
            keys,
            vault: Arc::new(vault),
            issuer: None,
            audience: None,
            fetched: None,
            awaits_keys: false,
            refresh: None,
            cookie: Some("Authorization".into()),
            cookie_form: CookieForm::Base64,
            bearer: true,
            leeway: Duration::from_secs(30),
            tokens: 4096,
            sessions: 4096,
        }
    }

    /// Does the token name a key that is not here, and may be soon?
    pub(super) fn lack(&self, jws: &Jws<'_>) -> bool {
        let unknown = jws.key_id.as_ref().filter(|name| !self.keys.have(name));
        unknown.is_some() && self.refresh.as_ref().is_some_and(Refresh::ask)
    }

    /// Was the token made by whom we expect, and for us?
    pub(super) fn admit(&self, claims: &Claims) -> bool {
        let issued = |issuer: &String| claims.issuer.as_ref() == Some(issuer);
        let meant = |audience: &String| claims.audience.contains(audience);
        self.issuer.as_ref().is_none_or(issued) && self.audience.as_ref().is_none_or(meant)
    }

    pub(super) fn leeway_seconds(&self) -> i64 {
        i64::try_from(self.leeway.as_secs()).unwrap_or(i64::MAX)
    }
}
