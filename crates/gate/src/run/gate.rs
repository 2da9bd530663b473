//! The life of a gate: start, reload, end. Threads serve; a maintenance thread looks after what all
//! of them share: replaced certificates, JWK Sets, the servers of upstreams, and the admin server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use roundtrip_net::InheritedSockets;
use roundtrip_otlp::OtlpSettings;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use super::maintenance::Maintenance;
use crate::GateError;
use crate::accept::connection_limits::ConnectionLimits;
use crate::accept::listener::{Seed, Sockets};
use crate::config::Config;
use crate::judge::keyring::Keyring;
use crate::record::{AccessLog, Ledgers, Pseudonymizer, SpanThread, ThreadLog};
use crate::run::plan::Plan;
use crate::run::worker::{Worker, WorkerMode, WorkerOrder};

/// How long writing the rest of the access log may take.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);
/// The time that clients get to finish if gate could not start all of its threads.
const FAILED_DRAIN: Duration = Duration::from_secs(5);

/// A running gate. If dropped, it ends at once; [`Gate::drain`] lets open exchanges finish.
pub struct Gate {
    addresses: Addresses,
    certificate: Option<String>,
    orders: watch::Sender<WorkerOrder>,
    threads: Vec<JoinHandle<usize>>,
    maintenance: Maintenance,
    log: Option<AccessLog>,
    spans: Option<SpanThread>,
}

/// The addresses that gate serves, with the ports that are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    pub http: Vec<SocketAddr>,
    pub https: Vec<SocketAddr>,
    /// The addresses for proxies that ask.
    pub authz_http: Vec<SocketAddr>,
    pub authz_grpc: Vec<SocketAddr>,
    pub authz_https: Vec<SocketAddr>,
    pub admin: Option<SocketAddr>,
}

/// Events for the operator.
#[derive(Debug)]
pub enum News {
    Reloaded,
    /// The old configuration stays.
    NotReloaded(GateError),
    /// A certificate was replaced, and is used from now on.
    Certificate(PathBuf),
    /// A replaced certificate cannot be used, so the old one stays.
    BadCertificate(GateError),
    /// A JWK Set cannot be read, so the old keys stay.
    BadKeys(String),
    /// A dependency has changed: a server or the store went down or came back; or a certificate is
    /// about to expire.
    Condition(String),
    Draining(Duration),
    /// All connections have ended, or the time ran out and this many were cut off.
    Ended {
        cut: usize,
    },
}

impl News {
    /// Writes the event to the log of events.
    pub(crate) fn log(&self) {
        match self {
            Self::Reloaded => info!("the configuration was reloaded"),
            Self::NotReloaded(error) => warn!(%error, "the configuration was not reloaded"),
            Self::Certificate(path) => info!(?path, "a certificate was replaced"),
            Self::BadCertificate(error) => warn!(%error, "a certificate was not replaced"),
            // The keyring has logged it.
            Self::BadKeys(_) => {}
            Self::Condition(change) => info!(change, "a dependency changed"),
            Self::Draining(within) => info!(?within, "ending"),
            Self::Ended { cut } => info!(cut, "ended"),
        }
    }
}

impl Gate {
    /// Starts a gate. All errors are found before it accepts the first client, because another gate
    /// may be serving at the same addresses.
    pub fn start(config: Config, told: impl Fn(News) + Send + 'static) -> Result<Self, GateError> {
        Self::start_service(config, InheritedSockets::default(), None, told)
    }

