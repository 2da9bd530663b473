//! A Redis Cluster of real servers: slots that move, masters that are replaced.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::{CacheStatus, Near, Once, Record, Redis, Store, StoreError, TakesOnce};
use roundtrip_tls::Secret;
use roundtrip_wire::resp::{Value, key_slot};

use crate::group::{Cluster, MASTERS, has_replica, is_master, near, settings, store, text};
use crate::{eventually, on_a_thread, until};

const ANCESTORS: &str = r#"{"credentials": "YWxpY2U6c2VjcmV0"}"#;

/// A session on this master.
fn sid_on(master: usize) -> String {
    let mut sids = (0..).map(|n| format!("sid-{n}"));
    sids.find(|sid| Cluster::master_of(sid) == master).unwrap()
}

async fn becomes_known(near: &Near<Redis>, sid: &str) {
    until(
        "it is kept",
        async || matches!(near.get(sid).await, Ok(Some(found)) if found.status == CacheStatus::Hit),
    )
    .await;
}

fn once(name: &[u8]) -> Vec<Once> {
    let (name, value) = (name.to_vec(), b"value".to_vec());
    vec![Once { name, value }]
}

#[test]
fn sessions_are_spread_found_listed_pushed_and_move_with_their_slot() {
    on_a_thread(async {
        let Some(cluster) = Cluster::start("cluster: sessions").await else {
            return;
        };
        let all = cluster.store();
        let record = Record::new("YTpi", None);
        for n in 0..60 {
            all.put(&format!("many {n}"), &record).await.unwrap();
        }
        let (mut sids, mut after) = (Vec::new(), None);
        loop {
            let page = all.list(after.as_deref(), 10).await.unwrap();
            sids.extend(page.sids);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        sids.sort();
        sids.dedup();
        assert_eq!(sids.len(), 60);
        all.keep(once(b"t"), Duration::from_mins(1)).await.unwrap();
        assert_eq!(
            all.take(b"t").await.unwrap().as_deref(),
            Some(&b"value"[..])
        );
        assert_eq!(all.take(b"t").await.unwrap(), None);
        // Another client's changes are pushed by each master.
        let near = near(cluster.store());
        for master in 0..MASTERS {
            let sid = sid_on(master);
            let mut other = cluster.client(master).await;
            other.ask(&["SET", &sid, ANCESTORS]).await;
            becomes_known(&near, &sid).await;
            let held = near.get(&sid).await.unwrap().unwrap().revoked;
            other.ask(&["DEL", &sid]).await;
            eventually("the DEL is reported", held.fired()).await;
        }
        moves(&cluster, &near).await;
        few_rights(&cluster).await;
    });
}

/// The rights that the guide lists are enough.
async fn few_rights(cluster: &Cluster) {
    let rights = "on >canary-2 ~* -@all +hello +client|tracking +get +pttl +ping +set +del +scan \
                  +wait +getdel +info +cluster|slots +cluster|nodes +asking";
    let rule: Vec<&str> = ["ACL", "SETUSER", "gate"]
        .into_iter()
        .chain(rights.split(' '))
        .collect();
    for n in 0..2 * MASTERS {
        cluster.client(n).await.ask(&rule).await;
    }
    let mut settings = settings(&cluster.url().replace("://", "://gate@"));
    settings.password = Some(Arc::new(Secret::new(b"canary-2".to_vec())));
    let store = Redis::new(Arc::new(settings));
    assert!(store.check().await.unwrap());
    store.put("few", &Record::new("YTpi", None)).await.unwrap();
    store
        .keep(once(b"few"), Duration::from_mins(1))
        .await
        .unwrap();
    assert!(store.take(b"few").await.unwrap().is_some());
    assert!(!store.list(None, 10).await.unwrap().sids.is_empty());
    let near = near(store);
    becomes_known(&near, "few").await;
    assert!(near.revoke("few").await.unwrap());
}

/// Moves a slot from the first master to the second, as `redis-cli --cluster reshard` does.
async fn moves(cluster: &Cluster, near: &Near<Redis>) {
    let sid = sid_on(0);
    let gone = format!("{{{sid}}}-2");
    let slot = key_slot(sid.as_bytes()).to_string();
    let (mut from, mut to) = (cluster.client(0).await, cluster.client(1).await);
    from.ask(&["SET", &sid, ANCESTORS]).await;
    becomes_known(near, &sid).await;
    let held = near.get(&sid).await.unwrap().unwrap().revoked;
    let id = |value: Value| text(&value);
    let ids = [
        id(from.ask(&["CLUSTER", "MYID"]).await),
        id(to.ask(&["CLUSTER", "MYID"]).await),
    ];
    to.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[0]])
        .await;
    from.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[1]])
        .await;
    assert!(near.get(&gone).await.unwrap().is_none());
    let port = cluster.ports[1].to_string();
    from.ask(&["MIGRATE", "127.0.0.1", &port, &sid, "0", "5000"])
        .await;
    // ASK: the new master answers, but nothing is kept until the slot is its own.
    let asked = near.counts().asked;
    for _ in 0..3 {
        let found = near.get(&sid).await.unwrap().unwrap();
        assert_eq!(found.status, CacheStatus::Miss);
    }
    // The first can share a question that was under way.
    assert!(near.counts().asked >= asked + 2);
    for client in [&mut to, &mut from] {
        client
            .ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &ids[1]])
            .await;
    }
    becomes_known(near, &sid).await;
    assert!(!held.is_fired());
    to.ask(&["DEL", &sid]).await;
    eventually("the new master reports", held.fired()).await;
    assert!(near.get(&sid).await.unwrap().is_none());
}

