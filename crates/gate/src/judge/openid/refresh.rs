//! Refreshes a session's tokens, once in the fleet: the replica that claims the current refresh
//! token in the store uses it, and all others wait for the new record or go on with the old one.
//! RFC 6749 §6.

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
/// After an outage, no session's tokens are refreshed for this long.
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// RFC 6749 §5.2: the refresh token is used, revoked, or of another client.
const INVALID_GRANT: &str = "invalid_grant";

impl LoginDesk {
    /// All callers that ask at once for the same session get the same outcome.
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
            if self.failed_just_now() {
                return Err(provider("the last attempt failed just now"));
            }
            if !missing && self.store.claim(claim.as_bytes(), CLAIM_LIFE).await? {
                let refreshed = self.refresh_now(name, &record, document, &token).await;
                if refreshed.as_ref().is_err_and(|error| !error.ends_session()) {
                    // The next caller may try again, but not at once.
                    self.refresh_failed.set(Some(Instant::now()));
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

    fn failed_just_now(&self) -> bool {
        let failed = self.refresh_failed.get();
        failed.is_some_and(|at| at.elapsed() < MIN_RETRY_INTERVAL)
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
                // A session that was revoked meanwhile does not come back.
                let replaced = self
                    .store
                    .replace(name, &record.credentials, &after)
                    .await?;
                if !replaced {
                    return Err(LoginError::Ended);
                }
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

    async fn new_tokens(
        &self,
        mut document: LoginDocument,
        token: &str,
    ) -> Result<LoginDocument, LoginError> {
        let metadata = self.provider.metadata().await?;
        let parameters = [("grant_type", "refresh_token"), ("refresh_token", token)];
        let tokens = self.provider.tokens(&metadata, &parameters).await;
        let tokens = tokens.map_err(|error| match error {
            // Only this code is about the session; the others are about gate.
            LoginError::Denied(code) if code != INVALID_GRANT => {
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
