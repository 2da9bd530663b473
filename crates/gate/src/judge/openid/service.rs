//! Carries out the orders about logins, on a separate thread: it waits for the provider and for
//! the store while the threads that serve go on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_store::{AnyStore, Record, SharedStore, Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};

use super::LoginError;
use super::handle::{LoginCounts, Refresh, RefreshOutcome};
use super::id_token::Expected;
use super::provider::OpenIdProvider;
use super::refresh::FailedRefreshes;
use super::state::{self, LoginState};
use super::turns::{LoginTurns, PendingLogin};
use crate::GateError;
use crate::config::{Login, is_loopback};
use crate::judge::credentials::Vault;
use crate::judge::login::{
    LoginDocument, LoginOrder, LoginReply, ReturnPath, document, remove_cookie, session_name,
    set_cookie,
};
use crate::record::{LoginEvent, Reason};

/// Sessions that are refreshed at once.
const MAX_REFRESHING: usize = 256;
/// The time limit for one order, whatever the provider and the store do.
const ORDER_TIMEOUT: Duration = Duration::from_secs(15);

/// The values with which the thread starts.
pub(super) struct LoginService {
    settings: Login,
    provider: OpenIdProvider,
    vault: Arc<Vault>,
    counts: Arc<LoginCounts>,
}

/// The state of the thread while it serves.
pub(super) struct LoginDesk {
    pub(super) settings: Login,
    pub(super) provider: OpenIdProvider,
    pub(super) vault: Arc<Vault>,
    pub(super) counts: Arc<LoginCounts>,
    pub(super) store: AnyStore,
    /// Sessions that are being refreshed, each with the callers that wait for it.
    pub(super) refreshing: RefCell<HashMap<String, Vec<oneshot::Sender<RefreshOutcome>>>>,
    pub(super) failed_refreshes: RefCell<FailedRefreshes>,
}

impl LoginService {
    pub(super) fn new(
        login: &Login,
        vault: Arc<Vault>,
        counts: Arc<LoginCounts>,
    ) -> Result<Self, GateError> {
        Ok(Self {
            provider: OpenIdProvider::new(login)?,
            settings: login.clone(),
            vault,
            counts,
        })
    }

    /// Runs until all handles that give orders are dropped and the last orders are carried out.
    pub(super) async fn run(
        self,
        store: SharedStore,
        mut requests: mpsc::UnboundedReceiver<PendingLogin>,
        mut refreshes: mpsc::Receiver<Refresh>,
    ) {
        let desk = Rc::new(LoginDesk {
            settings: self.settings,
            provider: self.provider,
            vault: self.vault,
            counts: self.counts,
            store: store.on_this_thread(),
            refreshing: RefCell::default(),
            failed_refreshes: RefCell::default(),
        });
        let (mut answering, mut refreshing) = (JoinSet::new(), JoinSet::new());
        let (mut turns, mut open) = (LoginTurns::default(), true);
        while open || !turns.is_empty() || !answering.is_empty() || !refreshing.is_empty() {
            tokio::select! {
                request = requests.recv(), if open => match request {
                    Some(request) => turns.push(request),
                    // The handle has both ends.
                    None => open = false,
                },
                Some(refresh) = refreshes.recv(), if refreshing.len() < MAX_REFRESHING => {
                    let Refresh { name, done } = refresh;
                    let desk = desk.clone();
                    refreshing.spawn_local(desk.refresh_for(name, done, ORDER_TIMEOUT));
                }
                Some(client) = answering.join_next() => turns.ended(client.ok().flatten()),
                Some(_) = refreshing.join_next() => {}
            }
            while let Some(request) = turns.next() {
                answering.spawn_local(desk.clone().carry_out(request));
            }
        }
    }
}

impl LoginDesk {
    /// Carries out a request, and returns its client.
    async fn carry_out(self: Rc<Self>, request: PendingLogin) -> Option<IpAddr> {
        let PendingLogin { asked, body, reply } = request;
        // The task that asked may have ended.
        let _ = reply.send(self.answer(asked.order, body).await);
        asked.client
    }

