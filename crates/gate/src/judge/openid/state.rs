//! What gate remembers of a login that has begun, in a sealed cookie: only the browser that began
//! it can complete it. OpenID Connect Core §15.5.2, RFC 9700 §4.7.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::LoginError;
use crate::judge::credentials::Vault;
use crate::judge::login::{ReturnPath, state_cookies};

/// Seconds within which a login must be completed.
pub(super) const LIFE: i64 = 600;
/// The length of the part of the state that names the cookie. Each login has another name, so tabs
/// that begin at the same time do not replace each other's cookies.
const NAME_LENGTH: usize = 8;
const PURPOSE: &str = "login state";

#[derive(Serialize, Deserialize)]
pub(super) struct LoginState {
    /// The request's `state` and `nonce`.
    pub(super) state: String,
    pub(super) nonce: String,
    /// RFC 7636 §4.1.
    pub(super) verifier: String,
    pub(super) redirect_uri: String,
    return_to: String,
    /// Seconds since 1970.
    until: i64,
}

impl LoginState {
    pub(super) fn new(
        redirect_uri: String,
        return_to: &ReturnPath,
        now: i64,
    ) -> Result<Self, LoginError> {
        Ok(Self {
            state: random()?,
            nonce: random()?,
            verifier: random()?,
            redirect_uri,
            return_to: return_to.as_str().to_owned(),
            until: now.saturating_add(LIFE),
        })
    }

    /// RFC 7636 §4.2.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.as_bytes()))
    }

    pub(super) fn return_to(&self) -> ReturnPath {
        ReturnPath::new(&self.return_to)
    }

    pub(super) fn cookie(&self, session_cookie: &str) -> String {
        let name = self.state.get(..NAME_LENGTH).unwrap_or_default();
        format!("{}{name}", state_cookies(session_cookie))
    }

    pub(super) fn seal(&self, vault: &Vault) -> Result<String, LoginError> {
        let text = serde_json::to_vec(self).map_err(|_| LoginError::Cryptography)?;
        let sealed = vault.seal_text(PURPOSE, &text);
        sealed.map_err(|_| LoginError::Cryptography)
    }

    /// The state with this name among those that the browser has. All cookies are looked at,
    /// because another host of the site may have added some before the right one; the head's size
    /// limits their number.
    pub(super) fn find(vault: &Vault, sealed: &[String], state: &str, now: i64) -> Option<Self> {
        sealed.iter().find_map(|sealed| {
            let opened = vault.open_text(PURPOSE, sealed.as_bytes())?;
            let own: Self = serde_json::from_slice(&opened).ok()?;
            let same = verify_slices_are_equal(own.state.as_bytes(), state.as_bytes()).is_ok();
            (same && now < own.until).then_some(own)
        })
    }
}

/// 32 bytes in base64url.
pub(super) fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| LoginError::Cryptography)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    #[test]
    fn only_the_browser_that_began_a_login_has_its_state_and_not_for_long() {
        let mut vault = Vault::default();
        vault.add_key("k", &Secret::new(vec![1; 32])).unwrap();
        let begin =
            || LoginState::new("https://a/cb".into(), &ReturnPath::new("/x"), 1000).unwrap();
        let (one, two) = (begin(), begin());
        assert_ne!(one.state, two.state);
        let sealed = [two.seal(&vault).unwrap(), one.seal(&vault).unwrap()];
        assert!(sealed.iter().all(|sealed| !sealed.contains(&one.verifier)));
        let found = LoginState::find(&vault, &sealed, &one.state, 1000 + LIFE - 1).unwrap();
        assert_eq!(
            (found.nonce, found.verifier),
            (one.nonce.clone(), one.verifier.clone())
        );
        assert_eq!(found.return_to, "/x");
        let mut tossed = vec!["l1.k.x".to_owned(); 20];
        tossed.push(one.seal(&vault).unwrap());
        assert!(LoginState::find(&vault, &tossed, &one.state, 1000).is_some());
        assert!(LoginState::find(&vault, &sealed, &one.state, 1000 + LIFE).is_none());
        assert!(LoginState::find(&vault, &sealed[..1], &one.state, 1000).is_none());
        assert!(LoginState::find(&vault, &["l1.k.x".into()], &one.state, 1000).is_none());
    }

    /// RFC 7636 appendix B.
    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        let mut state = LoginState::new(String::new(), &ReturnPath::new("/"), 0).unwrap();
        state.verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into();
        assert_eq!(
            state.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }
}
