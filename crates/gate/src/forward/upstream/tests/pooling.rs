//! The pools under any sequence of events, without a network: no connection has two owners, none
//! outlives its time, those that wait are served in order, and the counters add up.

mod uploads;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::{Instant, advance};

use crate::config::Balance;
use crate::forward::upstream::Counts;
use crate::forward::upstream::counts::ThreadCounts;
use crate::forward::upstream::outlier_ejection::EjectionConfig;
use crate::forward::upstream::pool::{Bounds, Poolable, PooledConnection};
use crate::forward::upstream::pools::{
    PoolConfig, PoolError, PoolGrant, PoolRequest, PoolSlot, Pools,
};

const IDLE_TIME: Duration = Duration::from_millis(500);
const AGE: Duration = Duration::from_secs(2);
const WAITING: usize = 4;

#[derive(Debug, Clone)]
enum Step {
    Lease {
        fresh: bool,
    },
    /// The connection in use with this index; an index beyond the last wraps.
    Finish {
        which: usize,
        fate: End,
    },
    /// The server closes a connection.
    Break(usize),
    /// A waiting exchange gives up.
    Leave(usize),
    Spare(usize),
    Reap,
    Pass(u64),
}

#[derive(Debug, Clone, Copy)]
enum End {
    PooledConnection,
    Dropped,
    Failed,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = prop_oneof![4 => Just(End::PooledConnection), 1 => Just(End::Dropped), 1 => Just(End::Failed)];
    let step = prop_oneof![
        6 => proptest::bool::weighted(0.2).prop_map(|fresh| Step::Lease { fresh }),
        5 => (any::<usize>(), end).prop_map(|(which, fate)| Step::Finish { which, fate }),
        1 => any::<usize>().prop_map(Step::Break),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => (0..3_usize).prop_map(Step::Spare),
        1 => Just(Step::Reap),
        2 => (1..700_u64).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 1..150)
}

