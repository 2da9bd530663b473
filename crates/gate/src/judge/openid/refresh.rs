//! Refreshes a session's tokens, once in the fleet: the replica that claims the current refresh
//! token in the store uses it, and all others wait for the new record or go on with the old one.
//! RFC 6749 §6.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use roundtrip_store::{Record, Store, TakesOnce};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use super::LoginError;
use super::handle::RefreshOutcome;
use super::service::{LoginDesk, now};
use crate::judge::login::LoginDocument;
use crate::judge::login::document::hashed;
use crate::record::LoginEvent;

/// How long a claim holds if the replica that made it does not store new tokens. Longer than any
/// order may take, so that two replicas never use one token at the same time.
const CLAIM_LIFE: Duration = Duration::from_secs(30);
/// How often the store is asked whether another replica is ready.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long a session waits for another replica.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// After an outage, no session's tokens are refreshed for this long; after a failure that concerns
/// one session, that session's.
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The pause before new tokens that could not be stored are stored again.
const STORE_PAUSE: Duration = Duration::from_millis(100);
/// Error codes that are about the session; all others are about gate. The refresh token is used,
/// revoked, or of another client (RFC 6749 §5.2), or the user has to do something (OpenID Connect
/// Core §3.1.2.6): only a login can help.
const ENDING: [&str; 5] = [
    "invalid_grant",
    "interaction_required",
    "login_required",
    "account_selection_required",
    "consent_required",
];

/// When refreshes last failed.
#[derive(Default)]
pub(super) struct FailedRefreshes {
    all: Option<Instant>,
    /// Failures by session. If the provider refuses one session, the sessions of other users must
    /// not wait.
    sessions: HashMap<String, Instant>,
}

impl FailedRefreshes {
    fn add(&mut self, name: &str, error: &LoginError) {
        self.sessions.retain(|_, at| is_recent(*at));
        if error.concerns_all() {
            self.all = Some(Instant::now());
        } else {
            self.sessions.insert(name.to_owned(), Instant::now());
        }
    }

    fn has_recent(&self, name: &str) -> bool {
        let of_session = self.sessions.get(name).copied();
        self.all.into_iter().chain(of_session).any(is_recent)
    }
}

fn is_recent(at: Instant) -> bool {
    at.elapsed() < MIN_RETRY_INTERVAL
}

impl LoginDesk {
    /// Refreshes a session. All callers that ask at once for the same session get the same outcome.
    pub(super) async fn refresh_for(
        self: Rc<Self>,
        name: String,
        done: Option<oneshot::Sender<RefreshOutcome>>,
        span: Duration,
    ) {
        {
            let mut refreshing = self.refreshing.borrow_mut();
            if let Some(waiting) = refreshing.get_mut(&name) {
                waiting.extend(done);
                return;
            }
            refreshing.insert(name.clone(), done.into_iter().collect());
        }
        let refreshed = timeout(span, self.refresh(&name)).await;
        let outcome = match refreshed {
            Ok(Ok(())) => RefreshOutcome::Refreshed,
            Ok(Err(error)) if error.ends_session() => {
                info!(%error, "a login ended, because its tokens were not refreshed");
                RefreshOutcome::Ended
            }
            Ok(Err(error)) => {
                warn!(%error, "a login's tokens were not refreshed");
                RefreshOutcome::Down
            }
            Err(_) => RefreshOutcome::Down,
        };
        let waiting = self.refreshing.borrow_mut().remove(&name);
        for done in waiting.into_iter().flatten() {
            // The task that asked may have ended.
            let _ = done.send(outcome);
        }
    }

    async fn refresh(&self, name: &str) -> Result<(), LoginError> {
        let began = Instant::now();
        let mut missing = false;
        loop {
            let found = self.find(name).await?;
            let (record, document) = found.ok_or(LoginError::Ended)?;
            let Some(token) = document
                .refresh_token
                .clone()
                .filter(|_| now() < document.end)
            else {
                return Err(LoginError::Ended);
            };
            if now() < document.refresh_at {
                return Ok(());
            }
            // The claim is for these tokens: a claim of earlier ones says nothing about them. Some
            // providers always issue the same refresh token.
            let until = document.refresh_at;
            let claim = hashed(format!("login refresh {name}\0{token}\0{until}").as_bytes());
            if self.failed_refreshes.borrow().has_recent(name) {
                return Err(provider("the last attempt failed just now"));
            }
            if !missing && self.store.claim(claim.as_bytes(), CLAIM_LIFE).await? {
                let refreshed = self.refresh_now(name, &record, document, &token).await;
                if let Err(error) = &refreshed
                    && !error.ends_session()
                {
                    // The next caller may try again, but not at once.
                    self.failed_refreshes.borrow_mut().add(name, error);
                    self.store.release(claim.as_bytes()).await?;
                }
                return refreshed;
            }
            missing = true;
            // Another replica is about to store new tokens. Until then, the session continues for
            // as long as the old ones are valid.
            let waits = || self.is_awaited(name) && began.elapsed() < MAX_WAIT;
            if !waits() {
                return if self.is_awaited(name) {
                    Err(provider("another replica waits for it"))
                } else {
                    Ok(())
                };
            }
            sleep(LOOK_INTERVAL).await;
        }
    }

