//! A master and a replica that three sentinels with a password watch.

use std::time::Duration;

use roundtrip_store::{CacheStatus, Once, Record, Store, TakesOnce};

use crate::group::{Watched, is_master, near};
use crate::{eventually, on_a_thread, until};

#[test]
fn the_master_that_sentinels_name_is_asked_and_followed() {
    on_a_thread(async {
        let Some(mut watched) = Watched::start("sentinel: failover").await else {
            return;
        };
        let (near, all) = (near(watched.store()), watched.store());
        let record = Record::new("YWxpY2U6c2VjcmV0", None);
        all.put("a", &record).await.unwrap();
        let known = async || matches!(near.get("a").await, Ok(Some(found)) if found.status == CacheStatus::Hit);
        until("it is kept", known).await;
        let held = near.get("a").await.unwrap().unwrap().revoked;
        let ticket = Once {
            name: b"t".to_vec(),
            value: b"value".to_vec(),
        };
        all.keep(vec![ticket], Duration::from_mins(1))
            .await
            .unwrap();
        watched.servers[0].stop();
        until("grace", async || {
            near.get("a").await.unwrap().unwrap().status == CacheStatus::Stale
        })
        .await;
        assert!(near.get("stranger").await.err().unwrap().is_outage());
        is_master(&watched.servers[1]).await;
        until("it is kept again", known).await;
        assert!(near.get("stranger").await.unwrap().is_none());
        assert!(!held.is_fired());
        assert_eq!(all.take(b"t").await.unwrap(), None, "of an earlier history");
        let mut other = watched.servers[1].client().await;
        other.ask(&["DEL", "a"]).await;
        eventually("the new master reports", held.fired()).await;
        // With one sentinel of three, a replacement could go unnoticed: nothing is kept.
        other.ask(&["SET", "b", r#"{"credentials":"YTpi"}"#]).await;
        for sentinel in &mut watched.sentinels[..2] {
            sentinel.stop();
        }
        until("nothing is kept", async || {
            near.get("b").await.unwrap().unwrap().status == CacheStatus::Miss
                && near.get("b").await.unwrap().unwrap().status == CacheStatus::Miss
        })
        .await;
    });
}
