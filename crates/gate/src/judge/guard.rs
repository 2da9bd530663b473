//! Decides who may pass: token → claims → session → the `Authorization` value. A request whose
//! token was seen before and whose session is known is judged at once, without I/O and without
//! allocating; otherwise the store must be asked (a `SessionQuery`), and its answer is admitted.
//!
//! Each thread has its own guard over [`Rules`] that all threads share. When keys change, new rules
//! are published, and each guard adopts them and forgets what it verified with old keys. Other
//! modules read heads, ask the store, and send denials.

mod clock;
mod jwks;
mod keys;
mod lru;
mod refresh;
mod rules;
mod session;
mod token;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_model::WallClock;
use roundtrip_wire::jwt::{Jws, token_from_cookie};
use tokio::sync::watch;

use crate::GateError;
use crate::judge::credentials::{CredentialsError, authorization};
use crate::judge::login::{self, ActiveLogin, LoginDocument, LoginRules, document};
use crate::judge::request::{self, Request};
pub use keys::Keys;
use lru::Lru;
pub use refresh::Refresh;
pub use rules::{CookieForm, FetchedKeySet, Rules};
pub(crate) use session::Pass;
pub use session::{ActiveSession, Found, ManualWatch, SessionError, Sessions, Watch};
use token::{SentToken, TokenSource};

/// Open streams read the clock at least this often, because it may be set, which timers do not
/// notice.
const CLOCK_INTERVAL: Duration = Duration::from_mins(1);
/// Refused tokens that are remembered: over HTTP/2, a client can repeat one in a few bytes (RFC
/// 7541 §6.1).
const MAX_REFUSED: usize = 1024;
/// The longest token that HPACK can repeat cheaply: RFC 9113 §6.5.2, SETTINGS_HEADER_TABLE_SIZE.
const MAX_REFUSED_LENGTH: usize = 4096;

/// Judges the requests of one thread.
pub struct Guard {
    rules: RefCell<Arc<Rules>>,
    /// Receives new rules.
    news: Option<RefCell<watch::Receiver<Arc<Rules>>>>,
    wall: Box<dyn WallClock>,
    /// Tokens with a verified signature.
    tokens: RefCell<Lru<Verified>>,
    /// Tokens that no key has signed, and where they were found.
    refused: RefCell<Lru<TokenSource>>,
    sessions: RefCell<Lru<Rc<ActiveSession>>>,
}

struct Verified {
    /// Where the token was found: the same bytes in another place are a different token, or none.
    source: TokenSource,
    session: Rc<str>,
    expires: i64,
    /// The later one of `nbf` and `iat`: RFC 7519 §4.1.5 and §4.1.6.
    not_before: i64,
}

/// The guard's decision about a request.
pub(crate) enum GuardDecision {
    Pass(Pass),
    /// The token is valid; the store must be asked for the session.
    Ask(SessionQuery),
    Deny(AuthError),
}

/// A question to the store. No `Debug`: a session's name must not be logged.
pub(crate) struct SessionQuery {
    session: Rc<str>,
    /// When the token expires.
    until: i64,
}

impl SessionQuery {
    pub(crate) fn session(&self) -> &str {
        &self.session
    }
}

/// Why a request is denied. It contains no user's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthError {
    #[error("no token")]
    NoToken,
    #[error("a token that is malformed, or that none of the keys has signed")]
    BadToken,
    #[error("a token that none of the present keys has signed")]
    NoKeys,
    #[error("a token that has expired")]
    Expired,
    #[error("a token that is not valid yet")]
    TooEarly,
    #[error("a token with another issuer or audience")]
    NotForUs,
    #[error("a session that the store does not know")]
    UnknownSession,
    #[error("a login whose tokens have expired, and can be refreshed")]
    TokensOver,
    #[error("a login whose tokens cannot be refreshed at the moment")]
    LoginDown,
    #[error("{0}")]
    Credentials(CredentialsError),
    #[error("{0}")]
    Store(SessionError),
}

