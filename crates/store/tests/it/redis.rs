//! The Redis store and the near cache against a real redis-server.

use std::os::unix::fs::PermissionsExt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roundtrip_store::{
    CacheStatus, Indexes, Near, NearSettings, Once, Record, Redis, RedisSettings, Store,
    StoreError, TakesOnce,
};
use roundtrip_tls::Secret;
use roundtrip_wire::resp::Value;

use crate::server::Server;
use crate::{eventually, on_a_thread, until};

const ANCESTORS: &str = r#"{"credentials": "YWxpY2U6c2VjcmV0"}"#;

fn near(store: Redis, grace: u64) -> Rc<Near<Redis>> {
    let settings = NearSettings {
        grace: Duration::from_secs(grace),
        ..NearSettings::default()
    };
    let near = Rc::new(Near::new(store, settings));
    tokio::task::spawn_local(near.clone().run());
    near
}

fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_hours(1)
}

#[test]
fn sessions_are_put_found_listed_and_revoked() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: sessions", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        let mut settings = server.settings();
        settings.prefix = "s[*]:".into();
        settings.database = 3;
        let store = Redis::new(Arc::new(settings));
        assert!(store.check().await.unwrap());
        assert_eq!(store.get("a").await.unwrap(), None);
        other.ask(&["SELECT", "3"]).await;
        other.ask(&["SET", "s[*]:a", ANCESTORS]).await;
        other.ask(&["SET", "s*:not ours", ANCESTORS]).await;
        let record = store.get("a").await.unwrap().unwrap();
        assert_eq!(record.plain().unwrap().as_slice(), b"alice:secret");
        assert_eq!(record.expires, None);
        // An expiry is set as given, and other members of the object stay.
        let json = br#"{"credentials":"YTpi","app":{"x":1}}"#;
        let record = Record::from_json(json, Some(in_an_hour())).unwrap();
        store.put("b", &record).await.unwrap();
        let stored = other.ask(&["GET", "s[*]:b"]).await;
        assert_eq!(stored, Value::Bulk(json.to_vec()));
        let left = other.ask(&["PTTL", "s[*]:b"]).await;
        assert!(matches!(left, Value::Integer(1..=3_600_000)), "{left:?}");
        let end = store.get("b").await.unwrap().unwrap().expires.unwrap();
        assert!(end > SystemTime::now() && end <= in_an_hour());
        // Replacing credentials keeps the expiry, and does not bring a revoked session back.
        let sealed = Record::new("v1.k.n.c", None);
        assert!(!store.replace("b", b"other", &sealed).await.unwrap());
        assert!(store.replace("b", b"YTpi", &sealed).await.unwrap());
        let there = store.get("b").await.unwrap().unwrap();
        assert_eq!(there.credentials, b"v1.k.n.c");
        assert!(there.expires.is_some_and(|later| later <= in_an_hour()));
        assert!(!store.replace("gone", b"YTpi", &sealed).await.unwrap());
        let resealed = Record::new("v1.l.n.c", None);
        let all: [(&str, &[u8], &Record); 3] = [
            ("b", b"other", &sealed),
            ("gone", b"YTpi", &sealed),
            ("b", b"v1.k.n.c", &resealed),
        ];
        let replaced = store.replace_all(&all).await.unwrap();
        assert_eq!(replaced, [false, false, true]);
        let there = store.get("b").await.unwrap().unwrap();
        assert_eq!(there.credentials, b"v1.l.n.c");
        assert_eq!(other.ask(&["EXISTS", "s[*]:gone"]).await, Value::Integer(0));
        for n in 0..50 {
            let sid = format!("many {n}");
            store.put(&sid, &Record::new("YTpi", None)).await.unwrap();
        }
        let (mut sids, mut after) = (Vec::new(), None);
        loop {
            let page = store.list(after.as_deref(), 10).await.unwrap();
            sids.extend(page.sids);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        sids.sort();
        sids.dedup();
        assert_eq!(sids.len(), 52, "{sids:?}");
        assert!(store.revoke("b").await.unwrap());
        assert!(!store.revoke("b").await.unwrap());
        assert_eq!(other.ask(&["EXISTS", "s[*]:b"]).await, Value::Integer(0));
    });
}

