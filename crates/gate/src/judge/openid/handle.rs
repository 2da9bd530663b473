//! Gives orders to the login service, from any thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use roundtrip_store::SharedStore;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::service::LoginService;
use crate::GateError;
use crate::config::Login;
use crate::judge::credentials::Vault;
use crate::judge::login::{LoginOrder, LoginReply};
use crate::record::{LabelValue, LoginEvent, Reason};

/// The most orders that wait for the service; beyond that, clients are told to try again later.
const MAX_WAITING: usize = 1024;

/// Clones give orders to the same service, which ends with the last of them.
#[derive(Clone)]
pub(crate) struct LoginHandle {
    orders: mpsc::Sender<Order>,
    counts: Arc<LoginCounts>,
}

pub(super) enum Order {
    Answer {
        order: LoginOrder,
        body: Vec<u8>,
        reply: oneshot::Sender<LoginReply>,
    },
    Refresh {
        name: String,
        done: Option<oneshot::Sender<RefreshOutcome>>,
    },
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
        let (orders, taken) = mpsc::channel(MAX_WAITING);
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
                local.block_on(&runtime, service.run(store, taken));
            })
            .map_err(GateError::Thread)?;
        Ok(Self { orders, counts })
    }

    pub(crate) async fn answer(&self, order: LoginOrder, body: Vec<u8>) -> LoginReply {
        let (reply, replied) = oneshot::channel();
        let order = Order::Answer { order, body, reply };
        let busy = || LoginReply::new(503, Reason::LoginDown);
        if self.orders.try_send(order).is_err() {
            warn!("too many logins at once");
            return busy();
        }
        replied.await.unwrap_or_else(|_| busy())
    }

    /// Requests that a session's tokens be refreshed; the session continues meanwhile.
    pub(crate) fn refresh_soon(&self, name: &str) {
        // If too much waits, the next request asks again.
        let _ = self.orders.try_send(Order::Refresh {
            name: name.to_owned(),
            done: None,
        });
    }

    /// The same for a session that cannot continue until then.
    pub(crate) async fn refresh(&self, name: &str) -> RefreshOutcome {
        let (done, told) = oneshot::channel();
        let order = Order::Refresh {
            name: name.to_owned(),
            done: Some(done),
        };
        if self.orders.try_send(order).is_err() {
            return RefreshOutcome::Down;
        }
        told.await.unwrap_or(RefreshOutcome::Down)
    }

    /// The service's events; gone when it is.
    pub(crate) fn counts(&self) -> Weak<LoginCounts> {
        Arc::downgrade(&self.counts)
    }

    /// Whether both give orders to the same service.
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

    /// The events since the last call by anybody.
    pub(crate) fn take(&self) -> impl Iterator<Item = (LoginEvent, u64)> + '_ {
        let counts = LoginEvent::ALL.iter().zip(&self.0);
        counts.map(|(event, count)| (*event, count.swap(0, Ordering::Relaxed)))
    }
}