impl AuthError {
    /// The status to answer with. It is that of hyper-auth-proxy, except that hyper-auth-proxy
    /// accepts expired tokens, and answers 500 if its store is down.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::NoKeys | Self::LoginDown | Self::Store(SessionError::Down) => 503,
            Self::Credentials(_) | Self::Store(SessionError::Unreadable) => 500,
            _ => 401,
        }
    }
}

impl Guard {
    pub fn new(rules: Arc<Rules>, wall: Box<dyn WallClock>) -> Result<Self, GateError> {
        Ok(Self {
            tokens: RefCell::new(Lru::new(rules.tokens, seed()?)),
            refused: RefCell::new(Lru::new(MAX_REFUSED, seed()?)),
            sessions: RefCell::new(Lru::new(rules.sessions.max(1), seed()?)),
            rules: RefCell::new(rules),
            news: None,
            wall,
        })
    }

    /// Follows the latest rules, from the next request on.
    pub fn following(
        mut news: watch::Receiver<Arc<Rules>>,
        wall: Box<dyn WallClock>,
    ) -> Result<Self, GateError> {
        let rules = news.borrow_and_update().clone();
        let mut guard = Self::new(rules, wall)?;
        guard.news = Some(RefCell::new(news));
        Ok(guard)
    }

    fn follow(&self) {
        let Some(news) = &self.news else {
            return;
        };
        // An error means that there will be no more rules.
        if !news.borrow().has_changed().unwrap_or(false) {
            return;
        }
        let rules = news.borrow_mut().borrow_and_update().clone();
        self.tokens.borrow_mut().clear(rules.tokens);
        self.refused.borrow_mut().clear(MAX_REFUSED);
        self.sessions.borrow_mut().clear(rules.sessions.max(1));
        *self.rules.borrow_mut() = rules;
    }

    /// `login`: whether a login is accepted besides a token.
    pub(crate) fn judge(&self, request: &Request<'_>, login: bool) -> GuardDecision {
        self.follow();
        let rules = self.rules.borrow();
        if login
            && let Some(login) = &rules.login
            && let Some(cookie) = request::cookie(request.fields, login.cookie().as_bytes())
        {
            return self.judge_login(&rules, cookie);
        }
        let Some(sent) = token::find(request.fields, &rules) else {
            return GuardDecision::Deny(AuthError::NoToken);
        };
        let now = clock::seconds(self.wall.now());
        let remembers = rules.tokens > 0;
        if remembers
            && let Some(verified) = self.tokens.borrow_mut().get(sent.bytes())
            && verified.source == sent.source()
        {
            return self.decide(&rules, verified, now);
        }
        if self.refused.borrow_mut().get(sent.bytes()) == Some(&sent.source()) {
            return GuardDecision::Deny(AuthError::BadToken);
        }
        let verified = match verify(&rules, sent, &self.refused) {
            Ok(verified) => verified,
            Err(denial) => return GuardDecision::Deny(denial),
        };
        let judged = self.decide(&rules, &verified, now);
        if remembers && !matches!(judged, GuardDecision::Deny(_)) {
            self.tokens.borrow_mut().put(sent.bytes(), verified);
        }
        judged
    }

    /// A cached cookie needs no hash. Only cookies of known sessions are cached, so that strangers
    /// cannot displace them.
    fn judge_login(&self, rules: &Rules, cookie: &[u8]) -> GuardDecision {
        let now = clock::seconds(self.wall.now());
        let remembers = rules.tokens > 0;
        if remembers
            && let Some(verified) = self.tokens.borrow_mut().get(cookie)
            && verified.source == TokenSource::Login
        {
            return self.decide(rules, verified, now);
        }
        let login = rules.login.as_ref();
        let Some(session) = login.and_then(|login| login.session_name(cookie)) else {
            return GuardDecision::Deny(AuthError::UnknownSession);
        };
        let verified = Verified {
            source: TokenSource::Login,
            session: session.into(),
            expires: i64::MAX,
            not_before: i64::MIN,
        };
        let judged = self.decide(rules, &verified, now);
        if remembers && matches!(judged, GuardDecision::Pass(_)) {
            self.tokens.borrow_mut().put(cookie, verified);
        }
        judged
    }

