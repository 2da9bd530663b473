//! A handle that tells a holder that its session has ended.

use std::cell::Cell;
use std::rc::Rc;
use std::time::SystemTime;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// A handle that fires once: when the session is revoked, when its credentials change, when it
/// expires, or when nobody has known for too long whether it still exists.
#[derive(Clone)]
pub struct Revoked(Rc<State>);

struct State {
    fired: Cell<bool>,
    expires: Cell<Option<Instant>>,
    news: Notify,
}

impl Revoked {
    pub(super) fn new(expires: Option<Instant>) -> Self {
        Self(Rc::new(State {
            fired: Cell::new(false),
            expires: Cell::new(expires),
            news: Notify::new(),
        }))
    }

    pub fn is_fired(&self) -> bool {
        let ended = |end: Instant| end <= Instant::now();
        self.0.fired.get() || self.0.expires.get().is_some_and(ended)
    }

    /// Waits until the handle fires.
    pub async fn fired(&self) {
        while !self.is_fired() {
            let news = self.0.news.notified();
            match self.0.expires.get() {
                Some(end) => tokio::select! {
                    () = news => {}
                    () = sleep_until(end) => {}
                },
                None => news.await,
            }
        }
    }

    pub(super) fn fire(&self) {
        self.0.fired.set(true);
        self.0.news.notify_waiters();
    }

    /// Sets another expiry.
    pub(super) fn expire_at(&self, expires: Option<Instant>) {
        self.0.expires.set(expires);
        self.0.news.notify_waiters();
    }

    /// Whether anything besides the cache holds this handle.
    pub(super) fn is_held(&self) -> bool {
        Rc::strong_count(&self.0) > 1
    }
}

/// The expiry on the clock of timers; `None` if it is too far in the future for a timer.
pub(super) fn instant(expires: Option<SystemTime>, now: SystemTime) -> Option<Instant> {
    let left = expires?.duration_since(now).unwrap_or_default();
    Instant::now().checked_add(left)
}