    fn is_awaited(&self, name: &str) -> bool {
        let refreshing = self.refreshing.borrow();
        refreshing
            .get(name)
            .is_some_and(|waiting| !waiting.is_empty())
    }

    /// The session may have been refreshed or revoked since `record` was read.
    async fn refresh_now(
        &self,
        name: &str,
        record: &Record,
        document: LoginDocument,
        token: &str,
    ) -> Result<(), LoginError> {
        let (present, _) = self.find(name).await?.ok_or(LoginError::Ended)?;
        if present.credentials != record.credentials {
            return Ok(());
        }
        match self.new_tokens(document, token).await {
            Ok(document) => {
                let sealed = document.seal(&self.vault, name);
                let sealed = sealed.ok_or(LoginError::Cryptography)?;
                let mut after = Record::new(sealed, record.expires);
                after.others = record.others.clone();
                self.counts.count(LoginEvent::Refreshed);
                self.replace(name, record, &after).await?;
                // Replicas with another clock can use them, and no other refresh helps here.
                if document.tokens_end <= now() {
                    return Err(provider(
                        "the new tokens have expired already; is this machine's clock right?",
                    ));
                }
                Ok(())
            }
            Err(error) => {
                self.counts.count(LoginEvent::RefreshFailed);
                if error.ends_session() {
                    // If the store fails, the next request finds that out.
                    let _ = self.store.revoke(name).await;
                }
                Err(error)
            }
        }
    }

    /// Stores new tokens; the old refresh token is used up, so this tries again for as long as the
    /// caller's time lasts. A session that was revoked meanwhile does not come back.
    async fn replace(&self, name: &str, before: &Record, after: &Record) -> Result<(), LoginError> {
        let mut is_first = true;
        loop {
            let replaced = match self.store.replace(name, &before.credentials, after).await {
                // An earlier attempt may have succeeded without an answer.
                Ok(false) if !is_first => {
                    let stored = self.store.get(name).await;
                    stored.map(|there| there.is_some_and(|r| r.credentials == after.credentials))
                }
                outcome => outcome,
            };
            match replaced {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(LoginError::Ended),
                Err(error) => warn!(%error, "new tokens cannot be stored yet"),
            }
            is_first = false;
            sleep(STORE_PAUSE).await;
        }
    }

    async fn new_tokens(
        &self,
        mut document: LoginDocument,
        token: &str,
    ) -> Result<LoginDocument, LoginError> {
        let metadata = self.provider.metadata().await?;
        let parameters = [("grant_type", "refresh_token"), ("refresh_token", token)];
        let tokens = self.provider.tokens(&metadata, &parameters).await;
        let tokens = tokens.map_err(|error| match error {
            LoginError::Denied(code) if !ENDING.contains(&code.as_str()) => {
                provider(format!("it answers with the error '{code}'"))
            }
            error => error,
        })?;
        let id = self.verified(&metadata, &tokens, None).await?;
        // OpenID Connect Core §12.2.
        if id.as_ref().is_some_and(|id| id.subject != document.subject) {
            return Err(LoginError::OtherUser);
        }
        let access = tokens.access_token.as_ref().map(|token| token.as_str());
        let more = self
            .provider
            .userinfo(&metadata, access, &document.subject)
            .await?;
        let expires = id.as_ref().map(|id| id.expires);
        if let Some(id) = id {
            document.claims = id.claims;
        }
        document.claims.extend(more);
        self.take_tokens(&mut document, &tokens, expires);
        Ok(document)
    }
}

fn provider(why: impl Into<String>) -> LoginError {
    LoginError::Provider {
        what: "token endpoint",
        why: why.into(),
    }
}
