//! Connects a guard with the session store; or, on a gate without a guard, lets every request pass
//! unchanged.

use std::time::Duration;

use crate::judge::guard::{
    AuthError, Found, Guard, GuardDecision, Pass, SessionError, SessionQuery, Sessions,
};
use crate::judge::request::Request;

/// How often the store is asked about an open stream if its answers are not cached at all.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// One thread's guard and sessions.
pub struct Authenticator<S>(Option<(Guard, S)>);

/// The sessions of a gate without a guard; never used.
pub enum NoSessions {}

/// The decision before the store is asked.
pub(crate) enum AuthDecision {
    /// `None` if there is no guard: the client's own `Authorization` is passed on.
    Pass(Option<Pass>),
    Ask(SessionQuery),
    Deny(AuthError),
}

impl Authenticator<NoSessions> {
    pub fn open() -> Self {
        Self(None)
    }
}

impl<S: Sessions> Authenticator<S> {
    pub fn new(guard: Guard, sessions: S) -> Self {
        Self(Some((guard, sessions)))
    }

    pub(crate) fn decide(&self, request: &Request<'_>) -> AuthDecision {
        let Some((guard, _)) = &self.0 else {
            return AuthDecision::Pass(None);
        };
        match guard.judge(request) {
            GuardDecision::Pass(pass) => AuthDecision::Pass(Some(pass)),
            GuardDecision::Ask(question) => AuthDecision::Ask(question),
            GuardDecision::Deny(denial) => AuthDecision::Deny(denial),
        }
    }

    /// Whether a cookie would admit this request.
    pub(crate) fn goes_by_cookie(&self, request: &Request<'_>) -> bool {
        let guard = self.0.as_ref().map(|(guard, _)| guard);
        guard.is_some_and(|guard| guard.goes_by_cookie(request))
    }

    /// Asks the store, once.
    pub(crate) async fn authorize(&self, question: &SessionQuery) -> Result<Pass, AuthError> {
        let (guard, sessions) = self
            .0
            .as_ref()
            .ok_or(AuthError::Store(SessionError::Down))?;
        let answer = sessions.find(question.session()).await;
        guard.admit(question, answer)
    }

    /// The remaining time of the session and its token.
    pub(crate) fn left(&self, passed: &Pass) -> Duration {
        let guard = self.0.as_ref().map(|(guard, _)| guard);
        guard.map_or(Duration::ZERO, |guard| guard.left(passed))
    }

    /// Whether the session still admits the request, as the same user. The store is asked if that
    /// is not known.
    pub(crate) async fn admits(&self, passed: &Pass) -> bool {
        let Some((guard, _)) = &self.0 else {
            return true;
        };
        guard.still_holds(passed)
            || self
                .authorize(&passed.question())
                .await
                .is_ok_and(|again| again.authorization() == passed.authorization())
    }

    /// Ends when the request would no longer be admitted as the same user, because its token or its
    /// session has ended. If the session has only changed, or was forgotten because the store's
    /// pushes stopped, it asks the store again.
    pub(crate) async fn over(&self, passed: &Pass) {
        let Some((guard, _)) = &self.0 else {
            return std::future::pending().await;
        };
        let mut latest: Option<Pass> = None;
        loop {
            let pass = latest.as_ref().unwrap_or(passed);
            if !guard.outlast(pass).await {
                return;
            }
            let again = match self.authorize(&pass.question()).await {
                Ok(again) if again.authorization() == passed.authorization() => again,
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
