//! Completes a login: the browser is back from the provider, with a code. OpenID Connect Core
//! §3.1.2.5 to §3.1.3.7.

use std::time::{Duration, UNIX_EPOCH};

use roundtrip_store::{Indexes, Record, Store, TakesOnce};
use roundtrip_wire::jwt::Jws;
use url::form_urlencoded::parse;

use super::LoginError;
use super::id_token::{self, IdToken};
use super::provider::{Metadata, Tokens, error_code};
use super::service::{LoginDesk, millis, now, seconds};
use super::state::{self, LoginState};
use crate::config::LoginToken;
use crate::judge::login::{LoginDocument, LoginReply, document, remove_cookie, set_cookie};
use crate::record::{LoginEvent, Reason};

/// How long a state that was used is remembered: longer than it can be used.
const USED_LIFE: Duration = Duration::from_secs(2 * state::LIFE as u64);
/// The longest parameter.
const MAX_PARAMETER: usize = 4096;

/// The provider's answer in the query. RFC 6749 §4.1.2.
#[derive(Default)]
struct Answer {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    issuer: Option<String>,
}

impl Answer {
    /// Parses the callback's query; `None` if a parameter occurs twice, or is too long.
    fn parse(query: &str) -> Option<Self> {
        let mut answer = Self::default();
        for (name, value) in parse(query.as_bytes()) {
            let place = match &*name {
                "code" => &mut answer.code,
                "state" => &mut answer.state,
                "error" => &mut answer.error,
                "iss" => &mut answer.issuer,
                _ => continue,
            };
            if value.len() > MAX_PARAMETER || place.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        Some(answer)
    }
}

impl LoginDesk {
    pub(super) async fn complete(
        &self,
        query: &str,
        states: &[String],
        before: Option<String>,
    ) -> Result<LoginReply, LoginError> {
        let refused = LoginError::Refused;
        let answer =
            Answer::parse(query).ok_or(refused("the callback's parameters are malformed"))?;
        let named = answer.state.as_deref().unwrap_or_default();
        let Some(state) = LoginState::find(&self.vault, states, named, now()) else {
            if self.is_logged_in(before).await? {
                return Ok(LoginReply::redirect(302, Reason::LoggedIn, "/".into()));
            }
            return Err(refused(
                "this browser did not begin this login, or began it too long ago",
            ));
        };
        // RFC 9207 §2.4.
        let metadata = self.provider.metadata().await?;
        let is_other = |issuer: &String| **issuer != *self.settings.issuer;
        if answer.issuer.as_ref().is_some_and(is_other)
            || (metadata.names_itself && answer.issuer.is_none())
        {
            return Err(refused("the answer comes from another provider"));
        }
        let used = format!("login state {}", state.state);
        let used = document::hashed(used.as_bytes());
        if !self.store.claim(used.as_bytes(), USED_LIFE).await? {
            return Err(refused("this login was completed before"));
        }
        if let Some(error) = answer.error {
            let mut reply = LoginReply::new(403, Reason::LoginDenied);
            tracing::info!(error = error_code(&error), "the provider denied a login");
            self.counts.count(LoginEvent::Failed);
            reply
                .cookies
                .push(remove_cookie(&state.cookie(&self.settings.cookie)));
            return Ok(reply);
        }
        let code = answer.code.ok_or(refused("the callback has no code"))?;
        let tokens = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", &*state.redirect_uri),
            ("code_verifier", &*state.verifier),
        ];
        let began = millis();
        let tokens = self.provider.tokens(&metadata, &tokens).await?;
        let id = self
            .verified(&metadata, &tokens, Some(&state.nonce))
            .await?;
        let id = id.ok_or(refused("the provider gave no ID token"))?;
        let issued = id.issued;
        let document = self.new_document(&metadata, &tokens, id).await?;
        let (cookie, name) = self.store_new(&document).await?;
        // The provider may have ended this login while it was being completed: its logout has read
        // the indexes either after the session was stored, or before this reads the marks.
        for index in self.indexes(&document) {
            if self.has_ended(&index, issued, began).await? {
                self.store.revoke(&name).await?;
                return Err(refused("the provider ended this login meanwhile"));
            }
        }
        // A thief of the old cookie does not know the new one.
        if let Some(before) = before.and_then(|old| self.session_name(&old)) {
            self.store.revoke(&before).await?;
        }
        self.counts.count(LoginEvent::Completed);
        let settings = &self.settings;
        Ok(LoginReply {
            cookies: vec![
                set_cookie(&settings.cookie, &cookie, seconds(settings.life.0)),
                remove_cookie(&state.cookie(&settings.cookie)),
            ],
            ..LoginReply::redirect(302, Reason::LoggedIn, state.return_to().as_str().to_owned())
        })
    }

    /// Whether this is the cookie of a session, which another tab may have begun.
    async fn is_logged_in(&self, cookie: Option<String>) -> Result<bool, LoginError> {
        let Some(name) = cookie.and_then(|cookie| self.session_name(&cookie)) else {
            return Ok(false);
        };
        let found = self.find(&name).await?;
        Ok(found.is_some_and(|(_, document)| now() < document.end))
    }