#[test]
fn a_master_that_dies_is_replaced_and_what_it_knew_is_asked_for_again() {
    on_a_thread(async {
        let Some(mut cluster) = Cluster::start("cluster: failover").await else {
            return;
        };
        let near = near(cluster.store());
        let (lost, kept) = (sid_on(0), sid_on(1));
        let all = cluster.store();
        for sid in [&lost, &kept] {
            let record = Record::new("YWxpY2U6c2VjcmV0", None);
            all.put(sid, &record).await.unwrap();
            becomes_known(&near, sid).await;
        }
        // Tickets of the first master, one of them taken before it dies.
        let names: Vec<Vec<u8>> = (0_u8..30).map(|n| vec![n]).collect();
        for name in &names {
            all.keep(once(name), Duration::from_mins(1)).await.unwrap();
        }
        let held = near.get(&lost).await.unwrap().unwrap().revoked;
        cluster.servers[0].stop();
        // A known session goes on; a stranger is refused, as an outage and not as unknown.
        until("grace", async || {
            let found = near.get(&lost).await.unwrap().unwrap();
            found.status == CacheStatus::Stale
        })
        .await;
        let stranger = format!("{{{lost}}}-stranger");
        assert!(near.get(&stranger).await.err().unwrap().is_outage());
        cluster.has_replaced(0).await;
        becomes_known(&near, &lost).await;
        becomes_known(&near, &kept).await;
        assert!(near.get(&stranger).await.unwrap().is_none());
        assert!(!held.is_fired());
        // The new master's revocations arrive.
        cluster.client(MASTERS).await.ask(&["DEL", &lost]).await;
        eventually("the new master reports", held.fired()).await;
        // Values that the new master has from an earlier history are never handed out: they may
        // have been taken.
        // Each master learns by itself that the cluster is whole again.
        for master in 0..MASTERS {
            let sid = sid_on(master);
            until("it serves again", async || all.get(&sid).await.is_ok()).await;
        }
        let (mut given, mut refused) = (0, 0);
        for name in &names {
            match all.take(name).await.unwrap() {
                Some(_) => given += 1,
                None => refused += 1,
            }
            assert_eq!(all.take(name).await.unwrap(), None);
        }
        assert!(given > 0 && refused > 0, "{given} {refused}");
    });
}

#[test]
fn masters_that_change_roles_by_hand_lose_nothing() {
    on_a_thread(async {
        let Some(cluster) = Cluster::start("cluster: by hand").await else {
            return;
        };
        let near = near(cluster.store());
        let sid = sid_on(0);
        cluster.client(0).await.ask(&["SET", &sid, ANCESTORS]).await;
        becomes_known(&near, &sid).await;
        let held = near.get(&sid).await.unwrap().unwrap().revoked;
        let mut replica = cluster.client(MASTERS).await;
        replica.ask(&["CLUSTER", "FAILOVER"]).await;
        is_master(&cluster.servers[MASTERS]).await;
        // It is revoked at the new master at once; the first connection that learns of it reports
        // it.
        replica.ask(&["DEL", &sid]).await;
        eventually("the revocation is reported", held.fired()).await;
        until("it is gone", async || {
            matches!(near.get(&sid).await, Ok(None))
        })
        .await;
        assert!(near.store().revoke(&sid).await.is_ok());
    });
}

#[test]
fn what_cannot_be_done_is_said() {
    on_a_thread(async {
        let Some(mut cluster) = Cluster::start("cluster: what is said").await else {
            return;
        };
        let one = store(&format!("redis://127.0.0.1:{}", cluster.ports[0]));
        let error = one.get(&sid_on(1)).await.unwrap_err().to_string();
        assert!(error.contains("redis+cluster:"), "{error}");
        // A failover could bring a revoked session back, as long as no replica knows.
        let all = cluster.store();
        all.put(&sid_on(0), &Record::new("YTpi", None))
            .await
            .unwrap();
        for n in 0..2 * MASTERS {
            let patient = ["CONFIG", "SET", "cluster-node-timeout", "60000"];
            cluster.client(n).await.ask(&patient).await;
        }
        cluster.servers[MASTERS].stop();
        // Neither a handle that knows no server yet nor a repeated request reports success earlier.
        for store in [cluster.store(), cluster.store(), all] {
            let outcome = store.revoke(&sid_on(0)).await;
            assert!(
                matches!(outcome, Err(StoreError::Unconfirmed)),
                "{outcome:?}"
            );
        }
        cluster.servers[MASTERS].start_again().await;
        has_replica(&cluster.servers[0]).await;
        let confirmed = cluster.store().revoke(&sid_on(0)).await;
        assert!(confirmed.is_ok(), "{confirmed:?}");
    });
}