#[test]
fn changes_by_another_client_are_pushed() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: pushes", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        let near = near(server.store(), 0);
        other.ask(&["SET", "a", ANCESTORS]).await;
        other.ask(&["SET", "b", ANCESTORS]).await;
        let held = near.get("a").await.unwrap().unwrap().revoked;
        let asked = near.counts().asked;
        for _ in 0..100 {
            let found = near.get("a").await.unwrap().unwrap();
            assert_eq!(found.status, CacheStatus::Hit);
        }
        assert_eq!(near.counts().asked, asked);
        other.ask(&["DEL", "a"]).await;
        eventually("the DEL is reported", held.fired()).await;
        assert!(near.get("a").await.unwrap().is_none());
        // A prolonged session continues; one whose expiry was brought forward ends.
        let held = near.get("b").await.unwrap().unwrap().revoked;
        let before = near.counts().invalidated;
        other.ask(&["EXPIRE", "b", "3600"]).await;
        until("the EXPIRE is reported", async || {
            near.counts().invalidated > before
        })
        .await;
        let expires = near.get("b").await.unwrap().unwrap().record.expires;
        assert!(expires.is_some());
        assert!(!held.is_fired());
        other.ask(&["PEXPIRE", "b", "50"]).await;
        eventually("it expires", held.fired()).await;
        until("it is gone", async || {
            near.get("b").await.unwrap().is_none()
        })
        .await;
        // A name that was unknown is found once it is set.
        assert!(near.get("c").await.unwrap().is_none());
        other.ask(&["SET", "c", ANCESTORS]).await;
        until("the SET is reported", async || {
            near.get("c").await.unwrap().is_some()
        })
        .await;
        let held = near.get("c").await.unwrap().unwrap().revoked;
        other.ask(&["FLUSHALL"]).await;
        eventually("the FLUSHALL is reported", held.fired()).await;
    });
}

/// Without a prefix, a server would otherwise report every change of every application's keys.
#[test]
fn without_a_prefix_only_keys_that_were_read_are_reported() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: pushes without a prefix", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        other.ask(&["SET", "a", ANCESTORS]).await;
        let near = near(server.store(), 0);
        assert!(near.get("a").await.unwrap().is_some());
        let info = other.ask(&["INFO", "stats"]).await;
        let info = String::from_utf8_lossy(info.bytes().unwrap()).into_owned();
        let figure = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.parse::<u64>().ok())
        };
        assert_eq!(figure("tracking_total_prefixes:"), Some(0), "{info}");
        assert_eq!(figure("tracking_total_keys:"), Some(1), "{info}");
        // A server that has no room for the names that were read says so, and is asked again.
        other
            .ask(&["CONFIG", "SET", "tracking-table-max-keys", "1"])
            .await;
        for n in 0..50 {
            let name = format!("{n}");
            other.ask(&["SET", &name, ANCESTORS]).await;
            assert!(near.get(&name).await.unwrap().is_some());
        }
        for n in 0..50 {
            let name = format!("{n}");
            other.ask(&["DEL", &name]).await;
            until("the DEL is reported", async || {
                near.get(&name).await.unwrap().is_none()
            })
            .await;
        }
    });
}

/// The server has no room, and is told to remove nothing.
#[test]
fn a_full_server_keeps_its_sessions_and_takes_no_more() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: a full server", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        let near = near(server.store(), 0);
        let record = Record::new("YWxpY2U6c2VjcmV0", None);
        for sid in ["known", "unknown", "revoked"] {
            near.put(sid, &record).await.unwrap();
        }
        assert!(near.get("known").await.unwrap().is_some());
        let held = near.get("revoked").await.unwrap().unwrap().revoked;
        other.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
        let full = near.put("new", &record).await.unwrap_err();
        assert!(matches!(full, StoreError::Refused { .. }), "{full}");
        for sid in ["known", "unknown"] {
            assert!(near.get(sid).await.unwrap().is_some(), "{sid}");
        }
        assert!(near.get("new").await.unwrap().is_none());
        // There is always room for a revocation.
        assert!(server.store().revoke("revoked").await.unwrap());
        eventually("the revocation is reported", held.fired()).await;
        other.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
        near.put("new", &record).await.unwrap();
    });
}