    /// Like [`Self::start`], with sockets that the service manager opened. If there is a collector,
    /// sends it spans and durations.
    pub fn start_service(
        config: Config,
        inherited: InheritedSockets,
        collector: Option<OtlpSettings>,
        told: impl Fn(News) + Send + 'static,
    ) -> Result<Self, GateError> {
        let count = config.listen.thread_count();
        let seed = Arc::new(Seed::read(config.tls.seed.as_ref())?);
        let keyring = Keyring::open(&config)?;
        let (listen, authz) = (&config.listen, &config.authz);
        let mut sockets = Sockets::bind(listen, authz, &seed, count, inherited)?;
        let plan = Arc::new(Plan::new(config, &keyring, seed, sockets.https())?);
        let mut addresses = Addresses {
            http: sockets.http().to_vec(),
            https: sockets.https().to_vec(),
            authz_http: sockets.authz().http.clone(),
            authz_grpc: sockets.authz().grpc.clone(),
            authz_https: sockets.authz().https.clone(),
            admin: None,
        };
        let certificate = plan.tls.self_made().map(str::to_owned);
        let stage = WorkerMode::Serve;
        let orders = watch::Sender::new(WorkerOrder {
            plan: plan.clone(),
            stage,
        });
        let log = AccessLog::start(&plan.config.log.access)?;
        let sender = log.as_ref().map(AccessLog::sender);
        let thread_log = match sender.clone() {
            Some(sender) => Some(ThreadLog::new(sender, Pseudonymizer::new()?)),
            None => None,
        };
        // One more for the thread that sends spans.
        let book = Ledgers::new(count + 1);
        let spans = collector.map(|to| SpanThread::start(to, book.ledger(count), count));
        let spans = spans.transpose()?;
        let connection_limits = Arc::new(ConnectionLimits::default());
        // The admin address is the last thing that may be taken.
        let maintenance = Maintenance::start(plan, keyring, book.clone(), sender, Box::new(told))?;
        addresses.admin = maintenance.admin();
        let mut gate = Self {
            addresses,
            certificate,
            orders,
            threads: Vec::new(),
            maintenance,
            log,
            spans,
        };
        for number in 0..count {
            let worker = Worker {
                sockets: sockets.of_thread().unwrap_or_default(),
                orders: gate.orders.subscribe(),
                ledger: book.ledger(number),
                connection_limits: connection_limits.clone(),
                log: thread_log.clone(),
                spans: gate.spans.as_ref().map(|spans| spans.sender(number)),
            };
            match spawn(number, worker) {
                Ok(thread) => gate.threads.push(thread),
                Err(error) => {
                    // Threads that have started may have clients.
                    gate.end(FAILED_DRAIN);
                    return Err(error);
                }
            }
        }
        Ok(gate)
    }

    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The certificate that clients have to trust, if none was configured.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Adopts another configuration. If it cannot be served, nothing changes.
    pub fn reload(&self, config: Config) -> Result<(), GateError> {
        let before = self.orders.borrow().plan.clone();
        let keyring = Keyring::reopen(&config, &before.rules.borrow())?;
        let plan = before.reread(config, &keyring)?;
        let plan = Arc::new(plan);
        self.maintenance.follow(plan.clone(), keyring);
        self.orders.send_modify(|order| order.plan = plan);
        // A reload also means that the log file was moved.
        if let Some(log) = &self.log {
            log.reopen();
        }
        Ok(())
    }

    /// Stops accepting, and waits until open exchanges are done, but no longer than `within`.
    /// Returns how many connections were cut.
    pub fn drain(mut self, within: Duration) -> usize {
        self.end(within)
    }

    /// How long open exchanges may take, according to the configuration.
    pub fn patience(&self) -> Duration {
        self.orders.borrow().plan.config.admin.drain.0
    }

    fn end(&mut self, within: Duration) -> usize {
        let until = Instant::now() + within;
        self.maintenance.drain();
        self.orders
            .send_modify(|order| order.stage = WorkerMode::Drain { until });
        let mut cut = 0;
        for thread in self.threads.drain(..) {
            // A thread that panicked has no connections any more.
            cut += thread.join().unwrap_or_default();
        }
        if let Some(log) = self.log.take() {
            log.finish(LOG_TIMEOUT);
        }
        if let Some(spans) = self.spans.take() {
            spans.finish();
        }
        cut
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Returns when the thread accepts clients.
fn spawn(number: usize, worker: Worker) -> Result<JoinHandle<usize>, GateError> {
    let (tell, told) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("gate-{number}"))
        .spawn(move || {
            worker.run(move |ready| {
                let _ = tell.send(ready);
            })
        })
        .map_err(GateError::Thread)?;
    match told.recv() {
        Ok(ready) => ready.map(|()| thread),
        Err(_) => Err(GateError::Thread(std::io::ErrorKind::Other.into())),
    }
}
