//! A session as a guard knows it, and what it wants of a store: an answer, and word when the answer no longer holds.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Question, clock};
use crate::Secret;

/// Where sessions are found: the near cache before any store.
pub trait Sessions {
    /// The session of this name, `None` if there is none. Many may ask for the same at once: asking together is its matter.
    fn find(&self, session: &str) -> impl Future<Output = Result<Option<Found>, Trouble>>;
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
pub enum Trouble {
    #[error("the store of sessions does not answer")]
    Down,
    #[error("the store has something else than a session there")]
    Unreadable,
}

/// Whether what a store said of a session still holds.
pub trait Watch {
    /// May it be used for another request? Not once the store has pushed an invalidation, was cut off, or the session was
    /// revoked. Asked on every request: it has to be a look at memory.
    fn holds(&self) -> bool;

    /// Ends once it no longer holds. Who keeps a stream open asks the store again then.
    fn outdated(&self) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// A watch to be turned by hand.
#[derive(Debug, Default)]
pub struct Standing {
    outdated: Cell<bool>,
    changed: Notify,
}

impl Standing {
    /// The session was revoked or changed, or nobody would say if it was.
    pub fn outdate(&self) {
        self.outdated.set(true);
        self.changed.notify_waiters();
    }
}

impl Watch for Standing {
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
    name: Box<str>,
    authorization: Secret,
    /// Seconds since 1970.
    expires: Option<i64>,
    /// The same, by the clock of timers.
    ends: Option<Instant>,
    watch: Rc<dyn Watch>,
}

impl Session {
    pub(super) fn new(name: Box<str>, authorization: Secret, found: Found, now: i64) -> Self {
        let expires = found.expires.map(clock::seconds);
        let left = |expires: i64| u64::try_from(expires.saturating_sub(now)).unwrap_or(0);
        let end = |expires| Instant::now().checked_add(Duration::from_secs(left(expires)));
        Self {
            name,
            authorization,
            ends: expires.and_then(end),
            expires,
            watch: found.watch,
        }
    }

    /// The whole value of the field.
    pub(crate) fn authorization(&self) -> &[u8] {
        self.authorization.expose()
    }

    pub(super) fn holds(&self, now: i64) -> bool {
        self.expires.is_none_or(|expires| now < expires) && self.watch.holds()
    }

    pub(crate) fn question(&self) -> Question {
        Question {
            session: self.name.clone(),
        }
    }

    /// Ends when it no longer holds.
    pub(crate) async fn outdated(&self) {
        let outdated = self.watch.outdated();
        let Some(ends) = self.ends else {
            return outdated.await;
        };
        tokio::select! {
            () = outdated => {}
            () = tokio::time::sleep_until(ends) => {}
        }
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