    /// Verifies the ID token among these tokens, if there is one.
    pub(super) async fn verified(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        nonce: Option<&str>,
    ) -> Result<Option<IdToken>, LoginError> {
        let Some(token) = &tokens.id_token else {
            return Ok(None);
        };
        let jws = Jws::parse_typed(token.as_bytes(), &["jwt"]);
        let jws =
            jws.map_err(|_| LoginError::Refused("the ID token is malformed, or not signed"))?;
        self.provider.verify(metadata, &jws).await?;
        let access = tokens.access_token.as_ref().map(|token| token.as_str());
        let mut expected = self.expected();
        if nonce.is_none() {
            // It answers a refresh, so it is new, whatever this machine's clock says.
            expected.leeway = i64::MAX;
        }
        let checked = id_token::check(jws.payload(), jws.algorithm, expected, nonce, access);
        checked.map(Some)
    }

    async fn new_document(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        id: IdToken,
    ) -> Result<LoginDocument, LoginError> {
        let access = tokens.access_token.as_ref().map(|token| token.as_str());
        let more = self
            .provider
            .userinfo(metadata, access, &id.subject)
            .await?;
        let mut claims = id.claims;
        claims.extend(more);
        let mut document = LoginDocument {
            subject: id.subject,
            sid: id.sid,
            claims,
            id_token: tokens
                .id_token
                .as_ref()
                .map(|t| t.to_string())
                .unwrap_or_default(),
            access_token: None,
            refresh_token: None,
            refresh_at: 0,
            tokens_end: 0,
            end: now().saturating_add(seconds(self.settings.life.0)),
        };
        self.take_tokens(&mut document, tokens, Some(id.expires));
        if document.refresh_token.is_none() {
            document.end = document.end.min(document.tokens_end);
        }
        Ok(document)
    }

    /// Applies the changes that new tokens bring. `expires` is the end of a new ID token.
    pub(super) fn take_tokens(
        &self,
        document: &mut LoginDocument,
        tokens: &Tokens,
        expires: Option<i64>,
    ) {
        let now = now();
        let passed = self.settings.authorization;
        let given = tokens.expires_in.map(|seconds| now.saturating_add(seconds));
        document.tokens_end = match passed {
            LoginToken::IdToken => expires.or(given),
            LoginToken::AccessToken | LoginToken::None => given.or(expires),
        }
        .unwrap_or(now);
        let life = document.tokens_end.saturating_sub(now).max(0);
        let ahead = seconds(self.settings.refresh_ahead.0).min(life / 2);
        document.refresh_at = document.tokens_end.saturating_sub(ahead);
        let owned = |token: &zeroize::Zeroizing<String>| token.to_string();
        if passed == LoginToken::AccessToken {
            document.access_token = tokens.access_token.as_ref().map(owned);
        }
        if let Some(token) = &tokens.refresh_token {
            document.refresh_token = Some(owned(token));
        }
        if let Some(token) = &tokens.id_token {
            document.id_token = owned(token);
        }
    }

    /// The indexes of a login: by its person, and by its session at the provider.
    fn indexes(&self, document: &LoginDocument) -> [String; 2] {
        let subject = document.subject.as_str();
        let other = match &document.sid {
            Some(sid) => self.index("sid", sid),
            None => self.index("sub without sid", subject),
        };
        [self.index("sub", subject), other]
    }

    /// Stores a new session, and returns its cookie and its name.
    async fn store_new(&self, document: &LoginDocument) -> Result<(String, String), LoginError> {
        let cookie = state::random()?;
        let name = self.session_name(&cookie).ok_or(LoginError::Cryptography)?;
        let sealed = document
            .seal(&self.vault, &name)
            .ok_or(LoginError::Cryptography)?;
        let at = |seconds: i64| {
            UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
        };
        // The index comes first: a session that is in no index could not be found when it has to
        // end. All entries live equally long, so that none outlives its index.
        let life = at(now().saturating_add(seconds(self.settings.life.0))).unwrap_or(UNIX_EPOCH);
        for index in self.indexes(document) {
            self.store.enter(&index, &name, life).await?;
        }
        self.store
            .put(&name, &Record::new(sealed, at(document.end)))
            .await?;
        Ok((cookie, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_everything_once() {
        let answer =
            Answer::parse("code=a%20b&state=s&iss=https%3A%2F%2Fx&session_state=y").unwrap();
        assert_eq!(answer.code.as_deref(), Some("a b"));
        assert_eq!((answer.state.as_deref(), answer.error), (Some("s"), None));
        assert_eq!(answer.issuer.as_deref(), Some("https://x"));
        assert!(Answer::parse("state=a&code=b&state=c").is_none());
        assert!(Answer::parse(&format!("code={}", "x".repeat(MAX_PARAMETER + 1))).is_none());
        assert!(Answer::parse("").unwrap().state.is_none());
    }
}
