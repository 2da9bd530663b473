//! One thread: its sockets, its runtime, and everything that its connections share. It follows orders: another plan, or to
//! come to an end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::GateError;
use crate::census::Census;
use crate::door::Door;
use crate::front::{self, Peer};
use crate::guard::{Guard, SystemWall};
use crate::house::House;
use crate::listener::{self, Entrance, Incoming, Manner, Met, ThreadSockets, Unmet};
use crate::plan::Plan;
use crate::record::{Arrival, Gauge, Ledger, Limit, Protocol, Scribe, Security, TlsHandshake};
use crate::sessions::Known;
use crate::site::Site;
use crate::tally;
use crate::upstream::{self, Group, Upstream};

/// How often the ledger hears of the upstreams.
const TELLING: Duration = Duration::from_secs(1);

/// What a thread is to do.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) plan: Arc<Plan>,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Serve,
    /// Open exchanges may go on until then; nothing new is taken.
    Drain {
        until: Instant,
    },
}

/// What a thread is given when it begins.
pub(crate) struct Worker {
    pub(crate) sockets: ThreadSockets,
    pub(crate) orders: watch::Receiver<Order>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) census: Arc<Census>,
    pub(crate) scribe: Option<Scribe>,
}

/// What one plan is on this thread.
struct Present {
    plan: Arc<Plan>,
    known: Known,
    upstreams: BTreeMap<String, Rc<Upstream>>,
}

type Serving = House<Known>;

impl Worker {
    /// Serves until it is told to end, and says how many connections were cut then. `ready` hears when clients can come in,
    /// or why they cannot.
    pub(crate) fn run(self, ready: impl FnOnce(Result<(), GateError>)) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(61)
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(source) => {
                ready(Err(GateError::Thread(source)));
                return 0;
            }
        };
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, self.serve(ready))
    }

    async fn serve(self, ready: impl FnOnce(Result<(), GateError>)) -> usize {
        let mut orders = self.orders;
        let order = orders.borrow_and_update().clone();
        let lobby = Present::begin(order.plan, &self.ledger, None).and_then(|present| {
            Lobby::open(present, self.sockets, self.ledger, self.census, self.scribe)
        });
        let mut lobby = match lobby {
            Ok(lobby) => lobby,
            Err(error) => {
                ready(Err(error));
                return 0;
            }
        };
        ready(Ok(()));
        let mut ticks = interval(TELLING);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let changed = tokio::select! {
                changed = orders.changed() => changed.is_ok(),
                _ = ticks.tick() => {
                    upstream::tell(lobby.present.upstreams.values(), &lobby.shared.house.ledger);
                    continue;
                }
            };
            let order = orders.borrow_and_update().clone();
            let stage = if changed {
                order.stage
            } else {
                Stage::Drain {
                    until: Instant::now(),
                }
            };
            match stage {
                Stage::Serve => lobby.follow(order.plan),
                Stage::Drain { until } => return lobby.empty(until).await,
            }
        }
    }
}

impl Present {
    /// Upstreams whose group goes on go on with it.
    fn begin(
        plan: Arc<Plan>,
        ledger: &Arc<Ledger>,
        before: Option<&Self>,
    ) -> Result<Self, GateError> {
        let same_place = |present: &&Self| present.plan.config.session == plan.config.session;
        let known = match before.filter(same_place) {
            Some(present) => present.known.clone(),
            None => {
                let known = plan.place.on_this_thread();
                spawn_local(known.clone().run());
                spawn_local(tally::sessions(known.clone(), ledger.clone()));
                known
            }
        };
        let upstreams = plan
            .groups
            .iter()
            .map(|(name, group)| (name.clone(), known_or_new(name, group, before)))
            .collect();
        Ok(Self {
            plan,
            known,
            upstreams,
        })
    }

    fn site(&self) -> Result<Site<Known>, GateError> {
        let guard = Guard::following(self.plan.rules.clone(), Box::new(SystemWall))?;
        let door = Door::new(guard, self.known.clone());
        let alt_svc = self.plan.alt_svc.clone();
        Site::new(&self.plan.config, door, &self.upstreams, alt_svc)
    }

    fn manner(&self) -> Result<Manner, GateError> {
        let listen = &self.plan.config.listen;
        Ok(Manner {
            tls: Rc::new(self.plan.tls.on_this_thread()?),
            proxies: listen.proxy_protocol_from.clone(),
            fast_open: listen.fast_open > 0,
        })
    }
}

fn known_or_new(name: &str, group: &Arc<Group>, before: Option<&Present>) -> Rc<Upstream> {
    let known = before.and_then(|present| present.upstreams.get(name));
    match known.filter(|upstream| Arc::ptr_eq(upstream.group(), group)) {
        Some(upstream) => upstream.clone(),
        None => {
            let upstream = Upstream::new(group);
            spawn_local(upstream.tend());
            upstream
        }
    }
}

/// Where the thread's clients come in, and those who are inside.
struct Lobby {
    present: Present,
    shared: Rc<Shared>,
    doors: JoinSet<()>,
    close: watch::Sender<bool>,
}

/// What every connection of the thread may need.
struct Shared {
    house: Rc<Serving>,
    manner: RefCell<Rc<Manner>>,
    census: Arc<Census>,
}

