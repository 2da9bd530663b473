//! A login as the store has it: sealed for its name, so that access to the store is not enough to
//! read it, or to move it to another name. The name is a hash of the cookie's value, so the store
//! does not tell which cookie would be admitted.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroize;

use crate::judge::credentials::Vault;

/// The prefix of the names of logins. A token cannot name such a session.
const PREFIX: &str = "login.";
/// A cookie's value: 32 random bytes in base64url.
const COOKIE_LENGTH: usize = 43;

/// What the store keeps of a login. It contains tokens, so there is no `Debug`. Times are in
/// seconds since 1970.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LoginDocument {
    pub(crate) subject: String,
    /// The session at the provider. OpenID Connect Back-Channel Logout §2.1.
    pub(crate) sid: Option<String>,
    pub(crate) claims: Map<String, Value>,
    pub(crate) id_token: String,
    pub(crate) access_token: Option<String>,
    pub(crate) refresh_token: Option<String>,
    /// When the tokens should be refreshed, and when they expire.
    pub(crate) refresh_at: i64,
    pub(crate) tokens_end: i64,
    /// When the login ends in any case.
    pub(crate) end: i64,
}

impl LoginDocument {
    /// Opens a stored value; `None` if it is not a login, or belongs to another session.
    pub(crate) fn open(vault: &Vault, name: &str, stored: &[u8]) -> Option<Self> {
        let text = vault.open_text(&purpose(name), stored)?;
        serde_json::from_slice(&text).ok()
    }

    pub(crate) fn seal(&self, vault: &Vault, name: &str) -> Option<String> {
        let text = zeroize::Zeroizing::new(serde_json::to_vec(self).ok()?);
        vault.seal_text(&purpose(name), &text).ok()
    }
}

impl Drop for LoginDocument {
    fn drop(&mut self) {
        self.id_token.zeroize();
        self.access_token.zeroize();
        self.refresh_token.zeroize();
    }
}

fn purpose(name: &str) -> String {
    format!("login session\0{name}")
}

/// The name of the session of a cookie; `None` if gate has given out no such cookie. Gates with
/// different realms ([`Login::realm`](crate::config::Login::realm)) may share a store: they do not
/// find each other's sessions.
pub(crate) fn session_name(realm: &str, cookie: &[u8]) -> Option<String> {
    let in_base64 = |b: &u8| b.is_ascii_alphanumeric() || b"-_".contains(b);
    let is_ours = cookie.len() == COOKIE_LENGTH && cookie.iter().all(in_base64);
    is_ours.then(|| {
        format!(
            "{PREFIX}{}",
            hashed(&[cookie, b"\0", realm.as_bytes()].concat())
        )
    })
}

/// Whether a session is a login.
pub(crate) fn is_login(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// A SHA-256 hash in base64url.
pub(crate) fn hashed(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    #[test]
    fn a_login_is_opened_under_its_own_name_only() {
        let mut vault = Vault::default();
        vault.add_key("k", &Secret::new(vec![1; 32])).unwrap();
        let document = LoginDocument {
            subject: "u".into(),
            sid: None,
            claims: Map::new(),
            id_token: "canary".into(),
            access_token: None,
            refresh_token: Some("canary".into()),
            refresh_at: 1,
            tokens_end: 2,
            end: 3,
        };
        let sealed = document.seal(&vault, "login.a").unwrap();
        let opened = LoginDocument::open(&vault, "login.a", sealed.as_bytes()).unwrap();
        assert_eq!((opened.subject.as_str(), opened.end), ("u", 3));
        assert!(LoginDocument::open(&vault, "login.b", sealed.as_bytes()).is_none());
    }

    #[test]
    fn a_name_tells_nothing_about_its_cookie() {
        let cookie = "A".repeat(43);
        let name = session_name("r", cookie.as_bytes()).unwrap();
        assert_ne!(session_name("s", cookie.as_bytes()).unwrap(), name);
        assert!(is_login(&name) && !name.contains("AAAA"));
        assert_eq!(name.len(), "login.".len() + 43);
        for other in ["", "A", &"A".repeat(44), &"=".repeat(43)] {
            assert_eq!(session_name("r", other.as_bytes()), None);
        }
    }
}
