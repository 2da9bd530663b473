//! Ends logins: by the person, at the provider too (OpenID Connect RP-Initiated Logout), or by the
//! provider (Back-Channel Logout). The store's pushes end them in every replica, open streams
//! included.

use std::rc::Rc;
use std::time::{Duration, SystemTime};

use roundtrip_store::{Indexes, Store, TakesOnce};
use roundtrip_wire::jwt::Jws;
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use url::form_urlencoded::parse;

use super::LoginError;
use super::logout_token::{self, LogoutToken};
use super::service::{LoginDesk, millis, seconds};
use crate::judge::login::{LoginPage, LoginReply, document, remove_cookie};
use crate::record::{LoginEvent, Reason};

/// The pause before sessions that could not be ended are tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

impl LoginDesk {
    pub(super) async fn log_out(&self, cookie: Option<String>) -> Result<LoginReply, LoginError> {
        let name = cookie.and_then(|cookie| self.session_name(&cookie));
        let mut id_token = None;
        if let Some(name) = &name {
            let found = self.find(name).await?;
            id_token = found.map(|(_, document)| document.id_token.clone());
            self.store.revoke(name).await?;
            self.counts.count(LoginEvent::LoggedOut);
        }
        let cookies = vec![remove_cookie(&self.settings.cookie)];
        // The session is over here, whatever the provider says.
        let metadata = self.provider.metadata().await.ok();
        let there = metadata.and_then(|metadata| metadata.end_session.clone());
        let reply = match (there, &self.settings.after_logout) {
            (Some(mut url), after) => {
                let mut query = url.query_pairs_mut();
                query.append_pair("client_id", &self.settings.client_id);
                if let Some(token) = &id_token {
                    query.append_pair("id_token_hint", token);
                }
                if let Some(after) = after {
                    query.append_pair("post_logout_redirect_uri", after);
                }
                drop(query);
                LoginReply::redirect(303, Reason::LoggedOut, url.into())
            }
            (None, Some(after)) => LoginReply::redirect(303, Reason::LoggedOut, after.clone()),
            (None, None) => LoginReply::page(200, Reason::LoggedOut, LoginPage::LoggedOut),
        };
        Ok(LoginReply { cookies, ..reply })
    }

    /// The provider gets 400 if the token is not acceptable. §2.8.
    pub(super) async fn log_out_for_provider(
        self: &Rc<Self>,
        form: &[u8],
    ) -> Result<LoginReply, LoginError> {
        let mut tokens = parse(form).filter(|(name, _)| name == "logout_token");
        let (Some((_, token)), None) = (tokens.next(), tokens.next()) else {
            return Err(LoginError::Refused(
                "the request has no logout token, or several",
            ));
        };
        let jws = Jws::parse_typed(token.as_bytes(), &["logout+jwt", "jwt"]);
        let jws =
            jws.map_err(|_| LoginError::Refused("the logout token is malformed, or not signed"))?;
        let metadata = self.provider.metadata().await?;
        self.provider.verify(&metadata, &jws).await?;
        let token = logout_token::check(jws.payload(), self.expected())?;
        let leeway = seconds(self.settings.leeway.0);
        let life = logout_token::MAX_AGE.saturating_add(leeway.saturating_mul(2));
        let life = Duration::from_secs(u64::try_from(life).unwrap_or(0));
        let used = self.index("jti", &token.id);
        if !self.store.claim(used.as_bytes(), life).await? {
            return Err(LoginError::Refused("this logout token was used before"));
        }
        let mark = format!("{} {}", token.issued, millis());
        let (tell, told) = oneshot::channel();
        // Ending the sessions continues if this answer takes too long, or if the store fails for a
        // while.
        spawn_local(self.clone().end_sessions(token, mark, used, life, tell));
        told.await.unwrap_or_else(|_| {
            Err(LoginError::Provider {
                what: "logout",
                why: "gate ends".into(),
            })
        })?;
        self.counts.count(LoginEvent::ProviderLogout);
        Ok(LoginReply::new(200, Reason::LoggedOut))
    }

    /// Ends the sessions that a logout token names. If the store fails, tries again for as long as
    /// the token is valid: a token that was accepted must have its effect, even if the provider
    /// does not send it again.
    async fn end_sessions(
        self: Rc<Self>,
        token: LogoutToken,
        mark: String,
        used: String,
        life: Duration,
        tell: oneshot::Sender<Result<(), LoginError>>,
    ) {
        let began = Instant::now();
        let mut tell = Some(tell);
        loop {
            let ended = self.try_to_end_sessions(&token, &mark, life).await;
            let failed = ended.is_err();
            if let Some(tell) = tell.take() {
                let _ = tell.send(ended);
            }
            if !failed || began.elapsed() >= life {
                return;
            }
            // The provider may also send the token again.
            let _ = self.store.release(used.as_bytes()).await;
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn try_to_end_sessions(
        &self,
        token: &LogoutToken,
        mark: &str,
        life: Duration,
    ) -> Result<(), LoginError> {
        // §2.7: a session of the provider, or, if none is named, all of the person.
        // Sessions whose ID token named no session of the provider may be meant as well.
        let subject = token.subject.as_deref().map(|subject| match token.sid {
            Some(_) => self.index("sub without sid", subject),
            None => self.index("sub", subject),
        });
        let sid = token.sid.as_deref().map(|sid| self.index("sid", sid));
        let mut failed = None;
        for index in subject.into_iter().chain(sid) {
            // A login that is being completed looks for the mark once its session is stored.
            let until = SystemTime::now() + life;
            self.store.enter(&marks(&index), mark, until).await?;
            for name in self.store.entered(&index).await? {
                match self.store.revoke(&name).await {
                    Ok(was_there) => self
                        .counts
                        .add(LoginEvent::SessionsEnded, u64::from(was_there)),
                    // The other sessions must end nevertheless.
                    Err(error) => failed = Some(error),
                }
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Whether the provider has ended the sessions of an index since it issued this ID token. Both
    /// times are the provider's, in seconds; of two in the same second, the logout is the later one
    /// if it arrived after `began`, in milliseconds, when the tokens were requested.
    pub(super) async fn has_ended(
        &self,
        index: &str,
        issued: i64,
        began: i64,
    ) -> Result<bool, LoginError> {
        let marks = self.store.entered(&marks(index)).await?;
        let mut marks = marks.iter().filter_map(|mark| {
            let (ended, arrived) = mark.split_once(' ')?;
            Some((ended.parse::<i64>().ok()?, arrived.parse::<i64>().ok()?))
        });
        Ok(marks.any(|mark| mark >= (issued, began)))
    }
}

/// The index of the logouts that ended the sessions of an index.
fn marks(index: &str) -> String {
    document::hashed(format!("logouts {index}").as_bytes())
}
