//! What clients of a fleet notice while its Redis fails over and reshards: `bench/fleet` runs it.
//!
//! Each of four replicas is a thread with a separate near cache. It looks up known and unknown
//! sessions at a steady rate, and takes single-use tickets that all others try to take as well.
//! Meanwhile slots are moved from one master to another, masters are killed, and sessions are
//! revoked at the new masters. It prints one line of JSON.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/it/group.rs"]
#[allow(dead_code)]
mod group;
#[path = "../tests/it/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "../../../tests/skip.rs"]
mod skip;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use roundtrip_store::{CacheStatus, Near, Once, Record, Redis, Store, StoreError, TakesOnce};
use roundtrip_wire::resp::{Value, key_slot};
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

use group::{Cluster, MASTERS};

const REPLICAS: usize = 4;
const SESSIONS: usize = 300;
/// Sessions whose slots are moved.
const MOVED: usize = 20;
/// Lookups of each replica in each millisecond.
const PER_MILLISECOND: usize = 12;

/// What all replicas count.
#[derive(Default)]
struct Tally {
    lookups: AtomicU64,
    lost: AtomicU64,
    stale: AtomicU64,
    slowest_us: AtomicU64,
    strangers: AtomicU64,
    refused: AtomicU64,
    longest_refusal_ms: AtomicU64,
    replays: AtomicU64,
    accepted: AtomicU64,
    twice: AtomicU64,
    /// Sessions whose revocation has begun.
    revoking: Mutex<BTreeSet<String>>,
    /// When a session was revoked at its master.
    revoked: Mutex<HashMap<String, Instant>>,
    /// How long after that it was still served.
    served_after: Mutex<Vec<Duration>>,
    taken: Mutex<HashMap<u64, u32>>,
    over: AtomicBool,
}

fn main() {
    let number = |at: usize, usual: u64| {
        let given = std::env::args().nth(at);
        given.map_or(usual, |text| text.parse().expect("a number"))
    };
    let (failovers, tickets) = (number(1, 3), number(2, 2_500));
    let tally = Arc::new(Tally::default());
    let begun = Instant::now();
    on_a_thread(stage(failovers, tickets, tally.clone()));
    report(&tally, begun.elapsed());
}

async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = timeout(Duration::from_mins(1), asking).await;
    waited.unwrap_or_else(|_| panic!("it never happened: {what}"));
}

fn on_a_thread<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, task)
}

fn sid(n: usize) -> String {
    format!("sid-{n}")
}

async fn stage(failovers: u64, tickets: u64, tally: Arc<Tally>) {
    let mut cluster = Cluster::start("fleet").await.expect("redis-server");
    let store = cluster.store();
    for n in 0..SESSIONS {
        let record = Record::new("YWxpY2U6c2VjcmV0", None);
        until("it is stored", async || {
            store.put(&sid(n), &record).await.is_ok()
        })
        .await;
    }
    let url = cluster.url();
    let threads: Vec<_> = (0..REPLICAS)
        .map(|replica| {
            let (url, tally) = (url.clone(), tally.clone());
            std::thread::spawn(move || on_a_thread(replica_at(replica, &url, tickets, tally)))
        })
        .collect();
    sleep(Duration::from_secs(2)).await;
    let slots = reshard(&cluster, 0, 1).await;
    sleep(Duration::from_secs(1)).await;
    let mut outages = Vec::new();
    for turn in 0..failovers {
        let shard = usize::try_from(turn).unwrap_or_default() % MASTERS;
        let before = revoke_some(&cluster, shard, shard, &tally).await;
        let killed = Instant::now();
        cluster.servers[shard].stop();
        cluster.has_replaced(shard).await;
        outages.push(killed.elapsed().as_millis());
        let after = revoke_some(&cluster, shard, shard + MASTERS, &tally).await;
        eprintln!(
            "master {shard}: replaced after {:?}, {before} + {after} revoked",
            killed.elapsed()
        );
        sleep(Duration::from_secs(2)).await;
        if usize::try_from(turn).unwrap_or_default() + 1 == MASTERS {
            break;
        }
    }
    tally.over.store(true, Ordering::Relaxed);
    let _ = tokio::task::spawn_blocking(move || {
        for thread in threads {
            thread.join().unwrap();
        }
    })
    .await;
    println!(
        "{slots} slots were moved; failovers took {outages:?} ms, from kill -9 to the new master"
    );
}

/// Moves the slots of some sessions, as `redis-cli --cluster reshard` does. Returns their number.
async fn reshard(cluster: &Cluster, from: usize, to: usize) -> usize {
    let (mut source, mut target) = (cluster.client(from).await, cluster.client(to).await);
    let ids = [
        group::text(&source.ask(&["CLUSTER", "MYID"]).await),
        group::text(&target.ask(&["CLUSTER", "MYID"]).await),
    ];
    let port = cluster.ports[to].to_string();
    // The first sessions are those that are revoked.
    let last = (0..SESSIONS).rev().map(sid);
    let mine = last.filter(|sid| Cluster::master_of(sid) == from);
    let slots = mine.take(MOVED).map(|sid| key_slot(sid.as_bytes()));
    let slots: BTreeSet<u16> = slots.collect();
    for slot in &slots {
        let slot = slot.to_string();
        let set = |word, id| ["CLUSTER", "SETSLOT", &slot, word, id];
        target.ask(&set("IMPORTING", &ids[0])).await;
        source.ask(&set("MIGRATING", &ids[1])).await;
        loop {
            let command = ["CLUSTER", "GETKEYSINSLOT", &slot, "100"];
            let Value::Array(keys) = source.ask(&command).await else {
                panic!("no list of keys");
            };
            if keys.is_empty() {
                break;
            }
            for key in &keys {
                let key = group::text(key);
                source
                    .ask(&["MIGRATE", "127.0.0.1", &port, &key, "0", "5000"])
                    .await;
            }
        }
        target.ask(&set("NODE", &ids[1])).await;
        source.ask(&set("NODE", &ids[1])).await;
    }
    slots.len()
}