#[test]
fn a_cut_connection_flushes_all() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: cut", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        let near = near(server.store(), 0);
        other.ask(&["SET", "a", ANCESTORS]).await;
        other.ask(&["SET", "b", ANCESTORS]).await;
        let (a, b) = (
            near.get("a").await.unwrap().unwrap().revoked,
            near.get("b").await.unwrap().unwrap().revoked,
        );
        assert_eq!(near.len(), 2);
        // Revoked while the change cannot be reported.
        other.ask(&["MULTI"]).await;
        other
            .ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
            .await;
        other.ask(&["DEL", "a"]).await;
        other.ask(&["EXEC"]).await;
        eventually("the revoked one ends", a.fired()).await;
        assert_eq!(near.counts().flushes, 1);
        assert!(near.get("a").await.unwrap().is_none());
        assert!(near.get("b").await.unwrap().is_some());
        assert!(!b.is_fired());
        until("it is remembered again", async || {
            near.get("b").await.unwrap().unwrap().status == CacheStatus::Hit
        })
        .await;
    });
}

#[test]
fn a_server_that_goes_and_comes_back() {
    on_a_thread(async {
        let Some(mut server) = Server::start("redis: restart", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        let (strict, graced) = (near(server.store(), 0), near(server.store(), 600));
        for sid in ["a", "b"] {
            other.ask(&["SET", sid, ANCESTORS]).await;
            assert!(strict.get(sid).await.unwrap().is_some());
        }
        let kept = graced.get("a").await.unwrap().unwrap().revoked;
        let revoked = graced.get("b").await.unwrap().unwrap().revoked;
        let cut = strict.get("a").await.unwrap().unwrap().revoked;
        let _ = other.try_ask(&["SHUTDOWN", "NOSAVE"]).await;
        server.stop();
        eventually("without grace, the session ends", cut.fired()).await;
        let error = strict.get("a").await.err().unwrap();
        assert!(matches!(error, StoreError::Down { .. }), "{error}");
        until("grace", async || {
            graced.get("a").await.unwrap().unwrap().status == CacheStatus::Stale
        })
        .await;
        let error = graced.get("unknown").await.err().unwrap();
        assert!(error.is_outage(), "{error}");
        assert!(!kept.is_fired());
        server.start_again().await;
        let mut other = server.client().await;
        other.ask(&["SET", "a", ANCESTORS]).await;
        // No request asks for b: the cache asks for it as soon as the connection is back.
        eventually("the revoked session ends", revoked.fired()).await;
        for near in [&strict, &graced] {
            until("it is served again", async || {
                matches!(near.get("a").await, Ok(Some(found)) if found.status == CacheStatus::Hit)
            })
            .await;
        }
    });
}

#[test]
fn an_invalid_session_is_not_an_outage() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: wrong values", &[]).await else {
            return;
        };
        let mut other = server.client().await;
        let store = server.store();
        other.ask(&["LPUSH", "list", "x"]).await;
        other.ask(&["SET", "text", "hello"]).await;
        other.ask(&["SET", "number", r#"{"credentials": 7}"#]).await;
        assert!(matches!(
            store.get("list").await,
            Err(StoreError::WrongType)
        ));
        for sid in ["text", "number"] {
            let outcome = store.get(sid).await;
            assert!(
                matches!(outcome, Err(StoreError::NotUnderstood(_))),
                "{outcome:?}"
            );
        }
        // The connection stays open.
        other.ask(&["SET", "a", ANCESTORS]).await;
        assert!(store.get("a").await.unwrap().is_some());
    });
}

