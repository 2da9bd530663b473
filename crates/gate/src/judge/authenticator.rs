//! Connects a guard with the session store; or, on a gate without a guard, lets every request pass
//! unchanged.

use std::time::Duration;

use crate::judge::OwnAnswer;
use crate::judge::guard::{
    AuthError, Found, Guard, GuardDecision, Pass, SessionError, SessionQuery, Sessions,
};
use crate::judge::login::{ClaimRules, LoginReply, LoginRequest};
use crate::judge::openid::{LoginHandle, RefreshOutcome};
use crate::judge::request::Request;
use crate::record::Reason;

/// How often the store is asked about an open stream if its answers are not cached at all.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How often, and at which interval, a thread looks for tokens that are being refreshed.
const MAX_LOOKS: usize = 100;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// One thread's guard and sessions.
pub struct Authenticator<S> {
    guard: Option<(Guard, S)>,
    login: Option<LoginHandle>,
}

/// The sessions of a gate without a guard; never used.
pub enum NoSessions {}

/// The decision before the store is asked.
pub(crate) enum AuthDecision {
    /// The request may pass. `None` if there is no guard: the client's own `Authorization` is
    /// passed on.
    Pass(Option<Pass>),
    Ask(SessionQuery),
    Deny(AuthError),
}

impl Authenticator<NoSessions> {
    pub fn open() -> Self {
        Self {
            guard: None,
            login: None,
        }
    }
}

impl<S: Sessions> Authenticator<S> {
    pub fn new(guard: Guard, sessions: S) -> Self {
        Self {
            guard: Some((guard, sessions)),
            login: None,
        }
    }

    /// Adds the service that users log in with.
    pub(crate) fn with_login(mut self, login: Option<LoginHandle>) -> Self {
        self.login = login;
        self
    }

    /// Decides without I/O. `login`: whether a login is accepted besides a token.
    pub(crate) fn decide(&self, request: &Request<'_>, login: bool) -> AuthDecision {
        let Some((guard, _)) = &self.guard else {
            return AuthDecision::Pass(None);
        };
        match guard.judge(request, login) {
            GuardDecision::Pass(pass) => {
                self.refresh_in_time(guard, &pass);
                AuthDecision::Pass(Some(pass))
            }
            GuardDecision::Ask(question) => AuthDecision::Ask(question),
            GuardDecision::Deny(denial) => AuthDecision::Deny(denial),
        }
    }

    /// Whether this request would be admitted because of a cookie.
    pub(crate) fn goes_by_cookie(&self, request: &Request<'_>, login: bool) -> bool {
        let guard = self.guard.as_ref().map(|(guard, _)| guard);
        guard.is_some_and(|guard| guard.goes_by_cookie(request, login))
    }

    /// Answers a request for one of gate's own paths, or sends a browser to the provider.
    pub(crate) async fn log_in(&self, asked: LoginRequest, body: Vec<u8>) -> OwnAnswer {
        let stays = asked.stays();
        let reply = match &self.login {
            Some(login) => login.answer(asked, body).await,
            None => LoginReply::new(503, Reason::LoginDown),
        };
        OwnAnswer::for_login(reply, stays)
    }

    /// Asks the store, once; if the tokens of a login have expired, they are refreshed first.
    pub(crate) async fn authorize(&self, question: &SessionQuery) -> Result<Pass, AuthError> {
        match (self.ask_store(question).await, &self.login) {
            (Err(AuthError::TokensOver), Some(login)) => {
                self.authorize_refreshed(question, login).await
            }
            (answer, _) => answer,
        }
    }

    /// The service and this thread have separate connections to the store, so this thread may learn
    /// of a write a little later.
    async fn authorize_refreshed(
        &self,
        question: &SessionQuery,
        login: &LoginHandle,
    ) -> Result<Pass, AuthError> {
        match login.refresh(question.session()).await {
            RefreshOutcome::Refreshed => {}
            RefreshOutcome::Ended => return Err(AuthError::UnknownSession),
            RefreshOutcome::Down => return Err(AuthError::LoginDown),
        }
        for _ in 0..MAX_LOOKS {
            match self.ask_store(question).await {
                Err(AuthError::TokensOver) => tokio::time::sleep(LOOK_INTERVAL).await,
                answer => return answer,
            }
        }
        Err(AuthError::LoginDown)
    }

    async fn ask_store(&self, question: &SessionQuery) -> Result<Pass, AuthError> {
        let (guard, sessions) = self
            .guard
            .as_ref()
            .ok_or(AuthError::Store(SessionError::Down))?;
        let answer = sessions.find(question.session()).await;
        let admitted = guard.admit(question, answer);
        if let Ok(pass) = &admitted {
            self.refresh_in_time(guard, pass);
        }
        admitted
    }

    /// Requests a refresh of a login's tokens before they expire; the session continues meanwhile.
    fn refresh_in_time(&self, guard: &Guard, pass: &Pass) {
        if let Some(login) = &self.login
            && guard.wants_refresh(pass)
        {
            login.refresh_soon(pass.name());
        }
    }

    /// The remaining time of the session and its token.
    pub(crate) fn left(&self, passed: &Pass) -> Duration {
        let guard = self.guard.as_ref().map(|(guard, _)| guard);
        guard.map_or(Duration::ZERO, |guard| guard.left(passed))
    }

    /// Whether the session still admits the request, as the same user with the claims that its
    /// route requires. If that is not known, the store is asked.
    pub(crate) async fn admits(&self, passed: &Pass, require: &ClaimRules) -> bool {
        let Some((guard, _)) = &self.guard else {
            return true;
        };
        guard.still_holds(passed)
            || self
                .authorize(&passed.question())
                .await
                .is_ok_and(|again| again.is_same_user(passed) && again.meets(require))
    }

    /// Ends when the request would no longer be admitted as the same user with the claims that its
    /// route requires, because its token or its session has ended, or the session has lost them. If
    /// the session has only changed, or was forgotten because the store's pushes stopped, it asks
    /// the store again.
    pub(crate) async fn over(&self, passed: &Pass, require: &ClaimRules) {
        let Some((guard, _)) = &self.guard else {
            return std::future::pending().await;
        };
        let mut latest: Option<Pass> = None;
        loop {
            let pass = latest.as_ref().unwrap_or(passed);
            if !guard.outlast(pass).await {
                return;
            }
            let again = match self.authorize(&pass.question()).await {
                Ok(again) if again.is_same_user(passed) && again.meets(require) => again,
                _ => return,
            };
            if !guard.holds(&again) {
                tokio::time::sleep(RECHECK_INTERVAL).await;
            }
            latest = Some(again);
        }
    }
}

impl Sessions for NoSessions {
    async fn find(&self, _: &str) -> Result<Option<Found>, SessionError> {
        match *self {}
    }
}
