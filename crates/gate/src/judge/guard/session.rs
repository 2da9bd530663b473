//! A session as a guard knows it, and what the guard needs from a store: an answer, and a notice
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

/// Where sessions are found: the near cache before any store.
pub trait Sessions {
    /// The session of this name, `None` if there is none. Many may ask for the same at once: asking
    /// together is its matter.
    fn find(&self, session: &str) -> impl Future<Output = Result<Option<Found>, SessionError>>;
}

/// What a store knows of a session. It has no `Debug`.
pub struct Found {
    /// As stored: plain base64, or sealed.
    pub credentials: Vec<u8>,
    pub expires: Option<SystemTime>,
    pub watch: Rc<dyn Watch>,
}

/// Why a store has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("the store of sessions does not answer")]
    Down,
    #[error("the store has something else than a session there")]
    Unreadable,
}

/// Whether what a store said of a session still holds.
pub trait Watch {
    /// May it be used for another request? Not once the store has pushed an invalidation, was cut
    /// off, or the session was revoked. Asked on every request: it has to be a look at memory.
    fn holds(&self) -> bool;

    /// Ends once it no longer holds. Who keeps a stream open asks the store again then.
    fn outdated(&self) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// A watch to be turned by hand.
#[derive(Debug, Default)]
pub struct ManualWatch {
    outdated: Cell<bool>,
    changed: Notify,
}

impl ManualWatch {
    /// The session was revoked or changed, or nobody would say if it was.
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
            // One thread's own: nothing comes between the look and the wait.
            if !self.outdated.get() {
                self.changed.notified().await;
            }
        })
    }
}

/// A session that may pass.
pub struct Session {
    /// What the store was asked for.
    name: Rc<str>,
    authorization: Secret,
    /// Seconds since 1970.
    expires: Option<i64>,
    watch: Rc<dyn Watch>,
}

/// What a request was let in by: a session, for as long as the token is good.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    session: Rc<Session>,
    /// Seconds since 1970.
    until: i64,
}

impl Session {
    pub(super) fn new(name: Rc<str>, authorization: Secret, found: Found) -> Self {
        Self {
            name,
            authorization,
            expires: found.expires.map(clock::seconds),
            watch: found.watch,
        }
    }

    /// Not for logs as it is.
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
    pub(super) fn new(session: Rc<Session>, until: i64) -> Self {
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

    /// When the token or the session is over, as far as is known.
    pub(super) fn end(&self) -> i64 {
        self.until.min(self.session.expires.unwrap_or(i64::MAX))
    }

    /// Ends when what the store said does not hold any more.
    pub(super) async fn outdated(&self) {
        self.session.watch.outdated().await;
    }
}

impl Deref for Pass {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

/// Nothing of whose it is.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