#[test]
fn passwords_and_users() {
    on_a_thread(async {
        let rights =
            "user gate on >canary-2 ~s:* -@all +hello +client|tracking +ping +get +pttl +select";
        let arguments = [
            "--requirepass",
            "canary-1",
            "--user",
            rights.strip_prefix("user ").unwrap(),
        ];
        let mut split: Vec<&str> = arguments[..3].to_vec();
        split.extend(arguments[3].split(' '));
        let Some(server) = Server::start("redis: passwords", &split).await else {
            return;
        };
        let with = |user: Option<&str>, password: Option<&str>| {
            let mut settings: RedisSettings = server.settings();
            settings.user = user.map(str::to_owned);
            settings.password = password.map(|p| Arc::new(Secret::new(p.into())));
            settings.prefix = "s:".into();
            Redis::new(Arc::new(settings))
        };
        for (user, password) in [
            (None, None),
            (None, Some("wrong")),
            (Some("gate"), Some("wrong")),
        ] {
            let error = with(user, password).get("a").await.unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "canary-1\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let mut settings = server.settings();
        settings.password = Some(Arc::new(Secret::from_file(file.path()).unwrap()));
        settings.prefix = "s:".into();
        assert!(!format!("{settings:?}").contains("canary"));
        let master = Redis::new(Arc::new(settings));
        master.put("a", &Record::new("YTpi", None)).await.unwrap();
        // The user may only read sessions.
        let user = with(Some("gate"), Some("canary-2"));
        assert!(user.check().await.unwrap());
        assert!(user.get("a").await.unwrap().is_some());
        let error = user.revoke("a").await.unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        let near = near(user, 0);
        let held = near.get("a").await.unwrap().unwrap().revoked;
        master.revoke("a").await.unwrap();
        eventually("the user is notified too", held.fired()).await;
    });
}

#[test]
fn a_kept_value_is_taken_only_once() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: once", &[]).await else {
            return;
        };
        let store = || Redis::new(Arc::new(server.settings()));
        let (one, other) = (store(), store());
        let entries = [b"a", b"b", b"\0"].map(|name| Once {
            name: name.to_vec(),
            value: [name.as_slice(), b"-value"].concat(),
        });
        one.keep(entries.to_vec(), Duration::from_mins(1))
            .await
            .unwrap();
        let left = server
            .client()
            .await
            .ask(&["PTTL", "roundtrip-ticket:00"])
            .await;
        assert!(matches!(left, Value::Integer(1..=60_000)), "{left:?}");
        for name in [b"a", b"\0"] {
            let both = tokio::join!(one.take(name), other.take(name));
            let mut taken = [both.0.unwrap(), both.1.unwrap()];
            taken.sort();
            assert_eq!(taken, [None, Some([name.as_slice(), b"-value"].concat())]);
        }
        assert_eq!(one.take(b"x").await.unwrap(), None);
        // Without its replication id, the server could hand out a value twice.
        let default = ["ACL", "SETUSER", "default", "-info"];
        server.client().await.ask(&default).await;
        let third = store();
        assert!(
            third
                .keep(entries.to_vec(), Duration::from_mins(1))
                .await
                .is_err()
        );
        assert!(third.take(b"b").await.is_err());
        // The remaining keys are not sessions, although the prefix is empty.
        assert!(one.list(None, 100).await.unwrap().sids.is_empty());
    });
}

#[test]
fn a_name_is_claimed_only_once_and_an_index_has_its_sessions() {
    on_a_thread(async {
        let Some(server) = Server::start("redis: claims", &[]).await else {
            return;
        };
        let store = || Redis::new(Arc::new(server.settings()));
        let (one, other) = (store(), store());
        let minute = Duration::from_mins(1);
        let both = tokio::join!(one.claim(b"a", minute), other.claim(b"a", minute));
        assert_ne!(both.0.unwrap(), both.1.unwrap());
        let mut client = server.client().await;
        let left = client.ask(&["PTTL", "roundtrip-claim:61"]).await;
        assert!(matches!(left, Value::Integer(1..=60_000)), "{left:?}");
        one.release(b"a").await.unwrap();
        assert!(other.claim(b"a", minute).await.unwrap());
        one.enter("u", "s1", in_an_hour()).await.unwrap();
        other.enter("u", "s2", in_an_hour()).await.unwrap();
        let past = SystemTime::now() - minute;
        client
            .ask(&["ZADD", "roundtrip-index:u", &past_millis(past), "s0"])
            .await;
        assert_eq!(one.entered("u").await.unwrap(), ["s1", "s2"]);
        assert!(one.entered("v").await.unwrap().is_empty());
        let left = client.ask(&["PTTL", "roundtrip-index:u"]).await;
        assert!(matches!(left, Value::Integer(1..=3_600_000)), "{left:?}");
        // A session that a full index cannot keep is revoked.
        for sid in ["s1", "s2", "s3"] {
            one.put(sid, &Record::new("YTpi", None)).await.unwrap();
        }
        let fill = "for i = 1, 9998 do redis.call('ZADD', KEYS[1], ARGV[1], 'x' .. i) end";
        let later = past_millis(in_an_hour() + minute);
        client
            .ask(&["EVAL", fill, "1", "roundtrip-index:u", &later])
            .await;
        assert_eq!(one.entered("u").await.unwrap().len(), 10_000);
        for (sid, revoked) in [("s3", "s1"), ("s4", "s2")] {
            assert!(one.get(revoked).await.unwrap().is_some());
            other.enter("u", sid, in_an_hour() + minute).await.unwrap();
            assert_eq!(one.get(revoked).await.unwrap(), None);
            assert_eq!(one.entered("u").await.unwrap().len(), 10_000);
        }
        assert!(one.get("s3").await.unwrap().is_some());
    });
}

fn past_millis(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_millis().to_string()
}
