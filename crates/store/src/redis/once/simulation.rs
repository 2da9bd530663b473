//! Single-use values in virtual time: replicas of gate before a Redis Cluster of one master and two
//! replicas of it, which lose writes when a master is killed, promote another while the old one
//! still answers, and start again from old snapshots. Everything follows from a number, so a
//! failure repeats. `bench/fleet --seeds N` plays more of them. Times are in milliseconds.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use roundtrip_model::Random;
use roundtrip_wire::resp::Decoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Notify;
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until};

use super::*;
use crate::redis::settings::{Address, RedisSettings, RedisTopology};

const SERVERS: usize = 3;
const GATES: usize = 5;
const TICKETS: u64 = 24;
/// The time within which everything happens.
const LENGTH: u64 = 20_000;
const MAX_DELAY: u64 = 15;
/// Writes reach the copies of a master within this time.
const MAX_LAG: u64 = 200;
/// A master that is cut off from the other servers stops answering after this time.
const NODE_TIMEOUT: u64 = 600;

type Data = HashMap<Vec<u8>, Vec<u8>>;

thread_local! {
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

/// The stream to a server of the simulation, if this thread plays one.
pub(in crate::redis) async fn connect(
    address: &Address,
) -> Option<Result<DuplexStream, StoreError>> {
    let world = WORLD.with_borrow(Clone::clone)?;
    let Address::Tcp { port, .. } = address else {
        return None;
    };
    Some(world.connect(usize::from(*port) - 1).await)
}

struct World {
    begun: Instant,
    random: RefCell<Random>,
    servers: Vec<Server>,
    /// The server that most servers take for the master.
    master: Cell<usize>,
    histories: Cell<u64>,
    failovers: Cell<usize>,
    taken: RefCell<HashMap<u64, usize>>,
    conversing: RefCell<JoinSet<()>>,
}

#[derive(Default)]
struct Server {
    data: RefCell<Data>,
    snapshot: RefCell<Data>,
    /// The replication id.
    history: Cell<u64>,
    /// A number that changes when the server is started; 0 while it is down.
    run: Cell<u64>,
    ended: Notify,
    /// Whether the server takes itself for the master.
    is_master: Cell<bool>,
    /// When the server was cut off from the other servers; its clients still reach it.
    isolated: Cell<Option<u64>>,
}

fn value(text: &str) -> Value {
    Value::Simple(text.into())
}

impl World {
    fn new(number: u64) -> Rc<Self> {
        let world = Self {
            begun: Instant::now(),
            random: RefCell::new(Random::seeded(number)),
            servers: (0..SERVERS).map(|_| Server::default()).collect(),
            master: Cell::new(0),
            histories: Cell::new(1),
            failovers: Cell::new(0),
            taken: RefCell::default(),
            conversing: RefCell::default(),
        };
        for server in &world.servers {
            server.run.set(1);
            server.history.set(1);
        }
        world.servers[0].is_master.set(true);
        Rc::new(world)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap()
    }

    fn draw(&self, below: u64) -> u64 {
        self.random.borrow_mut().next_u64() % below
    }

    async fn pause(&self, below: u64) {
        let time = self.draw(below);
        sleep(Duration::from_millis(time)).await;
    }

    async fn connect(self: &Rc<Self>, at: usize) -> Result<DuplexStream, StoreError> {
        self.pause(MAX_DELAY).await;
        if self.servers[at].run.get() == 0 {
            return Err(StoreError::down("connection refused"));
        }
        let (near, far) = duplex(1 << 16);
        let conversation = self.clone().converse(at, far);
        self.conversing.borrow_mut().spawn_local(conversation);
        Ok(near)
    }

    /// Answers commands one after another, as late as a network is.
    async fn converse(self: Rc<Self>, at: usize, mut stream: DuplexStream) {
        let server = &self.servers[at];
        let run = server.run.get();
        let mut decoder = Decoder::default();
        let mut piece = [0; 4096];
        loop {
            tokio::select! {
                read = stream.read(&mut piece) => match read {
                    Ok(n) if n > 0 => decoder.feed(&piece[..n]),
                    _ => return,
                },
                () = server.ended.notified() => return,
            }
            while let Ok(Some(Value::Array(words))) = decoder.next_value() {
                self.pause(MAX_DELAY).await;
                if server.run.get() != run {
                    return;
                }
                let mut answer = Vec::new();
                self.execute(at, &words).encode(&mut answer);
                self.pause(MAX_DELAY).await;
                if server.run.get() != run || stream.write_all(&answer).await.is_err() {
                    return;
                }
            }
        }
    }

    fn execute(self: &Rc<Self>, at: usize, words: &[Value]) -> Value {
        let server = &self.servers[at];
        let word = |n: usize| words.get(n).and_then(Value::bytes).unwrap_or_default();
        let name = String::from_utf8_lossy(word(0)).into_owned();
        // A server that is cut off knows of no failover.
        let master = if server.is_master.get() {
            at
        } else {
            self.master.get()
        };
        match name.as_str() {
            "HELLO" => return Value::Map(Vec::new()),
            "CLUSTER" => return Self::slots(master),
            "INFO" => {
                let role = if server.is_master.get() {
                    "master"
                } else {
                    "slave"
                };
                let id = format!("{:040}", server.history.get());
                let info = format!("role:{role}\r\nmaster_replid:{id}\r\n");
                return Value::Bulk(info.into());
            }
            "SET" | "GETDEL" | "GET" => {}
            _ => return value("OK"),
        }
        if !server.is_master.get() {
            return Value::Error(format!("MOVED 0 127.0.0.1:{}", master + 1).into());
        }
        let late = |since: u64| self.now() >= since + NODE_TIMEOUT;
        if server.isolated.get().is_some_and(late) {
            return Value::Error(b"CLUSTERDOWN The cluster is down".into());
        }
        let key = word(1).to_vec();
        match name.as_str() {
            "SET" => {
                self.write(at, key, Some(word(2).to_vec()));
                value("OK")
            }
            "GETDEL" => {
                let before = server.data.borrow().get(&key).cloned();
                if before.is_some() {
                    self.write(at, key, None);
                }
                before.map_or(Value::Null, Value::Bulk)
            }
            _ => Value::Null,
        }
    }

    /// Writes a key, and later sends it to the copies, unless they have another history by then.
    fn write(self: &Rc<Self>, at: usize, key: Vec<u8>, written: Option<Vec<u8>>) {
        let (server, history) = (&self.servers[at], self.servers[at].history.get());
        server.apply(key.clone(), written.clone());
        if server.isolated.get().is_some() {
            return;
        }
        let run = server.run.get();
        // In order: all of a master's writes are equally late.
        let lag = Duration::from_millis(history * 37 % MAX_LAG);
        let world = self.clone();
        spawn_local(async move {
            sleep(lag).await;
            let master = &world.servers[at];
            if master.run.get() != run || master.isolated.get().is_some() {
                return;
            }
            for copy in world.servers.iter().filter(|other| !other.is_master.get()) {
                if copy.run.get() > 0 && copy.history.get() == history {
                    copy.apply(key.clone(), written.clone());
                }
            }
        });
    }

    fn slots(master: usize) -> Value {
        let server = |at: usize| {
            let port = i64::try_from(at + 1).unwrap();
            Value::Array(vec![value("127.0.0.1"), Value::Integer(port), value("id")])
        };
        let mut shard = vec![Value::Integer(0), Value::Integer(16383), server(master)];
        shard.extend((0..SERVERS).filter(|at| *at != master).map(server));
        Value::Array(vec![Value::Array(shard)])
    }

    fn new_history(&self) -> u64 {
        self.histories.set(self.histories.get() + 1);
        self.histories.get()
    }

    /// Copies the master as it is now.
    fn follow(&self, at: usize) {
        let (server, master) = (&self.servers[at], &self.servers[self.master.get()]);
        if at == self.master.get() {
            return;
        }
        server.is_master.set(false);
        server.isolated.set(None);
        server.history.set(master.history.get());
        let copy = master.data.borrow().clone();
        server.data.replace(copy);
    }

    fn stop(&self, at: usize) {
        let server = &self.servers[at];
        server.run.set(0);
        server.ended.notify_waiters();
    }

    /// Starts from the last snapshot, as the master if nobody else has become it.
    fn start(&self, at: usize, run: u64) {
        let server = &self.servers[at];
        let snapshot = server.snapshot.borrow().clone();
        server.data.replace(snapshot);
        server.history.set(self.new_history());
        server.run.set(run);
        self.follow(at);
    }

    fn promote(&self) {
        let old = self.master.get();
        let others = (0..SERVERS).filter(|at| *at != old && self.servers[*at].run.get() > 0);
        let others: Vec<usize> = others.collect();
        let drawn = self.random.borrow_mut().below(others.len().max(1));
        let Some(new) = others.get(drawn).copied() else {
            return;
        };
        self.failovers.set(self.failovers.get() + 1);
        let server = &self.servers[new];
        server.history.set(self.new_history());
        server.is_master.set(true);
        self.master.set(new);
        for at in others.into_iter().filter(|at| *at != new) {
            self.follow(at);
        }
    }

    /// Snapshots, and masters that fail.
    async fn disturb(self: Rc<Self>) {
        for run in 2..6 {
            for at in 0..SERVERS {
                let data = self.servers[at].data.borrow().clone();
                self.servers[at].snapshot.replace(data);
            }
            self.pause(LENGTH / 4).await;
            let at = self.master.get();
            let is_cut = self.draw(2) == 0;
            if is_cut {
                self.servers[at].isolated.set(Some(self.now()));
            } else {
                self.stop(at);
            }
            self.pause(2 * NODE_TIMEOUT).await;
            // Another one is promoted, or the master starts again before that.
            if is_cut || self.draw(3) > 0 {
                self.promote();
            }
            self.pause(2 * NODE_TIMEOUT).await;
            if is_cut {
                self.follow(at);
            } else {
                self.start(at, run);
            }
        }
    }

    /// Stores some tickets, and tries to take all, often at the same time as the other replicas.
    async fn serve(self: Rc<Self>, gate: u64) {
        let address = |port| Address::Tcp {
            host: "127.0.0.1".into(),
            port,
        };
        let seeds = (1..=u16::try_from(SERVERS).unwrap()).map(address).collect();
        let store = Redis::new(Arc::new(RedisSettings::with_topology(
            RedisTopology::Cluster(seeds),
        )));
        let step = LENGTH / TICKETS;
        for ticket in 0..TICKETS {
            sleep_until(self.begun + Duration::from_millis(ticket * step)).await;
            let name = ticket.to_be_bytes().to_vec();
            if ticket % GATES as u64 == gate {
                let value = b"value".to_vec();
                let once = vec![Once { name, value }];
                let _ = store.keep(once, Duration::from_hours(1)).await;
            }
            for _ in 0..3 {
                self.pause(step).await;
                let ticket = ticket.saturating_sub(self.draw(4));
                if let Ok(Some(_)) = store.take(&ticket.to_be_bytes()).await {
                    *self.taken.borrow_mut().entry(ticket).or_default() += 1;
                }
            }
        }
    }
}

impl Server {
    fn apply(&self, key: Vec<u8>, written: Option<Vec<u8>>) {
        let mut data = self.data.borrow_mut();
        match written {
            Some(written) => data.insert(key, written),
            None => data.remove(&key),
        };
    }
}

/// Returns how many tickets were taken, and how many failovers there were.
async fn play(number: u64) -> (usize, usize) {
    let world = World::new(number);
    WORLD.set(Some(world.clone()));
    let disturbing = spawn_local(world.clone().disturb());
    let mut gates = JoinSet::new();
    for gate in 0..GATES as u64 {
        gates.spawn_local(world.clone().serve(gate));
    }
    while let Some(served) = gates.join_next().await {
        served.unwrap();
    }
    disturbing.await.unwrap();
    WORLD.set(None);
    // They refer to the world.
    world.conversing.take().shutdown().await;
    let taken = world.taken.borrow();
    for (ticket, times) in &*taken {
        assert_eq!(*times, 1, "seed {number}: ticket {ticket}");
    }
    (taken.len(), world.failovers.get())
}

#[test]
fn nothing_is_taken_twice_whatever_a_failover_or_a_snapshot_brings_back() {
    let seeds = std::env::var("ROUNDTRIP_SEEDS");
    let seeds = seeds.map_or(40, |text| text.parse().unwrap());
    let (mut taken, mut failovers) = (0, 0);
    for number in 0..seeds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (more, times) = LocalSet::new().block_on(&runtime, play(number));
        (taken, failovers) = (taken + more, failovers + times);
    }
    println!("{seeds} seeds: {taken} tickets were taken, {failovers} failovers");
    // They are good for something.
    assert!(taken as u64 > seeds * TICKETS / 4 && failovers as u64 > seeds);
}
