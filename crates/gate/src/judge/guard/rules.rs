//! A guard's rules: keys, where tokens are, and how much is cached.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_wire::jwt::{Claims, Jws};

use super::{Keys, Refresh};
use crate::judge::credentials::Vault;
use crate::judge::login::LoginRules;

/// How the cookie contains the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CookieForm {
    /// Standard base64, as in hyper-auth-proxy.
    Base64,
    /// Unencoded.
    Raw,
}

/// A JWK Set that was fetched from a URL.
pub struct FetchedKeySet {
    pub url: String,
    pub json: Vec<u8>,
}

/// The rules, shared by all threads. They contain keys, so there is no `Debug`.
#[derive(Clone)]
pub struct Rules {
    pub keys: Keys,
    pub vault: Arc<Vault>,
    /// The required `iss`. RFC 7519 §4.1.1.
    pub issuer: Option<String>,
    /// The required `aud`. RFC 7519 §4.1.3. If it is not set, any audience is accepted.
    pub audience: Option<String>,
    /// The fetched JWK Set; `None` if it was not fetched yet, or none is configured.
    pub fetched: Option<Arc<FetchedKeySet>>,
    /// A set is yet to come: a token that no other key has signed gets 503 with `Retry-After`.
    pub awaits_keys: bool,
    /// Requests a read of the set before it is due.
    pub refresh: Option<Refresh>,
    /// The name of the cookie with the token; `None` for no cookie.
    pub cookie: Option<String>,
    pub cookie_form: CookieForm,
    /// Whether `Authorization: Bearer` is accepted if there is no such cookie. RFC 6750 §2.1.
    pub bearer: bool,
    /// Logins by a browser.
    pub(crate) login: Option<Arc<LoginRules>>,
    /// How far clocks may differ, for `exp`, `nbf` and `iat`.
    pub leeway: Duration,
    /// Verified tokens that a thread caches; 0: each signature is verified each time.
    pub tokens: usize,
    /// Sessions that a thread caches, at least one.
    pub sessions: usize,
}

impl Rules {
    /// The cookie `session` as in hyper-auth-proxy, and `Bearer`.
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
            login: None,
            leeway: Duration::from_secs(30),
            tokens: 4096,
            sessions: 4096,
        }
    }

    /// Whether the token names a key that is missing, and that gate may soon have.
    pub(super) fn lack(&self, jws: &Jws<'_>) -> bool {
        let unknown = jws.key_id.as_ref().filter(|name| !self.keys.have(name));
        unknown.is_some() && self.refresh.as_ref().is_some_and(Refresh::ask)
    }

    /// Whether the token has the expected issuer and audience.
    pub(super) fn admit(&self, claims: &Claims) -> bool {
        let issued = |issuer: &String| claims.issuer.as_ref() == Some(issuer);
        let meant = |audience: &String| claims.audience.contains(audience);
        self.issuer.as_ref().is_none_or(issued) && self.audience.as_ref().is_none_or(meant)
    }

    pub(super) fn leeway_seconds(&self) -> i64 {
        i64::try_from(self.leeway.as_secs()).unwrap_or(i64::MAX)
    }
}
