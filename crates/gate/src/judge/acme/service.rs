//! Looks after the certificates on its own thread: reads what the fleet has, publishes it, and
//! orders what is due if no other replica is ordering.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_store::{SharedStore, StoreError};
use rustls::crypto::{CryptoProvider, aws_lc_rs::default_provider};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use zeroize::Zeroizing;

use super::AcmeError;
use super::account_key::AccountKey;
use super::active::{ActiveAcme, NameState};
use super::client::{Account, AcmeClient, Directory};
use super::documents::{
    AccountDocument, AcmeStore, CertificateDocument, FleetState, PostedChallenge, Stored, StoredKey,
};
use super::issued::{CertificateRequest, Validity, certified, challenge_certificate};
use super::order::{Order, Responder};
use super::schedule::{next_attempt, pause, renewal, retry};
use crate::GateError;
use crate::config::Acme;
use crate::judge::credentials::Vault;

/// How often the fleet state is read.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How often all documents are read, even if the fleet state says that none has changed.
const READ_INTERVAL: Duration = Duration::from_mins(1);
/// The time after which every replica has seen the challenge.
const SPREAD_TIME: Duration = Duration::from_secs(3);
/// How much longer a claim holds than an order may take.
const CLAIM_MARGIN: Duration = Duration::from_secs(10);
/// How often writing a result is tried if the store does not accept it.
const MAX_WRITES: u32 = 5;
const CLOSED: &str = "the stored copy is sealed with another [[session.seal]] key";

/// Clones refer to the same service, which ends with the last of them.
#[derive(Clone)]
pub(crate) struct AcmeHandle {
    active: Arc<ActiveAcme>,
    _stop: mpsc::Sender<()>,
}

struct AcmeService {
    settings: Acme,
    names: Vec<String>,
    client: AcmeClient,
    acme_store: AcmeStore,
    active: Arc<ActiveAcme>,
    provider: CryptoProvider,
    fleet_state: RefCell<FleetState>,
    /// When all documents were last read.
    read: Cell<Option<Instant>>,
    /// When each name is due. Names that are missing here may not be ordered.
    due: RefCell<BTreeMap<String, i64>>,
    /// The end of the time in which this replica may order.
    claimed: Cell<Option<Instant>>,
    /// Whether the operator knows that the store cannot be used.
    told_trouble: Cell<bool>,
}

impl AcmeHandle {
    pub(crate) fn start(
        settings: &Acme,
        names: Vec<String>,
        vault: Arc<Vault>,
        store: SharedStore,
    ) -> Result<Self, GateError> {
        let refused = |what: &str| Err(GateError::Acme(what.to_owned()));
        if vault.seals_with().is_none() {
            return refused("keys are stored sealed; add a [[session.seal]]");
        }
        if matches!(store, SharedStore::Memory(_)) {
            return refused(
                "with session.store = \"memory:\" each start would order again, and CAs limit that; use 'redb:/path/of/a/file' or Redis",
            );
        }
        if names.is_empty() {
            return refused("there is no name; set acme.names, or the host of a route");
        }
        let active = Arc::new(ActiveAcme::new(settings.challenge, &names));
        let client = AcmeClient::new(settings)?;
        let (stop, stopped) = mpsc::channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(GateError::Thread)?;
        let (settings, shown) = (settings.clone(), active.clone());
        std::thread::Builder::new()
            .name("gate-acme".into())
            .spawn(move || {
                let local = tokio::task::LocalSet::new();
                local.block_on(&runtime, async move {
                    let external = settings.external_account.as_ref();
                    let id = external.map_or("", |external| external.id.as_str());
                    let realm = format!("{}\0{id}", settings.directory);
                    let acme_store = AcmeStore::new(store.on_this_thread(), vault, realm);
                    let service = AcmeService::new(settings, names, client, acme_store, shown);
                    service.run(stopped).await;
                });
            })
            .map_err(GateError::Thread)?;
        Ok(Self {
            active,
            _stop: stop,
        })
    }

    pub(crate) fn active(&self) -> &Arc<ActiveAcme> {
        &self.active
    }
}

impl AcmeService {
    fn new(
        settings: Acme,
        names: Vec<String>,
        client: AcmeClient,
        acme_store: AcmeStore,
        active: Arc<ActiveAcme>,
    ) -> Self {
        Self {
            settings,
            names,
            client,
            acme_store,
            active,
            provider: default_provider(),
            fleet_state: RefCell::default(),
            read: Cell::default(),
            due: RefCell::default(),
            claimed: Cell::default(),
            told_trouble: Cell::default(),
        }
    }

    async fn run(self, mut stopped: mpsc::Receiver<()>) {
        loop {
            let turn = async {
                self.turn().await;
                sleep(LOOK_INTERVAL).await;
            };
            tokio::select! {
                biased;
                _ = stopped.recv() => break,
                () = turn => {}
            }
        }
        if self.claimed.get().is_some() {
            // The claim is released, so that another replica can continue at once.
            let _ = timeout(LOOK_INTERVAL, self.give_up()).await;
        }
    }

