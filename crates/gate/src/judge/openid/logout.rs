//! Ends logins: by the person, at the provider too (OpenID Connect RP-Initiated Logout), or by the
//! provider (Back-Channel and Front-Channel Logout). The store's pushes end them in every replica,
//! open streams included.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use roundtrip_store::{Indexes, Store, TakesOnce};
use roundtrip_wire::jwt::Jws;
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use url::Url;
use url::form_urlencoded::parse;

use super::LoginError;
use super::logout_token;
use super::service::{LoginDesk, millis, seconds};
use crate::judge::login::{LoginPage, LoginReply, document, remove_cookie};
use crate::record::{LoginEvent, Reason};

/// Sessions that the provider has ended.
struct EndedLogins {
    subject: Option<String>,
    sid: Option<String>,
    /// A mark for logins that are being completed; see [`LoginDesk::has_ended`].
    mark: String,
    /// The claim to release if the store fails: the provider may then send its token again.
    used: Option<String>,
}

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
        let (life, used) = (self.token_life(), self.index("jti", &token.id));
        if !self.store.claim(used.as_bytes(), life).await? {
            return Err(LoginError::Refused("this logout token was used before"));
        }
        let ended = EndedLogins {
            subject: token.subject,
            sid: token.sid,
            mark: format!("{} {}", token.issued, millis()),
            used: Some(used),
        };
        self.end_for_provider(ended).await?;
        Ok(LoginReply::new(200, Reason::LoggedOut))
    }

    /// A frame in the provider's page leads here. Front-Channel Logout §2, §3. It has no signature,
    /// and browsers do not send gate's cookie from another site's page: whoever knows the
    /// provider's name for a session can end that session, and nothing else.
    pub(super) async fn log_out_in_frame(
        self: &Rc<Self>,
        query: &str,
    ) -> Result<LoginReply, LoginError> {
        let only = |wanted: &str| {
            let mut said = parse(query.as_bytes()).filter(|(name, _)| name == wanted);
            let (_, value) = said.next()?;
            said.next().is_none().then(|| value.into_owned())
        };
        let (Some(issuer), Some(sid)) = (only("iss"), only("sid")) else {
            let why = "the frame does not name one issuer and one session";
            return Err(LoginError::Refused(why));
        };
        if *issuer != *self.settings.issuer {
            return Err(LoginError::Refused("the frame is of another provider"));
        }
        // Strangers can invent names, and nothing is stored for those.
        let known = self.store.entered(&self.index("sid", &sid)).await?;
        if !known.is_empty() {
            let ended = EndedLogins {
                subject: None,
                sid: Some(sid),
                mark: format!(" {}", millis()),
                used: None,
            };
            self.end_for_provider(ended).await?;
        }
        let metadata = self.provider.metadata().await.ok();
        let page = metadata.and_then(|metadata| metadata.end_session.clone());
        let pages = [Url::parse(&self.settings.issuer).ok(), page];
        let pages = pages.into_iter().flatten();
        let origins: BTreeSet<String> = pages.filter_map(|page| plain_origin(&page)).collect();
        let origins = origins.into_iter().collect::<Vec<_>>().join(" ");
        let page = LoginPage::LoggedOutInFrame { origins };
        Ok(LoginReply::page(200, Reason::LoggedOut, page))
    }

    /// How long a logout token can be used if the clocks differ by as much as is allowed.
    fn token_life(&self) -> Duration {
        let leeway = seconds(self.settings.leeway.0);
        let life = logout_token::MAX_AGE.saturating_add(leeway.saturating_mul(2));
        Duration::from_secs(u64::try_from(life).unwrap_or(0))
    }

    async fn end_for_provider(self: &Rc<Self>, ended: EndedLogins) -> Result<(), LoginError> {
        let (tell, told) = oneshot::channel();
        // Ending the sessions continues if this answer takes too long, or if the store fails for a
        // while.
        spawn_local(self.clone().end_sessions(ended, tell));
        told.await.unwrap_or_else(|_| {
            Err(LoginError::Provider {
                what: "logout",
                why: "gate ends".into(),
            })
        })?;
        self.counts.count(LoginEvent::ProviderLogout);
        Ok(())
    }

    /// Ends sessions. If the store fails, tries again for as long as a logout token is valid: one
    /// that was accepted must have its effect, even if the provider does not send it again.
    async fn end_sessions(
        self: Rc<Self>,
        ended: EndedLogins,
        tell: oneshot::Sender<Result<(), LoginError>>,
    ) {
        let (began, life) = (Instant::now(), self.token_life());
        let mut tell = Some(tell);
        loop {
            let outcome = self.try_to_end_sessions(&ended, life).await;
            let failed = outcome.is_err();
            if let Some(tell) = tell.take() {
                let _ = tell.send(outcome);
            }
            if !failed || began.elapsed() >= life {
                return;
            }
            if let Some(used) = &ended.used {
                // The provider may also send the token again.
                let _ = self.store.release(used.as_bytes()).await;
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn try_to_end_sessions(
        &self,
        ended: &EndedLogins,
        life: Duration,
    ) -> Result<(), LoginError> {
        // §2.7: a session of the provider, or, if none is named, all sessions of the person.
        // Sessions whose ID token named no session of the provider may be meant as well.
        let subject = ended.subject.as_deref().map(|subject| match ended.sid {
            Some(_) => self.index("sub without sid", subject),
            None => self.index("sub", subject),
        });
        let sid = ended.sid.as_deref().map(|sid| self.index("sid", sid));
        let mut failed = None;
        for index in subject.into_iter().chain(sid) {
            // A login that is being completed looks for the mark once its session is stored.
            let until = SystemTime::now() + life;
            self.store.enter(&marks(&index), &ended.mark, until).await?;
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
    /// times come from the provider, in seconds. If they are in the same second, the logout counts
    /// as later if it arrived after `began`, the time in milliseconds at which the tokens were
    /// requested. A frame does not say when the provider ended them, so the time of its arrival
    /// counts.
    pub(super) async fn has_ended(
        &self,
        index: &str,
        issued: i64,
        began: i64,
    ) -> Result<bool, LoginError> {
        let marks = self.store.entered(&marks(index)).await?;
        let mut marks = marks.iter().filter_map(|mark| {
            let (ended, arrived) = mark.split_once(' ')?;
            let ended = match ended {
                "" => issued,
                ended => ended.parse().ok()?,
            };
            Some((ended, arrived.parse::<i64>().ok()?))
        });
        Ok(marks.any(|mark| mark >= (issued, began)))
    }
}

/// The origin of a page, if it can be part of a field's value as it is.
fn plain_origin(page: &Url) -> Option<String> {
    let origin = page.origin().ascii_serialization();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:/[]".contains(&b);
    origin.bytes().all(plain).then_some(origin)
}

/// The index of the logouts that ended the sessions of an index.
fn marks(index: &str) -> String {
    document::hashed(format!("logouts {index}").as_bytes())
}