fn settings() -> impl Strategy<Value = (PoolConfig, usize)> {
    let balance = prop_oneof![Just(Balance::LeastRequests), Just(Balance::InTurn)];
    (1..4_usize, 0..4_usize, balance, 0..3_u32, 1..4_usize).prop_map(
        |(connections, idle, balance, after, servers)| {
            let mut rules = rules(balance, connections, after);
            rules.bounds.idle = idle;
            (rules, servers)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn connections_are_never_shared_and_never_old((rules, servers) in settings(), steps in steps()) {
        paused(async || {
            let mut world = World::new(rules, servers);
            for step in steps {
                world.play(step).await;
                world.check();
            }
            world.end().await;
        });
    }
}

pub(super) fn paused(play: impl AsyncFnOnce()) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(play());
}

/// A stand-in for a connection.
#[derive(Debug)]
struct Thread {
    number: usize,
    broken: Rc<Cell<bool>>,
    alive: Rc<RefCell<HashSet<usize>>>,
}

impl Poolable for Thread {
    fn is_quiet(&mut self) -> bool {
        !self.broken.get()
    }
    fn is_quiet_now(&mut self) -> bool {
        self.is_quiet()
    }
    fn close(self) {}
}

impl Drop for Thread {
    fn drop(&mut self) {
        assert!(self.alive.borrow_mut().remove(&self.number), "closed twice");
    }
}

struct Used {
    slot: PoolSlot<Thread>,
    kept: PooledConnection<Thread>,
}

struct World {
    pools: Rc<Pools<Thread>>,
    counts: Arc<ThreadCounts>,
    rules: PoolConfig,
    servers: usize,
    used: Vec<Used>,
    queue: Vec<(usize, bool, Receiver<PoolGrant<Thread>>)>,
    arrivals: usize,
    served_last: usize,
    alive: Rc<RefCell<HashSet<usize>>>,
    breaks: Vec<Rc<Cell<bool>>>,
    /// When each unused connection was returned.
    parked: Vec<Instant>,
}

impl World {
    fn new(rules: PoolConfig, servers: usize) -> Self {
        let well = (0..servers).map(|_| AtomicBool::new(true)).collect();
        let counts: Arc<ThreadCounts> = Arc::default();
        Self {
            pools: Pools::new(rules, well, counts.clone()),
            counts,
            rules,
            servers,
            used: Vec::new(),
            queue: Vec::new(),
            arrivals: 0,
            served_last: 0,
            alive: Rc::default(),
            breaks: Vec::new(),
            parked: Vec::new(),
        }
    }

    async fn play(&mut self, step: Step) {
        match step {
            Step::Lease { fresh } => self.lease(fresh),
            Step::Finish { which, fate } if !self.used.is_empty() => {
                let used = self.used.swap_remove(which % self.used.len());
                self.finish(used, fate);
            }
            Step::Break(which) if !self.breaks.is_empty() => {
                let which = which % self.breaks.len();
                self.breaks[which].set(true);
            }
            Step::Leave(which) if !self.queue.is_empty() => {
                self.queue.remove(which % self.queue.len());
            }
            Step::Spare(server) => {
                if let Some(mut slot) = self.pools.spare(server, 2) {
                    slot.opened();
                    let kept = self.open();
                    self.parked[kept.carrier.number] = Instant::now();
                    slot.keep(kept);
                }
            }
            Step::Reap => {
                let next = self.pools.reap();
                assert!(next.is_none_or(|next| next > Instant::now()));
            }
            Step::Pass(time) => advance(Duration::from_millis(time)).await,
            Step::Finish { .. } | Step::Break(_) | Step::Leave(_) => {}
        }
        self.collect();
    }

    fn lease(&mut self, fresh: bool) {
        let want = PoolRequest {
            fresh,
            ..PoolRequest::default()
        };
        match self.pools.claim(want) {
            Ok(claim) => {
                self.collect();
                assert!(self.queue.is_empty(), "who waits goes first");
                self.take(claim, fresh);
            }
            Err(refused) => {
                assert_eq!(refused, PoolError::Busy);
                match self.pools.wait(want) {
                    Some(granted) => {
                        self.arrivals += 1;
                        self.queue.push((self.arrivals, fresh, granted));
                    }
                    None => assert_eq!(self.queue.len(), WAITING),
                }
            }
        }
    }

    /// Collects the connections that waiting exchanges got; they must be served in order.
    fn collect(&mut self) {
        let mut waits = false;
        for (arrival, fresh, mut granted) in std::mem::take(&mut self.queue) {
            match granted.try_recv() {
                Ok(claim) => {
                    assert!(!waits && arrival > self.served_last, "out of order");
                    self.served_last = arrival;
                    self.take(claim, fresh);
                }
                Err(TryRecvError::Empty) => {
                    waits = true;
                    self.queue.push((arrival, fresh, granted));
                }
                Err(TryRecvError::Closed) => panic!("forgotten in the queue"),
            }
        }
    }

    fn take(&mut self, claim: PoolGrant<Thread>, fresh: bool) {
        let PoolGrant { mut slot, kept } = claim;
        let now = Instant::now();
        let kept = match kept {
            Some(kept) => {
                let number = kept.carrier.number;
                assert!(!fresh, "it was used before");
                assert!(!kept.carrier.broken.get(), "its server has closed it");
                assert!(now - kept.since < AGE, "too old");
                assert!(now - self.parked[number] < IDLE_TIME, "unused for too long");
                kept
            }
            None => {
                slot.opened();
                self.open()
            }
        };
        let same = |used: &&Used| used.kept.carrier.number == kept.carrier.number;
        assert!(self.used.iter().find(same).is_none(), "two owners");
        self.used.push(Used { slot, kept });
    }

    fn open(&mut self) -> PooledConnection<Thread> {
        let broken: Rc<Cell<bool>> = Rc::default();
        let number = self.breaks.len();
        self.breaks.push(broken.clone());
        self.parked.push(Instant::now());
        self.alive.borrow_mut().insert(number);
        PooledConnection {
            carrier: Thread {
                number,
                broken,
                alive: self.alive.clone(),
            },
            since: Instant::now(),
            carried: 0,
        }
    }

    fn finish(&mut self, used: Used, fate: End) {
        let Used { slot, kept } = used;
        match fate {
            End::PooledConnection => {
                self.parked[kept.carrier.number] = Instant::now();
                slot.succeeded();
                slot.keep(kept);
            }
            End::Dropped => {}
            End::Failed => slot.failed(),
        }
    }

    fn check(&self) {
        self.pools.gauge(None);
        let counts = self.counts();
        let alive = self.alive.borrow().len() as u64;
        assert_eq!(counts.open, alive, "each one is counted");
        assert_eq!(counts.open, counts.unused + self.used.len() as u64);
        let closed = counts.idled + counts.aged + counts.left + counts.surplus + counts.spent;
        assert_eq!(counts.opened, closed + counts.open);
        let bounds = self.rules.bounds;
        assert!(counts.unused <= (bounds.idle.max(2) * self.servers) as u64);
        for server in 0..self.servers {
            let used = self.used.iter().filter(|u| u.slot.server() == server);
            assert!(used.count() <= bounds.connections, "over the bound");
        }
        assert!(counts.open <= (bounds.connections * self.servers) as u64);
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.counts.read(&mut counts);
        counts
    }

    /// After all connections are returned, every exchange has been served and nothing is left over.
    async fn end(mut self) {
        while let Some(used) = self.used.pop() {
            self.finish(used, End::PooledConnection);
            self.collect();
        }
        // Waiting exchanges could not use the slots of ejected servers.
        advance(AGE).await;
        self.pools.reap();
        self.collect();
        while let Some(used) = self.used.pop() {
            self.finish(used, End::Dropped);
            self.collect();
        }
        assert!(self.queue.is_empty());
        self.check();
        assert_eq!(self.counts().open, 0);
    }
}

/// If nothing is returned, as many exchanges start as there are connections; the next ones wait,
/// and more are refused.
#[test]
fn the_bounds_hold_for_each_server() {
    paused(async || {
        let mut world = World::new(rules(Balance::LeastRequests, 2, 0), 2);
        for _ in 0..4 + WAITING + 3 {
            world.lease(false);
        }
        assert_eq!((world.used.len(), world.queue.len()), (4, WAITING));
        world.check();
    });
}

#[test]
fn the_one_with_the_fewest_exchanges_is_next() {
    paused(async || {
        let taken = |balance| {
            let mut world = World::new(rules(balance, 9, 0), 3);
            let mut order = Vec::new();
            for step in 0..7 {
                world.lease(false);
                order.push(world.used.last().unwrap().slot.server());
                if step == 3 {
                    // Both connections of the last server.
                    world.used.retain(|used| used.slot.server() != 0);
                }
            }
            order
        };
        // Servers with equal counts get requests in turn.
        assert_eq!(taken(Balance::LeastRequests), [0, 1, 2, 0, 0, 1, 2]);
        assert_eq!(taken(Balance::InTurn), [0, 1, 2, 0, 1, 2, 0]);
    });
}

#[test]
fn a_retry_goes_elsewhere_where_it_can() {
    paused(async || {
        for (servers, expected) in [(1, 0), (2, 1)] {
            let world = World::new(rules(Balance::LeastRequests, 2, 0), servers);
            let want = PoolRequest {
                fresh: true,
                not: Some(0),
                ..PoolRequest::default()
            };
            let claim = world.pools.claim(want).unwrap();
            assert_eq!(claim.slot.server(), expected);
        }
    });
}

#[test]
fn a_server_that_fails_repeatedly_is_ejected_for_a_while() {
    paused(async || {
        let mut world = World::new(rules(Balance::InTurn, 9, 3), 2);
        let fail = |world: &mut World, which: usize, times: usize| {
            for _ in 0..times {
                world.lease(false);
                world.lease(false);
                for used in std::mem::take(&mut world.used) {
                    let ill = used.slot.server() == which;
                    world.finish(
                        used,
                        if ill {
                            End::Failed
                        } else {
                            End::PooledConnection
                        },
                    );
                }
            }
        };
        let asked = |world: &mut World| {
            let mut asked = HashSet::new();
            for _ in 0..4 {
                world.lease(false);
                asked.insert(world.used.pop().unwrap().slot.server());
            }
            asked
        };
        fail(&mut world, 0, 2);
        assert_eq!(asked(&mut world), HashSet::from([0, 1]));
        fail(&mut world, 0, 1);
        assert_eq!(asked(&mut world), HashSet::from([1]));
        assert_eq!(world.counts().ejected, 1);
        advance(Duration::from_millis(100)).await;
        // Then the other one too: the server that was ejected first is tried, because one has to
        // be.
        fail(&mut world, 1, 2);
        assert_eq!(asked(&mut world), HashSet::from([0]));
        advance(Duration::from_millis(201)).await;
        assert_eq!(asked(&mut world), HashSet::from([0]), "its time is over");
        fail(&mut world, 0, 1);
        assert_eq!(
            world.counts().ejected,
            3,
            "after its time one failure is enough"
        );
        advance(Duration::from_millis(500)).await;
        fail(&mut world, 2, 2);
        fail(&mut world, 0, 2);
        assert_eq!(
            asked(&mut world),
            HashSet::from([0, 1]),
            "a success makes it as good as others"
        );
    });
}

#[test]
fn a_server_that_fails_its_checks_gets_no_requests() {
    paused(async || {
        let well: Arc<[AtomicBool]> = [false, true].map(AtomicBool::new).into_iter().collect();
        let rules = rules(Balance::InTurn, 9, 1);
        let pools: Rc<Pools<Thread>> = Pools::new(rules, well.clone(), Arc::default());
        for _ in 0..3 {
            assert_eq!(
                pools.claim(PoolRequest::default()).unwrap().slot.server(),
                1
            );
        }
        well[1].store(false, Ordering::Relaxed);
        assert_eq!(
            pools.claim(PoolRequest::default()).err(),
            Some(PoolError::NoneWell)
        );
        well[0].store(true, Ordering::Relaxed);
        assert_eq!(
            pools.claim(PoolRequest::default()).unwrap().slot.server(),
            0
        );
    });
}

fn rules(balance: Balance, connections: usize, after: u32) -> PoolConfig {
    PoolConfig {
        bounds: Bounds {
            connections,
            idle: 9,
            idle_time: IDLE_TIME,
            age: AGE,
        },
        balance,
        ejecting: EjectionConfig {
            after,
            time: Duration::from_millis(300),
        },
        uploads: connections.div_ceil(2),
        tunnels: 4,
        waiting: WAITING,
    }
}