    async fn answer(self: &Rc<Self>, order: LoginOrder, body: Vec<u8>) -> LoginReply {
        let answering = async {
            match order {
                LoginOrder::Begin {
                    origin,
                    return_to,
                    surplus,
                } => self.begin(&origin, &return_to, &surplus).await,
                LoginOrder::Callback {
                    query,
                    states,
                    session,
                } => self.complete(&query, &states, session).await,
                LoginOrder::LogOut { session } => self.log_out(session).await,
                LoginOrder::ProviderLogout => self.log_out_for_provider(&body).await,
                LoginOrder::FrameLogout { query } => self.log_out_in_frame(&query).await,
            }
        };
        let late = || LoginError::Provider {
            what: "answer",
            why: "it did not come in time".into(),
        };
        let answered = timeout(ORDER_TIMEOUT, answering).await;
        answered
            .unwrap_or_else(|_| Err(late()))
            .unwrap_or_else(|error| {
                self.counts.count(LoginEvent::Failed);
                if error.is_outage() {
                    warn!(%error, "a login or a logout failed");
                    LoginReply::new(503, Reason::LoginDown)
                } else {
                    info!(%error, "a login or a logout was refused");
                    LoginReply::new(400, Reason::LoginFailed)
                }
            })
    }

    /// Sends the browser to the provider. OpenID Connect Core §3.1.2.1.
    async fn begin(
        &self,
        origin: &str,
        return_to: &ReturnPath,
        surplus: &[String],
    ) -> Result<LoginReply, LoginError> {
        let settings = &self.settings;
        let origin = settings.origin.as_deref().unwrap_or(origin);
        if !is_safe(origin) {
            // The cookies of a login are sent over TLS only: the browser would go in a circle.
            return Err(LoginError::Refused("a login needs https"));
        }
        let metadata = self.provider.metadata().await?;
        let redirect_uri = format!("{origin}{}", &*settings.callback);
        let state = LoginState::new(redirect_uri, return_to, now())?;
        let mut url = metadata.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &settings.client_id)
            .append_pair("redirect_uri", &state.redirect_uri)
            .append_pair("scope", &settings.scopes.join(" "))
            .append_pair("state", &state.state)
            .append_pair("nonce", &state.nonce)
            .append_pair("code_challenge", &state.challenge())
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(&settings.parameters);
        self.counts.count(LoginEvent::Begun);
        let cookie = state.cookie(&settings.cookie);
        let sealed = state.seal(&self.vault)?;
        let mut cookies = vec![set_cookie(&cookie, &sealed, state::LIFE)];
        cookies.extend(surplus.iter().map(|name| remove_cookie(name)));
        Ok(LoginReply {
            cookies,
            ..LoginReply::redirect(302, Reason::LogIn, url.into())
        })
    }

    pub(super) fn expected(&self) -> Expected<'_> {
        Expected {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            now: now(),
            leeway: seconds(self.settings.leeway.0),
        }
    }

    pub(super) fn session_name(&self, cookie: &str) -> Option<String> {
        session_name(&self.settings.realm(), cookie.as_bytes())
    }

    /// Finds a login in the store; `None` if there is none.
    pub(super) async fn find(
        &self,
        name: &str,
    ) -> Result<Option<(Record, LoginDocument)>, StoreError> {
        let record = self.store.get(name).await?;
        Ok(record.and_then(|record| {
            let document = LoginDocument::open(&self.vault, name, &record.credentials)?;
            Some((record, document))
        }))
    }

    /// The name of an index of sessions: all sessions of a user, or all that belong to one session
    /// at the provider.
    pub(super) fn index(&self, kind: &str, name: &str) -> String {
        let realm = self.settings.realm();
        document::hashed(format!("{realm}\0{kind}\0{name}").as_bytes())
    }
}

/// Whether browsers send an origin the cookies that require TLS.
fn is_safe(origin: &str) -> bool {
    match origin.split_once("://") {
        Some(("https", host)) => !host.is_empty(),
        Some((_, host)) => {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            is_loopback(name) || is_loopback(host)
        }
        None => false,
    }
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    seconds(since.unwrap_or_default())
}

/// Milliseconds since 1970.
pub(super) fn millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_begun_only_where_its_cookies_come_back() {
        for (origin, safe) in [
            ("https://app.example", true),
            ("https://app.example:8443", true),
            ("http://app.example", false),
            ("http://localhost:8080", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:8080", true),
            ("http://127.0.0.1.evil.example", false),
            ("https://", false),
            ("http://", false),
        ] {
            assert_eq!(is_safe(origin), safe, "{origin}");
        }
    }
}