    async fn turn(&self) {
        if let Err(error) = self.look().await {
            if !self.told_trouble.replace(true) {
                self.active
                    .tell(format!("acme: certificates cannot be read: {error}"));
            }
            return;
        }
        self.told_trouble.set(false);
        let Some(name) = self.next_due() else {
            return;
        };
        let life = self.settings.order_time.0 + CLAIM_MARGIN;
        let until = Instant::now() + life;
        // If the store fails, the next turn says so.
        if !matches!(self.acme_store.claim(life).await, Ok(true)) {
            return;
        }
        self.claimed.set(Some(until));
        // Another replica may have ordered it since.
        self.read.set(None);
        if self.look().await.is_ok() && self.next_due().as_ref() == Some(&name) {
            self.active.counts().begun.fetch_add(1, Ordering::Relaxed);
            let time = self.settings.order_time.0;
            let outcome = timeout(time, self.order(&name)).await;
            let outcome = outcome.unwrap_or(Err(AcmeError::TimedOut(time)));
            self.conclude(&name, outcome).await;
        }
        // If it fails, the claim expires.
        let _ = self.give_up().await;
    }

    /// Reads what the fleet has, and publishes it.
    async fn look(&self) -> Result<(), StoreError> {
        let fleet_state = match self.acme_store.fleet_state().await? {
            Stored::Absent => FleetState::default(),
            Stored::Closed => return Err(StoreError::NotUnderstood(CLOSED)),
            Stored::Found(fleet_state) => fleet_state,
        };
        let is_news = fleet_state.version != self.fleet_state.borrow().version;
        self.fleet_state.replace(fleet_state.clone());
        self.follow_challenge(fleet_state.challenge);
        let is_old = |at: Instant| at.elapsed() >= READ_INTERVAL;
        if !is_news && !self.read.get().is_none_or(is_old) {
            return Ok(());
        }
        for name in &self.names {
            let stored = self.acme_store.certificate(name).await?;
            self.publish(name, stored);
        }
        self.read.set(Some(Instant::now()));
        Ok(())
    }

    fn follow_challenge(&self, posted: Option<PostedChallenge>) {
        let posted = posted.filter(|posted| posted.ends > now());
        if self.active.answers(posted.as_ref()) {
            return;
        }
        let certificate = posted.as_ref().filter(|_| self.active.uses_alpn());
        let certificate = certificate.and_then(|posted| {
            let made = challenge_certificate(&posted.name, &posted.authorization, &self.provider);
            made.ok().map(Arc::new)
        });
        self.active.set_challenge(posted, certificate);
    }

    fn publish(&self, name: &str, stored: Stored<CertificateDocument>) {
        let mut due = self.due.borrow_mut();
        let document = match stored {
            Stored::Absent => {
                due.insert(name.to_owned(), 0);
                return;
            }
            Stored::Closed => {
                // A replica that has the key may have a valid certificate.
                due.remove(name);
                return self.show_trouble(name, CLOSED.into());
            }
            Stored::Found(document) => document,
        };
        let mut next = document.next;
        if document.failures > 0 {
            next = next_attempt(next, now());
        }
        due.insert(name.to_owned(), next);
        let before = self.active.state(name).unwrap_or_default();
        let mut after = NameState::default();
        name.clone_into(&mut after.view.name);
        (after.view.next, after.view.failures) = (next, document.failures);
        after.view.error.clone_from(&document.error);
        if !document.chain.is_empty() {
            match certified(name, &document.chain, &document.key.pkcs8(), &self.provider) {
                Ok((key, validity)) => {
                    after.view.ends = Some(validity.ends);
                    after.certificate = Some(Arc::new(key));
                }
                Err(error) => after.view.error = error.to_string(),
            }
        }
        if before.view != after.view {
            let line = after.view.line(before.view.ends != after.view.ends, now());
            self.active.set_state(after);
            self.active.tell(line);
        }
    }

    fn show_trouble(&self, name: &str, error: String) {
        let Some(mut state) = self.active.state(name) else {
            return;
        };
        if state.view.error != error {
            state.view.error = error;
            self.active.tell(state.view.line(false, now()));
            self.active.set_state(state);
        }
    }

    /// The name that has waited longest, if something is due.
    fn next_due(&self) -> Option<String> {
        let now = now();
        if next_attempt(self.fleet_state.borrow().pause, now) > now {
            return None;
        }
        let due = self.due.borrow();
        let first = due.iter().min_by_key(|(_, at)| **at)?;
        (*first.1 <= now).then(|| first.0.clone())
    }

    async fn order(&self, name: &str) -> Result<Issued, AcmeError> {
        let directory = self.client.directory().await?;
        let account = self.account(&directory).await?;
        let request = CertificateRequest::new(name)?;
        let order = Order {
            client: &self.client,
            directory: &directory,
            account: &account,
            name,
            kind: self.settings.challenge,
        };
        let chain = order.complete(&request, self).await;
        if chain
            .as_ref()
            .is_err_and(|error| error.is_problem("accountDoesNotExist"))
        {
            // The next order registers the account again.
            self.keep_account(&account.key_document, "").await?;
        }
        let chain = chain?;
        let (_, validity) = certified(name, &chain, &request.key, &self.provider)?;
        // Otherwise it would be ordered again and again, until the CA refuses.
        if renewal(validity, 0.0) <= now() {
            let why = "two thirds of its life are over already; is this machine's clock right?";
            return Err(AcmeError::Certificate(why.into()));
        }
        Ok(Issued {
            chain,
            key: request.key,
            validity,
        })
    }

