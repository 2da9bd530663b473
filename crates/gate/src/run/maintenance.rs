//! The keeper's thread: it looks after what all threads share, and serves the admin's address.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::gate::News;
use crate::GateError;
use crate::admin::condition::{Condition, Expiry};
use crate::admin::{self, Desk};
use crate::judge::keyring::Keyring;
use crate::record::{Book, Pen};
use crate::run::plan::Plan;

/// Between two looks at the certificates' files.
const LOOK: Duration = Duration::from_secs(1);
/// And at how long they are good for.
const EXPIRY: Duration = Duration::from_hours(1);

pub(super) struct Keeper {
    tell: Option<UnboundedSender<Turn>>,
    draining: Arc<AtomicBool>,
    admin: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

/// What is looked after from now on.
struct Turn {
    plan: Arc<Plan>,
    keyring: Keyring,
}

type Told = Box<dyn Fn(News) + Send>;

impl Keeper {
    pub(super) fn start(
        plan: Arc<Plan>,
        keyring: Keyring,
        book: Book,
        log: Option<Pen>,
        told: Told,
    ) -> Result<Self, GateError> {
        let listener = plan.config.admin.listen.map(listen).transpose()?;
        let admin = listener.as_ref().and_then(|l| l.local_addr().ok());
        let draining = Arc::new(AtomicBool::new(false));
        let condition = Arc::<Condition>::default();
        follow(&condition, &plan);
        let watch = (condition.clone(), book.clone());
        let made_by = format!("roundtrip {}", env!("CARGO_PKG_VERSION"));
        let desk = Desk::new(book, draining.clone(), condition, made_by);
        let desk = match log {
            Some(pen) => desk.with_log(pen),
            None => desk,
        };
        desk.is_called(&plan.config.admin.hosts);
        let (tell, turns) = unbounded_channel();
        let first = Turn { plan, keyring };
        let (ready, is_ready) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("gate-keeper".into())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                match runtime {
                    Ok(runtime) => {
                        let _ = ready.send(Ok(()));
                        let local = tokio::task::LocalSet::new();
                        let desk = listener.map(|listener| (listener, Arc::new(desk)));
                        local.block_on(&runtime, keep(first, turns, desk, watch, told));
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
            // It ends with the gate, and not before.
            let _ = tell.send(Turn { plan, keyring });
        }
    }

    /// From now on gate does not want to be asked.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

impl Drop for Keeper {
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

/// Until nobody is there to tell it anything.
async fn keep(
    first: Turn,
    mut turns: UnboundedReceiver<Turn>,
    desk: Option<(std::net::TcpListener, Arc<Desk>)>,
    (condition, book): (Arc<Condition>, Book),
    told: Told,
) {
    let shown = desk.as_ref().map(|(_, desk)| desk.clone());
    let _serving = serve(desk);
    let mut expiry = Expiry::begin(&first.plan.config, SystemTime::now());
    let mut expiring = interval(EXPIRY);
    expiring.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let told = std::rc::Rc::new(told);
    let mut plan = first.plan.clone();
    let mut tasks = tend(first, &told);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            turn = turns.recv() => {
                let Some(turn) = turn else { return };
                // What goes on is in both plans, and begins anew.
                plan = turn.plan.clone();
                follow(&condition, &plan);
                if let Some(desk) = &shown {
                    desk.is_called(&plan.config.admin.hosts);
                }
                tasks = tend(turn, &told);
            }
            _ = looks.tick() => {
                look(&plan, &told);
                let mut tell = |line| told(News::Condition(line));
                condition.look(&book.snapshot(), Instant::now(), &mut tell);
            }
            _ = expiring.tick() => {
                let mut tell = |line| told(News::Condition(line));
                expiry.look(&plan.config, SystemTime::now(), &mut tell);
            }
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
        }
    }
}

fn serve(desk: Option<(std::net::TcpListener, Arc<Desk>)>) -> JoinSet<()> {
    let mut serving = JoinSet::new();
    if let Some((listener, desk)) = desk
        && let Ok(listener) = TcpListener::from_std(listener)
    {
        serving.spawn_local(admin::serve(listener, desk));
    }
    serving
}

/// Names and checks of servers, and sets of keys.
fn tend(turn: Turn, told: &std::rc::Rc<Told>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for group in turn.plan.groups.values() {
        tasks.spawn_local(group.clone().tend());
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

fn look(plan: &Plan, told: &Told) {
    for found in plan.tls.look() {
        told(match found {
            Ok(path) => News::Certificate(path),
            Err(error) => News::BadCertificate(error),
        });
    }
}

/// From now on what this plan depends on is watched.
fn follow(condition: &Condition, plan: &Plan) {
    condition.follow(&plan.config, plan.groups.values(), plan.place.outage());
}
