//! A session as the guard sees it, and the guard's interface to a store: an answer, and a notice
//! when the answer is no longer valid.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::time::SystemTime;

use tokio::sync::Notify;

use super::{SessionQuery, clock};
use crate::Secret;
use crate::judge::login::{ActiveLogin, ClaimRules};

/// Finds sessions: the near cache, then the store.
pub trait Sessions {
    /// The session with this name; `None` if there is none. Many tasks may ask for the same session
    /// at once; implementations may combine them.
    fn find(&self, session: &str) -> impl Future<Output = Result<Option<Found>, SessionError>>;
}

/// A session as the store has it. It has no `Debug`, so no credentials can be printed.
pub struct Found {
    /// The credentials as stored: plain base64, or sealed.
    pub credentials: Vec<u8>,
    pub expires: Option<SystemTime>,
    pub watch: Rc<dyn Watch>,
}

/// Why a store has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("the session store does not answer")]
    Down,
    #[error("the store's entry is not a session")]
    Unreadable,
}

/// Tells whether a store's answer is still valid.
pub trait Watch {
    /// Whether the answer may be used for another request. It may not after the store pushed an
    /// invalidation, after its connection was lost, or after the session was revoked. This is
    /// called on every request, so it must only look at memory.
    fn holds(&self) -> bool;

    /// Waits until the answer is no longer valid. If a stream is open, the store is then asked
    /// again.
    fn outdated(&self) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// A watch that tests control.
#[derive(Debug, Default)]
pub struct ManualWatch {
    outdated: Cell<bool>,
    changed: Notify,
}

impl ManualWatch {
    /// Makes the answer invalid, as a revocation, a change or a lost connection does.
    pub fn outdate(&self) {
        self.outdated.set(true);
        self.changed.notify_waiters();
    }
}

impl Watch for ManualWatch {
    fn holds(&self) -> bool {
        !self.outdated.get()
    }

    fn outdated(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            // On a single thread, nothing can happen between the check and the wait.
            if !self.outdated.get() {
                self.changed.notified().await;
            }
        })
    }
}

/// A session that may pass.
pub struct ActiveSession {
    /// The name that the store was asked for.
    name: Rc<str>,
    authorization: Secret,
    /// Seconds since 1970.
    expires: Option<i64>,
    login: Option<Box<ActiveLogin>>,
    watch: Rc<dyn Watch>,
}

/// The admission of a request: a session, for as long as the token is valid.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    session: Rc<ActiveSession>,
    /// Seconds since 1970.
    until: i64,
}

impl ActiveSession {
    pub(super) fn new(name: Rc<str>, authorization: Secret, found: Found) -> Self {
        Self {
            name,
            authorization,
            expires: found.expires.map(clock::seconds),
            login: None,
            watch: found.watch,
        }
    }

    /// Marks the session as a login, which is valid at most until `until`.
    pub(super) fn with_login(mut self, login: ActiveLogin, until: i64) -> Self {
        self.expires = Some(self.expires.map_or(until, |expires| expires.min(until)));
        self.login = Some(Box::new(login));
        self
    }

    /// The login, if the session is a login by a browser.
    pub(crate) fn login(&self) -> Option<&ActiveLogin> {
        self.login.as_deref()
    }

    /// Whether both are sessions of the same user. A login stays the same when its tokens are
    /// refreshed.
    pub(crate) fn is_same_user(&self, other: &Self) -> bool {
        match (&self.login, &other.login) {
            (Some(own), Some(others)) => own.is_same_person(others),
            (None, None) => self.authorization() == other.authorization(),
            _ => false,
        }
    }

    /// Whether the session has the claims that these rules require.
    pub(crate) fn meets(&self, rules: &ClaimRules) -> bool {
        rules.is_empty() || self.login().is_some_and(|login| login.meets(rules))
    }

    /// The session's name. It must not be logged as it is.
    pub(crate) fn name(&self) -> &Rc<str> {
        &self.name
    }

    /// The whole value of the field.
    pub(crate) fn authorization(&self) -> &[u8] {
        self.authorization.expose()
    }

    pub(super) fn holds(&self, now: i64) -> bool {
        self.expires.is_none_or(|expires| now < expires) && self.watch.holds()
    }
}

impl Pass {
    pub(super) fn new(session: Rc<ActiveSession>, until: i64) -> Self {
        Self { session, until }
    }

    pub(crate) fn question(&self) -> SessionQuery {
        SessionQuery {
            session: self.session.name.clone(),
            until: self.until,
        }
    }

    pub(super) fn until(&self) -> i64 {
        self.until
    }

    /// When the token or the session expires, whichever is first.
    pub(super) fn end(&self) -> i64 {
        self.until.min(self.session.expires.unwrap_or(i64::MAX))
    }

    /// Waits until the store's answer is no longer valid.
    pub(super) async fn outdated(&self) {
        self.session.watch.outdated().await;
    }
}

impl Deref for Pass {
    type Target = ActiveSession;

    fn deref(&self) -> &ActiveSession {
        &self.session
    }
}

/// Shows nothing about its user.
impl fmt::Debug for ActiveSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveSession")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