    /// Whether the request's token or login is in a cookie, which browsers send by themselves.
    pub(crate) fn goes_by_cookie(&self, request: &Request<'_>, login: bool) -> bool {
        let rules = self.rules.borrow();
        let login = rules.login.as_ref().filter(|_| login);
        let has = |login: &LoginRules| {
            request::cookie(request.fields, login.cookie().as_bytes()).is_some()
        };
        let sent = || token::find(request.fields, &rules);
        login.is_some_and(|login| has(login)) || matches!(sent(), Some(SentToken::Cookie(_)))
    }

    /// Times are checked on each request, even if the token is cached.
    fn decide(&self, rules: &Rules, verified: &Verified, now: i64) -> GuardDecision {
        let leeway = rules.leeway_seconds();
        let until = verified.expires.saturating_add(leeway);
        // RFC 7519 §4.1.4: "on or after" is too late.
        if now >= until {
            return GuardDecision::Deny(AuthError::Expired);
        }
        if now.saturating_add(leeway) < verified.not_before {
            return GuardDecision::Deny(AuthError::TooEarly);
        }
        match self.known(&verified.session, now) {
            Some(session) => GuardDecision::Pass(Pass::new(session, until)),
            None => GuardDecision::Ask(SessionQuery {
                session: verified.session.clone(),
                until,
            }),
        }
    }

    fn known(&self, name: &str, now: i64) -> Option<Rc<ActiveSession>> {
        let mut sessions = self.sessions.borrow_mut();
        let session = sessions.get(name.as_bytes())?;
        if session.holds(now) {
            return Some(session.clone());
        }
        // The session's password must not stay in memory.
        sessions.remove(name.as_bytes());
        None
    }

    /// Takes the store's answer about a session. The value for `Authorization` is made here, once.
    pub(crate) fn admit(
        &self,
        question: &SessionQuery,
        answer: Result<Option<Found>, SessionError>,
    ) -> Result<Pass, AuthError> {
        let found = answer
            .map_err(AuthError::Store)?
            .ok_or(AuthError::UnknownSession)?;
        let now = clock::seconds(self.wall.now());
        let over = |expires| clock::seconds(expires) <= now;
        if found.expires.is_some_and(over) {
            return Err(AuthError::UnknownSession);
        }
        let rules = self.rules.borrow();
        let name = &question.session;
        let session = match rules.login.as_ref().filter(|_| document::is_login(name)) {
            Some(login) => open_login(&rules, login, name, found, now)?,
            None => {
                let login = rules.vault.open(name, &found.credentials);
                let login = login.map_err(AuthError::Credentials)?;
                ActiveSession::new(name.clone(), authorization(&login), found)
            }
        };
        let session = Rc::new(session);
        let mut sessions = self.sessions.borrow_mut();
        sessions.put(question.session().as_bytes(), session.clone());
        Ok(Pass::new(session, question.until))
    }

    /// Whether the tokens of a login should be refreshed now.
    pub(crate) fn wants_refresh(&self, pass: &Pass) -> bool {
        let due = |login: &ActiveLogin| login.wants_refresh(clock::seconds(self.wall.now()));
        pass.login().is_some_and(due)
    }

    pub(crate) fn holds(&self, pass: &Pass) -> bool {
        pass.holds(clock::seconds(self.wall.now()))
    }

    /// Whether the token of `pass` is still valid, and its session is still known to be valid.
    pub(crate) fn still_holds(&self, pass: &Pass) -> bool {
        let now = clock::seconds(self.wall.now());
        now < pass.until() && pass.holds(now)
    }

