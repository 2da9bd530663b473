//! Gives orders to the login service, from any thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use roundtrip_store::SharedStore;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::service::LoginService;
use super::turns::PendingLogin;
use crate::GateError;
use crate::config::Login;
use crate::judge::credentials::Vault;
use crate::judge::login::{LoginReply, LoginRequest};
use crate::record::{LabelValue, LoginEvent, Reason};

/// The largest number of sessions that wait to be refreshed.
const MAX_REFRESHES: usize = 1024;

/// Clones give orders to the same service, which ends with the last of them.
#[derive(Clone)]
pub(crate) struct LoginHandle {
    /// New requests. The service takes them at once, and bounds how many wait.
    requests: mpsc::UnboundedSender<PendingLogin>,
    refreshes: mpsc::Sender<Refresh>,
    counts: Arc<LoginCounts>,
}

/// An order to refresh a session's tokens.
pub(super) struct Refresh {
    pub(super) name: String,
    pub(super) done: Option<oneshot::Sender<RefreshOutcome>>,
}

/// The outcome for a session whose tokens had expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefreshOutcome {
    Refreshed,
    Ended,
    /// The provider or the store does not answer.
    Down,
}

/// Events that no thread's ledger has yet.
#[derive(Debug, Default)]
pub(crate) struct LoginCounts([AtomicU64; LoginEvent::COUNT]);

impl LoginHandle {
    /// Starts the service on a separate thread.
    pub(crate) fn start(
        login: &Login,
        vault: Arc<Vault>,
        store: SharedStore,
    ) -> Result<Self, GateError> {
        if vault.seals_with().is_none() {
            let what = "sessions need a key to seal them; add a [[session.seal]]";
            return Err(GateError::Login(what.into()));
        }
        let (requests, requested) = mpsc::unbounded_channel();
        let (refreshes, due) = mpsc::channel(MAX_REFRESHES);
        let counts = Arc::<LoginCounts>::default();
        let service = LoginService::new(login, vault, counts.clone())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(GateError::Thread)?;
        std::thread::Builder::new()
            .name("gate-login".into())
            .spawn(move || {
                let local = tokio::task::LocalSet::new();
                local.block_on(&runtime, service.run(store, requested, due));
            })
            .map_err(GateError::Thread)?;
        Ok(Self {
            requests,
            refreshes,
            counts,
        })
    }

    pub(crate) async fn answer(&self, asked: LoginRequest, body: Vec<u8>) -> LoginReply {
        let (reply, replied) = oneshot::channel();
        // If the service has ended, the request is dropped too.
        let _ = self.requests.send(PendingLogin { asked, body, reply });
        replied.await.unwrap_or_else(|_| {
            warn!("too many logins at once");
            LoginReply::new(503, Reason::LoginDown)
        })
    }

    /// Requests that a session's tokens be refreshed; the session continues meanwhile.
    pub(crate) fn refresh_soon(&self, name: &str) {
        // If too much waits, the next request asks again.
        let _ = self.refreshes.try_send(Refresh {
            name: name.to_owned(),
            done: None,
        });
    }

    /// Refreshes a session's tokens and waits for the result: the session cannot continue without
    /// it.
    pub(crate) async fn refresh(&self, name: &str) -> RefreshOutcome {
        let (done, told) = oneshot::channel();
        let order = Refresh {
            name: name.to_owned(),
            done: Some(done),
        };
        if self.refreshes.try_send(order).is_err() {
            return RefreshOutcome::Down;
        }
        told.await.unwrap_or(RefreshOutcome::Down)
    }

    /// The service's events, for as long as the service exists.
    pub(crate) fn counts(&self) -> Weak<LoginCounts> {
        Arc::downgrade(&self.counts)
    }

    /// Whether both handles belong to the same service.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.counts, &other.counts)
    }
}

impl LoginCounts {
    pub(super) fn count(&self, event: LoginEvent) {
        self.add(event, 1);
    }

    pub(super) fn add(&self, event: LoginEvent, more: u64) {
        if let Some(count) = self.0.get(event.index()) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The events since the last call by any thread.
    pub(crate) fn take(&self) -> impl Iterator<Item = (LoginEvent, u64)> + '_ {
        let counts = LoginEvent::ALL.iter().zip(&self.0);
        counts.map(|(event, count)| (*event, count.swap(0, Ordering::Relaxed)))
    }
}
