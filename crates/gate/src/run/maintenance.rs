//! The maintenance thread: it looks after what all threads share, and serves the admin's address.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use roundtrip_net::return_free_memory;
use tokio::net::TcpListener;
use tokio::runtime::LocalOptions;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::free_memory::FreeMemory;
use super::gate::News;
use crate::GateError;
use crate::admin::dependencies::{Dependencies, Expiry};
use crate::admin::{self, AdminState};
use crate::judge::keyring::Keyring;
use crate::record::{Ledgers, LogSender};
use crate::run::plan::Plan;

/// How often the certificates' files are checked.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the certificates' expiry is checked.
const EXPIRY_INTERVAL: Duration = Duration::from_hours(1);

pub(super) struct Maintenance {
    tell: Option<UnboundedSender<Maintained>>,
    draining: Arc<AtomicBool>,
    admin: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

/// The things to maintain from now on.
struct Maintained {
    plan: Arc<Plan>,
    keyring: Keyring,
}

type NewsHandler = Box<dyn Fn(News) + Send>;

impl Maintenance {
    pub(super) fn start(
        plan: Arc<Plan>,
        keyring: Keyring,
        book: Ledgers,
        log: Option<LogSender>,
        told: NewsHandler,
    ) -> Result<Self, GateError> {
        let listener = plan.config.admin.listen.map(listen).transpose()?;
        let admin = listener.as_ref().and_then(|l| l.local_addr().ok());
        let draining = Arc::new(AtomicBool::new(false));
        let dependencies = Arc::<Dependencies>::default();
        follow(&dependencies, &plan);
        let watch = (dependencies.clone(), book.clone());
        let made_by = format!("roundtrip {}", env!("CARGO_PKG_VERSION"));
        let state = AdminState::new(book, draining.clone(), dependencies, made_by);
        let state = match log {
            Some(sender) => state.with_log(sender),
            None => state,
        };
        state.is_called(&plan.config.admin.hosts);
        let (tell, turns) = unbounded_channel();
        let first = Maintained { plan, keyring };
        let (ready, is_ready) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("gate-upkeep".into())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build_local(LocalOptions::default());
                match runtime {
                    Ok(runtime) => {
                        let _ = ready.send(Ok(()));
                        let state = listener.map(|listener| (listener, Arc::new(state)));
                        runtime.block_on(keep(first, turns, state, watch, told));
                    }
                    Err(source) => drop(ready.send(Err(GateError::Thread(source)))),
                }
            })
            .map_err(GateError::Thread)?;
        let ended = || GateError::Thread(std::io::ErrorKind::Other.into());
        is_ready.recv().map_err(|_| ended())??;
        Ok(Self {
            tell: Some(tell),
            draining,
            admin,
            thread: Some(thread),
        })
    }

    pub(super) fn admin(&self) -> Option<SocketAddr> {
        self.admin
    }

    pub(super) fn follow(&self, plan: Arc<Plan>, keyring: Keyring) {
        if let Some(tell) = &self.tell {
            // The thread does not end before the gate.
            let _ = tell.send(Maintained { plan, keyring });
        }
    }

    /// Makes `/readyz` say that gate is not ready.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.tell = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(address: SocketAddr) -> Result<std::net::TcpListener, GateError> {
    let how = roundtrip_net::Listening {
        backlog: 64,
        // A process that takes over listens while this one ends.
        shared: true,
        ..roundtrip_net::Listening::default()
    };
    roundtrip_net::listen(address, &how).map_err(|source| GateError::Listen { address, source })
}

/// Runs until the channel is closed.
async fn keep(
    first: Maintained,
    mut turns: UnboundedReceiver<Maintained>,
    state: Option<(std::net::TcpListener, Arc<AdminState>)>,
    (dependencies, book): (Arc<Dependencies>, Ledgers),
    told: NewsHandler,
) {
    let shown = state.as_ref().map(|(_, state)| state.clone());
    let _serving = serve(state);
    let mut expiry = Expiry::begin(&first.plan.config, SystemTime::now());
    let mut expiring = interval(EXPIRY_INTERVAL);
    expiring.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let told = std::rc::Rc::new(told);
    let mut plan = first.plan.clone();
    let mut tasks = tend(first, &told);
    let mut free_memory = FreeMemory::default();
    let mut looks = interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            turn = turns.recv() => {
                let Some(turn) = turn else { return };
                // Unchanged things are in both plans, and start again.
                plan = turn.plan.clone();
                follow(&dependencies, &plan);
                if let Some(state) = &shown {
                    state.is_called(&plan.config.admin.hosts);
                }
                tasks = tend(turn, &told);
            }
            _ = looks.tick() => {
                look(&plan, &told);
                let mut tell = |line| told(News::Condition(line));
                let snapshot = book.snapshot();
                dependencies.look(&snapshot, Instant::now(), &mut tell);
                free_memory.look(&snapshot, return_free_memory);
            }
            _ = expiring.tick() => {
                let mut tell = |line| told(News::Condition(line));
                expiry.look(&plan.config, SystemTime::now(), &mut tell);
            }
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
        }
    }
}

fn serve(state: Option<(std::net::TcpListener, Arc<AdminState>)>) -> JoinSet<()> {
    let mut serving = JoinSet::new();
    if let Some((listener, state)) = state
        && let Ok(listener) = TcpListener::from_std(listener)
    {
        serving.spawn_local(admin::serve(listener, state));
    }
    serving
}

/// Runs the lookups and checks of servers, and reads JWK Sets.
fn tend(turn: Maintained, told: &std::rc::Rc<NewsHandler>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for group in turn.plan.groups.values() {
        tasks.spawn_local(group.clone().maintain());
    }
    let told = told.clone();
    tasks.spawn_local(async move {
        let keyring = turn.keyring;
        keyring
            .run(|read| {
                if let Err(error) = read {
                    told(News::BadKeys(error.to_string()));
                }
            })
            .await;
    });
    tasks
}

fn look(plan: &Plan, told: &NewsHandler) {
    let acme = plan.acme.iter().flat_map(|acme| acme.active().take_news());
    acme.for_each(|line| told(News::Condition(line)));
    for found in plan.tls.look() {
        told(match found {
            Ok(path) => News::Certificate(path),
            Err(error) => News::BadCertificate(error),
        });
    }
}

/// Watches this plan's dependencies from now on.
fn follow(dependencies: &Dependencies, plan: &Plan) {
    dependencies.follow(&plan.config, plan.groups.values(), plan.place.outage());
    dependencies.follow_acme(plan.acme.as_ref().map(|acme| acme.active().clone()));
}