/// Revokes ten sessions of a shard at this server, and notes when.
async fn revoke_some(cluster: &Cluster, shard: usize, server: usize, tally: &Tally) -> usize {
    let mut client = cluster.client(server).await;
    let known = |sid: &String| !tally.revoked.lock().unwrap().contains_key(sid);
    let all = (0..SESSIONS).map(sid);
    let mine = all.filter(|sid| Cluster::master_of(sid) == shard && known(sid));
    let mut count = 0;
    for sid in mine.take(10).collect::<Vec<String>>() {
        tally.revoking.lock().unwrap().insert(sid.clone());
        client.try_ask(&["DEL", &sid]).await;
        // A replica has it too, so that the failover does not bring it back.
        client.try_ask(&["WAIT", "1", "100"]).await;
        tally.revoked.lock().unwrap().insert(sid, Instant::now());
        count += 1;
    }
    count
}

async fn replica_at(replica: usize, url: &str, tickets: u64, tally: Arc<Tally>) {
    let near = group::near(group::store(url));
    let takes = tokio::task::spawn_local(take_all(replica, url.to_owned(), tickets, tally.clone()));
    let (mut at, mut refused_since) = (replica * 37, None);
    while !tally.over.load(Ordering::Relaxed) || !takes.is_finished() {
        for _ in 0..PER_MILLISECOND {
            at = (at + 7) % SESSIONS;
            look_up(&near, &sid(at), &tally).await;
        }
        let stranger = format!(
            "stranger-{replica}-{}",
            tally.strangers.fetch_add(1, Ordering::Relaxed)
        );
        match near.get(&stranger).await {
            Ok(_) => refused_since = None,
            Err(error) => {
                assert!(error.is_outage(), "{error}");
                tally.refused.fetch_add(1, Ordering::Relaxed);
                let since: &mut Instant = refused_since.get_or_insert_with(Instant::now);
                let lasted = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                tally
                    .longest_refusal_ms
                    .fetch_max(lasted, Ordering::Relaxed);
            }
        }
        sleep(Duration::from_millis(1)).await;
    }
}

async fn look_up(near: &Rc<Near<Redis>>, sid: &str, tally: &Tally) {
    let begun = Instant::now();
    let revoked = tally.revoked.lock().unwrap().get(sid).copied();
    let answer = near.get(sid).await;
    let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    tally.slowest_us.fetch_max(took, Ordering::Relaxed);
    tally.lookups.fetch_add(1, Ordering::Relaxed);
    match (answer, revoked) {
        (Ok(Some(found)), None) => {
            let stale = u64::from(found.status == CacheStatus::Stale);
            tally.stale.fetch_add(stale, Ordering::Relaxed);
        }
        (Ok(Some(_)), Some(at)) => tally.served_after.lock().unwrap().push(begun - at),
        (_, Some(_)) => {}
        // It is being revoked at this moment.
        (Ok(None), None) if tally.revoking.lock().unwrap().contains(sid) => {}
        (Ok(None) | Err(_), None) => {
            tally.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Every replica stores its share of the tickets, and all replicas together try to take each ticket
/// a hundred times.
async fn take_all(replica: usize, url: String, tickets: u64, tally: Arc<Tally>) {
    let store = group::store(&url);
    let share = tickets / REPLICAS as u64;
    for n in 0..share {
        let ticket = n * REPLICAS as u64 + replica as u64;
        let once = Once {
            name: ticket.to_be_bytes().to_vec(),
            value: b"value".to_vec(),
        };
        let _ = store.keep(vec![once], Duration::from_mins(10)).await;
    }
    sleep(Duration::from_secs(2)).await;
    for _round in 0..100 / REPLICAS {
        for n in 0..tickets {
            let answer: Result<_, StoreError> = store.take(&n.to_be_bytes()).await;
            tally.replays.fetch_add(1, Ordering::Relaxed);
            if let Ok(Some(_)) = answer {
                tally.accepted.fetch_add(1, Ordering::Relaxed);
                let mut taken = tally.taken.lock().unwrap();
                let times = taken.entry(n).or_default();
                *times += 1;
                tally
                    .twice
                    .fetch_add(u64::from(*times > 1), Ordering::Relaxed);
            }
            if answer.is_err() {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

fn report(tally: &Tally, time: Duration) {
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let served = tally.served_after.lock().unwrap();
    let after = served.iter().max().copied().unwrap_or_default();
    println!(
        "{{\"seconds\":{:.0},\"lookups\":{},\"known sessions refused\":{},\"by grace\":{},\"slowest_us\":{},\
         \"strangers\":{},\"refused\":{},\"longest refusal_ms\":{},\"revoked\":{},\
         \"served after revocation\":{},\"longest after_ms\":{:.1},\"replays\":{},\
         \"accepted\":{},\"accepted twice\":{}}}",
        time.as_secs_f64(),
        read(&tally.lookups),
        read(&tally.lost),
        read(&tally.stale),
        read(&tally.slowest_us),
        read(&tally.strangers),
        read(&tally.refused),
        read(&tally.longest_refusal_ms),
        tally.revoked.lock().unwrap().len(),
        served.len(),
        after.as_secs_f64() * 1e3,
        read(&tally.replays),
        read(&tally.accepted),
        read(&tally.twice),
    );
}