impl Lobby {
    fn open(
        present: Present,
        sockets: ThreadSockets,
        ledger: Arc<Ledger>,
        census: Arc<Census>,
        scribe: Option<Scribe>,
    ) -> Result<Self, GateError> {
        let house = Rc::new(House::new(present.site()?, ledger, scribe));
        let shared = Rc::new(Shared {
            manner: RefCell::new(Rc::new(present.manner()?)),
            house: house.clone(),
            census,
        });
        spawn_local(async move { house.patrol.run().await });
        let (close, closing) = watch::channel(false);
        let mut doors = JoinSet::new();
        let failures = Arc::new(AtomicU64::new(0));
        let listeners = sockets.http.into_iter().map(|socket| (socket, false));
        let listeners = listeners.chain(sockets.https.into_iter().map(|socket| (socket, true)));
        for (socket, secure) in listeners {
            let entrance = Entrance::open(socket, secure, failures.clone());
            let entrance = entrance.map_err(GateError::Thread)?;
            doors.spawn_local(shared.clone().receive(entrance, closing.clone()));
        }
        shared.house.ledger.raise(Gauge::Accepting);
        Ok(Self {
            present,
            shared,
            doors,
            close,
        })
    }

    /// Everything was made once already when the plan was; what fails here leaves the thread as it was.
    fn follow(&mut self, plan: Arc<Plan>) {
        let next = Present::begin(plan, &self.shared.house.ledger, Some(&self.present));
        let next = next.and_then(|next| Ok((next.site()?, next.manner()?, next)));
        if let Ok((site, manner, next)) = next {
            self.shared.house.replace(site);
            *self.shared.manner.borrow_mut() = Rc::new(manner);
            self.present = next;
        }
    }

    /// Who waits at the door is still let in; then the doors close, and whoever is inside may finish.
    async fn empty(mut self, until: Instant) -> usize {
        let house = self.shared.house.clone();
        house.ledger.lower(Gauge::Accepting);
        house.drain();
        self.close.send_replace(true);
        let emptied = async {
            while self.doors.join_next().await.is_some() {}
            house.emptied().await;
        };
        tokio::select! {
            () = emptied => {}
            () = sleep_until(until) => {}
        }
        house.inside()
    }
}

impl Shared {
    async fn receive(self: Rc<Self>, entrance: Entrance, mut closing: watch::Receiver<bool>) {
        let mut closed = std::pin::pin!(async move {
            let _ = closing.wait_for(|closed| *closed).await;
        });
        loop {
            let arrival = tokio::select! {
                biased;
                arrival = entrance.next() => arrival,
                () = &mut closed => return,
            };
            let shared = self.clone();
            spawn_local(async move { shared.admit(arrival).await });
        }
    }

    async fn admit(self: Rc<Self>, arrival: listener::Arrival) {
        let house = &self.house;
        let site = house.site();
        let _place = match self.census.admit(arrival.peer.ip(), &site.limits) {
            Ok(place) => place,
            Err(limit) => return house.ledger.count(limit),
        };
        let _inside = house.enter();
        let manner = self.manner.borrow().clone();
        let met = match arrival.meet(&manner, site.limits.head_time.0).await {
            Ok(met) => met,
            Err(unmet) => return count_unmet(&house.ledger, &unmet),
        };
        drop((site, manner));
        let peer = Peer {
            address: met.peer.ip(),
            secure: matches!(met.stream, Incoming::Secure(_)),
            resumed: met.facts.resumed,
        };
        house.ledger.connection(arrival_of(&met));
        // How a connection ended is in the entries of its exchanges.
        let _ = match met.stream {
            Incoming::Clear(stream) => front::h1::serve(stream, peer, house).await,
            Incoming::Secure(stream) if stream.is_h2() => {
                front::h2::serve(*stream, peer, house).await
            }
            Incoming::Secure(stream) => front::h1::serve(*stream, peer, house).await,
        };
    }
}

fn count_unmet(ledger: &Ledger, unmet: &Unmet) {
    match unmet {
        Unmet::TimedOut => ledger.count(Limit::HeadTime),
        Unmet::Tls(_) | Unmet::Quic(_) => ledger.count(TlsHandshake::Failed),
        Unmet::Proxy(_) | Unmet::Io(_) => {}
    }
}

fn arrival_of(met: &Met) -> Arrival {
    let (protocol, handshake) = match &met.stream {
        Incoming::Clear(_) => (Protocol::H1, None),
        Incoming::Secure(stream) => {
            let protocol = if stream.is_h2() {
                Protocol::H2
            } else {
                Protocol::H1
            };
            (protocol, Some(met.facts))
        }
    };
    let security = handshake.map_or(Security::Clear, |facts| Security::Tls {
        handshake: match (facts.early_data, facts.resumed) {
            (true, _) => TlsHandshake::Early,
            (_, true) => TlsHandshake::Resumed,
            _ => TlsHandshake::Full,
        },
        two_trips: facts.version == Some(rustls::ProtocolVersion::TLSv1_2),
    });
    Arrival {
        protocol,
        security,
        fast_open: met.facts.fast_open,
    }
}