    /// The remaining time of the pass's token and session.
    pub(crate) fn left(&self, pass: &Pass) -> Duration {
        let now = clock::seconds(self.wall.now());
        Duration::from_secs(u64::try_from(pass.end().saturating_sub(now)).unwrap_or(0))
    }

    /// Ends when the admission may have ended; returns whether it may be renewed by asking for the
    /// session again. Nothing is allocated before it is awaited.
    pub(crate) async fn outlast(&self, pass: &Pass) -> bool {
        let outdated = pass.outdated();
        tokio::pin!(outdated);
        loop {
            let now = clock::seconds(self.wall.now());
            if now >= pass.end() {
                return now < pass.until();
            }
            let left = u64::try_from(pass.end().saturating_sub(now)).unwrap_or(0);
            let next_look = Duration::from_secs(left).min(CLOCK_INTERVAL);
            tokio::select! {
                () = &mut outdated => return true,
                () = tokio::time::sleep(next_look) => {}
            }
        }
    }
}

/// A login from the store. It is valid for as long as its tokens; then they must be refreshed.
fn open_login(
    rules: &Rules,
    login: &LoginRules,
    name: &Rc<str>,
    found: Found,
    now: i64,
) -> Result<ActiveSession, AuthError> {
    let document = LoginDocument::open(&rules.vault, name, &found.credentials);
    let document = document.ok_or(AuthError::Credentials(CredentialsError::Closed))?;
    if document.end <= now {
        return Err(AuthError::UnknownSession);
    }
    if document.tokens_end <= now {
        return Err(match document.refresh_token {
            Some(_) => AuthError::TokensOver,
            None => AuthError::UnknownSession,
        });
    }
    let authorization = login::authorization(&document, login.authorization());
    let until = document.end.min(document.tokens_end);
    let active = ActiveLogin::new(&document, login.unverified_email());
    Ok(ActiveSession::new(name.clone(), authorization, found).with_login(active, until))
}

fn verify(
    rules: &Rules,
    sent: SentToken<'_>,
    refused: &RefCell<Lru<TokenSource>>,
) -> Result<Verified, AuthError> {
    let bare;
    let token = match (sent, rules.cookie_form) {
        (SentToken::Cookie(value), CookieForm::Base64) => {
            bare = token_from_cookie(value).map_err(|_| AuthError::BadToken)?;
            bare.as_slice()
        }
        (SentToken::Cookie(value) | SentToken::Bearer(value), _) => value,
    };
    let jws = Jws::parse(token).map_err(|_| AuthError::BadToken)?;
    if !rules.keys.verify(&jws) {
        if rules.awaits_keys || rules.lack(&jws) {
            return Err(AuthError::NoKeys);
        }
        // A token that names an unknown key may request the key later.
        let is_final = rules.refresh.is_none() || jws.key_id.is_none_or(|id| rules.keys.have(&id));
        if is_final && sent.bytes().len() <= MAX_REFUSED_LENGTH {
            refused.borrow_mut().put(sent.bytes(), sent.source());
        }
        return Err(AuthError::BadToken);
    }
    // Claims are read only after the signature was verified.
    let claims = jws.claims().map_err(|_| AuthError::BadToken)?;
    if !rules.admit(&claims) {
        return Err(AuthError::NotForUs);
    }
    // The session of a login is used through its cookie, never through a token.
    if document::is_login(&claims.session) {
        return Err(AuthError::UnknownSession);
    }
    Ok(Verified {
        source: sent.source(),
        session: claims.session.into(),
        expires: claims.expires,
        not_before: claims.issued.max(claims.not_before.unwrap_or(i64::MIN)),
    })
}

/// The key of the caches' hash.
fn seed() -> Result<[u64; 2], GateError> {
    let mut bytes = [[0; 8]; 2];
    aws_lc_rs::rand::fill(bytes.as_flattened_mut()).map_err(|_| GateError::Cryptography)?;
    Ok(bytes.map(u64::from_ne_bytes))
}

#[cfg(test)]
mod tests;