    /// The fleet's account; if there is none, it is registered.
    async fn account(&self, directory: &Directory) -> Result<Account, AcmeError> {
        let (document, is_new) = match self.acme_store.account().await? {
            Stored::Closed => return Err(StoreError::NotUnderstood(CLOSED).into()),
            Stored::Found(document) => (document, false),
            Stored::Absent => {
                let key = StoredKey::new(&AccountKey::generate()?);
                let url = String::new();
                (AccountDocument { key, url }, true)
            }
        };
        let key = AccountKey::from_pkcs8(&document.key.pkcs8())?;
        if is_new {
            // Before the CA knows it, so that it is not lost.
            self.acme_store.put_account(&document).await?;
        }
        let mut url = document.url.clone();
        if url.is_empty() {
            url = self.client.register(directory, &key).await?;
            self.keep_account(&document.key, &url).await?;
            self.active.tell("acme: the account was registered".into());
        }
        Ok(Account {
            key,
            key_document: document.key.clone(),
            url,
        })
    }

    async fn keep_account(&self, key: &StoredKey, url: &str) -> Result<(), StoreError> {
        let document = AccountDocument {
            key: key.clone(),
            url: url.to_owned(),
        };
        self.acme_store.put_account(&document).await
    }

    /// Stores the outcome of an order, and publishes it.
    async fn conclude(&self, name: &str, outcome: Result<Issued, AcmeError>) {
        let before = match self.acme_store.certificate(name).await {
            Ok(Stored::Found(document)) => document,
            _ => CertificateDocument::default(),
        };
        let mut fleet_state = self.fleet_state.borrow().clone();
        let counts = self.active.counts();
        let document = match outcome {
            Ok(issued) => {
                counts.issued.fetch_add(1, Ordering::Relaxed);
                (fleet_state.pause, fleet_state.failures) = (0, 0);
                CertificateDocument {
                    next: renewal(issued.validity, chance()),
                    key: StoredKey::new(&issued.key),
                    chain: issued.chain,
                    ..CertificateDocument::default()
                }
            }
            Err(error) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                let mut failures = before.failures.saturating_add(1);
                let mut document = before;
                document.failures = failures;
                if error.concerns_all() {
                    fleet_state.failures = fleet_state.failures.saturating_add(1);
                    failures = failures.max(fleet_state.failures);
                }
                document.next = retry(&error, failures, now(), chance());
                if error.concerns_all() {
                    fleet_state.pause = pause(&error, document.next, now());
                }
                document.error = error.to_string();
                document
            }
        };
        for _ in 0..MAX_WRITES {
            if self
                .acme_store
                .put_certificate(name, &document)
                .await
                .is_ok()
            {
                break;
            }
            sleep(LOOK_INTERVAL).await;
        }
        self.fleet_state.replace(fleet_state);
        self.publish(name, Stored::Found(document));
    }

    /// Ends the challenge, tells all replicas to read the documents, and releases the claim. If the
    /// claim has expired, another replica may have done all of this: replicas read the documents
    /// soon anyway.
    async fn give_up(&self) -> Result<(), StoreError> {
        self.active.set_challenge(None, None);
        let holds = |until: Instant| Instant::now() < until;
        if !self.claimed.take().is_some_and(holds) {
            return Ok(());
        }
        let mut fleet_state = self.fleet_state.borrow().clone();
        fleet_state.challenge = None;
        fleet_state.version = fleet_state.version.wrapping_add(1);
        let posted = self.acme_store.put_fleet_state(&fleet_state).await;
        self.acme_store.release().await?;
        posted
    }
}

impl Responder for AcmeService {
    async fn show(&self, name: &str, token: &str, authorization: &str) -> Result<(), AcmeError> {
        let time = self.settings.order_time.0 + CLAIM_MARGIN;
        let posted = PostedChallenge {
            name: name.to_owned(),
            token: token.to_owned(),
            authorization: authorization.to_owned(),
            ends: now().saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)),
        };
        let mut fleet_state = self.fleet_state.borrow().clone();
        fleet_state.challenge = Some(posted.clone());
        self.acme_store.put_fleet_state(&fleet_state).await?;
        self.fleet_state.replace(fleet_state);
        self.follow_challenge(Some(posted));
        sleep(SPREAD_TIME).await;
        Ok(())
    }
}

/// A certificate, and its key as PKCS #8.
struct Issued {
    chain: String,
    key: Zeroizing<Vec<u8>>,
    validity: Validity,
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

/// A number from 0 to 1.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness nothing is spread, and TLS does not work either.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests;
