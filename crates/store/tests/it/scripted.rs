//! Redis servers that a test plays: old, slow or wrong ones, and one with TLS.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use roundtrip_store::{
    Address, CacheStatus, Near, NearSettings, Page, Redis, RedisSettings, Store, StoreError,
};
use roundtrip_tls::{Roots, ServerStream};
use roundtrip_wire::resp::{Decoder, Value};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{eventually, on_a_thread, until};

const SESSION: &[u8] = b"{\"credentials\":\"YTpi\"}";

/// Answers each command by its first word, and each of `CLUSTER` by its second, until the script
/// returns `None`.
async fn play<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    mut script: impl FnMut(&str) -> Option<Vec<u8>>,
) {
    let mut decoder = Decoder::default();
    let mut piece = [0; 4096];
    loop {
        while let Ok(Some(Value::Array(parts))) = decoder.next_value() {
            let part = |at: usize| parts.get(at).and_then(Value::bytes).unwrap_or_default();
            let word = match part(0) {
                b"CLUSTER" => part(1),
                word => word,
            };
            let Some(answer) = script(&String::from_utf8_lossy(word)) else {
                return;
            };
            if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(n) => decoder.feed(&piece[..n]),
        }
    }
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Value::Bulk(bytes.to_vec()).encode(&mut out);
    out
}

/// A server of version 7 that has one session under every name.
fn modern(word: &str) -> Vec<u8> {
    match word {
        "HELLO" => b"%0\r\n".to_vec(),
        "GET" => bulk(SESSION),
        "PTTL" => b":-1\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    }
}

async fn listen() -> (TcpListener, RedisSettings) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = Address::Tcp {
        host: "127.0.0.1".into(),
        port: listener.local_addr().unwrap().port(),
    };
    (listener, RedisSettings::new(address))
}

/// Plays the script from its beginning on each connection.
fn serve(listener: TcpListener, script: impl FnMut(&str) -> Option<Vec<u8>> + Clone + 'static) {
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::task::spawn_local(play(stream, script.clone()));
        }
    });
}

#[test]
fn a_server_of_version_5_is_asked_each_time() {
    on_a_thread(async {
        let (listener, settings) = listen().await;
        serve(listener, |word| match word {
            "HELLO" => {
                Some(b"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n".to_vec())
            }
            "CLIENT" => panic!("it has no tracking"),
            other => Some(modern(other)),
        });
        let store = Redis::new(Arc::new(settings));
        assert!(!store.check().await.unwrap());
        let near = Near::new(store, NearSettings::default());
        for _ in 0..3 {
            let found = near.get("a").await.unwrap().unwrap();
            assert_eq!(found.status, CacheStatus::Miss);
        }
        assert_eq!(near.counts().asked, 3);
    });
}

#[test]
fn a_server_that_refuses_tracking_is_asked_each_time() {
    on_a_thread(async {
        let (listener, settings) = listen().await;
        serve(listener, |word| match word {
            "CLIENT" => Some(b"-NOPERM this user has no permissions\r\n".to_vec()),
            other => Some(modern(other)),
        });
        let near = Near::new(Redis::new(Arc::new(settings)), NearSettings::default());
        for _ in 0..3 {
            let found = near.get("a").await.unwrap().unwrap();
            assert_eq!(found.status, CacheStatus::Miss);
        }
    });
}

#[test]
fn a_server_that_does_not_answer_causes_a_time_out() {
    on_a_thread(async {
        let (listener, mut settings) = listen().await;
        settings.answer = Duration::from_millis(50);
        serve(listener, |word| match word {
            "GET" | "PTTL" => Some(Vec::new()),
            other => Some(modern(other)),
        });
        let store = Redis::new(Arc::new(settings));
        let error = eventually("it is given up", store.get("a"))
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
    });
}

/// The path is cut silently: only the heartbeat notices.
#[test]
fn a_connection_that_fell_silent_is_noticed() {
    on_a_thread(async {
        let (listener, mut settings) = listen().await;
        settings.answer = Duration::from_millis(100);
        settings.heartbeat = Duration::from_millis(20);
        let silent = Rc::new(std::cell::Cell::new(false));
        let script = silent.clone();
        serve(listener, move |word| {
            Some(if script.get() {
                Vec::new()
            } else {
                modern(word)
            })
        });
        let near = Rc::new(Near::new(
            Redis::new(Arc::new(settings)),
            NearSettings::default(),
        ));
        tokio::task::spawn_local(near.clone().run());
        until("the session is known", async || near.get("a").await.is_ok()).await;
        silent.set(true);
        until("all is forgotten", async || {
            near.is_empty() && near.counts().flushes > 0
        })
        .await;
    });
}

#[test]
fn invalid_answers_end_the_connection() {
    for nonsense in [
        "hello\r\n",
        "$99999999\r\n",
        "+OK\r\n:1\r\n:2\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        "",
    ] {
        on_a_thread(async {
            let (listener, settings) = listen().await;
            serve(listener, move |word| match word {
                "GET" if nonsense.is_empty() => None,
                "GET" => Some(nonsense.as_bytes().to_vec()),
                other => Some(modern(other)),
            });
            let store = Redis::new(Arc::new(settings));
            let error = eventually("an error", store.get("a")).await.unwrap_err();
            assert!(
                !matches!(error, StoreError::TimedOut { .. }),
                "{nonsense:?}: {error}"
            );
        });
    }
}

#[test]
fn no_request_waits_for_a_server_that_has_just_failed() {
    on_a_thread(async {
        let (listener, mut settings) = listen().await;
        drop(listener);
        settings.pause = Duration::from_hours(1);
        settings.longest_pause = Duration::from_hours(1);
        let store = Redis::new(Arc::new(settings));
        for _ in 0..3 {
            let error = eventually("an error", store.get("a")).await.unwrap_err();
            assert!(matches!(error, StoreError::Down { .. }), "{error}");
        }
    });
}

#[test]
fn tls_with_roots_from_a_file() {
    on_a_thread(async {
        let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(
            certified.signing_key.serialize_der(),
        ));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let (listener, _) = listen().await;
        let port = listener.local_addr().unwrap().port();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stream = ServerStream::new(stream, config.clone()).unwrap();
                tokio::task::spawn_local(play(stream, |w| Some(modern(w))));
            }
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, certified.cert.pem()).unwrap();
        let url = format!("rediss://127.0.0.1:{port}");
        let mut settings = RedisSettings::from_url(&url).unwrap();
        settings.trust(Roots::File(file.path().into())).unwrap();
        let store = Redis::new(Arc::new(settings));
        assert!(
            eventually("an answer", store.get("a"))
                .await
                .unwrap()
                .is_some()
        );
        // Another certificate is refused.
        let stranger = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
        std::fs::write(&file, stranger.cert.pem()).unwrap();
        let mut settings = RedisSettings::from_url(&url).unwrap();
        settings.trust(Roots::File(file.path().into())).unwrap();
        let store = Redis::new(Arc::new(settings));
        let error = eventually("an error", store.get("a")).await.unwrap_err();
        assert!(matches!(error, StoreError::Tls(_)), "{error}");
    });
}

/// The answer to `CLUSTER SLOTS` of a cluster with this master and, if it is not 0, this replica.
fn slots(master: u16, replica: u16) -> Vec<u8> {
    let server = |port: &u16| {
        let id = Value::Bulk(b"id".to_vec());
        let host = Value::Bulk(b"127.0.0.1".to_vec());
        Value::Array(vec![host, Value::Integer((*port).into()), id])
    };
    let mut shard = vec![Value::Integer(0), Value::Integer(16383)];
    shard.extend(
        [master, replica]
            .iter()
            .filter(|port| **port > 0)
            .map(server),
    );
    let mut slots = Vec::new();
    Value::Array(vec![Value::Array(shard)]).encode(&mut slots);
    slots
}

/// The name in gate's configuration is not the one under which the server is known in its cluster.
#[test]
fn a_server_with_two_names_gets_one_connection() {
    on_a_thread(async {
        let (listener, _) = listen().await;
        let port = listener.local_addr().unwrap().port();
        let count = || Rc::new(std::cell::Cell::new(0));
        let (open, looks) = (count(), count());
        let (opened, looked) = (open.clone(), looks.clone());
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (open, looked) = (opened.clone(), looked.clone());
                tokio::task::spawn_local(async move {
                    open.set(open.get() + 1);
                    let script = move |word: &str| {
                        if word == "SLOTS" {
                            looked.set(looked.get() + 1);
                            return Some(slots(port, 0));
                        }
                        Some(modern(word))
                    };
                    play(stream, script).await;
                    open.set(open.get() - 1);
                });
            }
        });
        let url = format!("redis+cluster://localhost:{port}");
        let mut settings = RedisSettings::from_url(&url).unwrap();
        settings.pause = Duration::from_millis(1);
        settings.heartbeat = Duration::from_millis(5);
        let near = Rc::new(Near::new(
            Redis::new(Arc::new(settings)),
            NearSettings::default(),
        ));
        tokio::task::spawn_local(near.clone().run());
        for count in 1..6 {
            let is_reached = async || looks.get() >= 4 * count && open.get() == 1;
            until("it was asked again, and has one connection", is_reached).await;
            let found = near.get("a").await.unwrap();
            assert!(found.is_some());
        }
    });
}

/// Plays the only master of a cluster, with these answers to `CLUSTER`, and a replica that confirms
/// nothing. As Redis does, it answers `WAIT` for what the connection wrote: if that is nothing, its
/// replicas count.
fn deaf(slots: Vec<u8>, nodes: Vec<u8>) -> impl FnMut(&str) -> Option<Vec<u8>> + Clone + 'static {
    let is_there = Rc::new(std::cell::Cell::new(true));
    let mut has_written = false;
    move |word| {
        Some(match word {
            "SLOTS" => slots.clone(),
            "NODES" => nodes.clone(),
            "SET" => {
                has_written = true;
                is_there.set(true);
                b"+OK\r\n".to_vec()
            }
            "DEL" => {
                let count = i64::from(is_there.replace(false));
                has_written |= count > 0;
                format!(":{count}\r\n").into_bytes()
            }
            "WAIT" if has_written => b":0\r\n".to_vec(),
            "WAIT" => b":1\r\n".to_vec(),
            other => modern(other),
        })
    }
}

/// Each run of `gate session revoke` makes new connections, and knows no server at first.
#[test]
fn the_first_request_of_a_handle_and_a_repeated_one_wait_for_a_replica() {
    on_a_thread(async {
        let (listener, _) = listen().await;
        let port = listener.local_addr().unwrap().port();
        serve(listener, deaf(slots(port, 1), Vec::new()));
        let url = format!("redis+cluster://127.0.0.1:{port}");
        for attempt in 1..=3 {
            let store = Redis::new(Arc::new(RedisSettings::from_url(&url).unwrap()));
            let outcome = eventually("an answer", store.revoke("a")).await;
            assert!(
                matches!(outcome, Err(StoreError::Unconfirmed)),
                "attempt {attempt}: {outcome:?}"
            );
        }
    });
}

/// `CLUSTER SLOTS` leaves out replicas of which the server has not heard that they have data.
#[test]
fn a_replica_that_has_just_begun_must_confirm_as_well() {
    let nodes = |flags: &str, of: &str| {
        format!(
            "1a 127.0.0.1:1@2 master - 0 1 1 connected 9-16383\n\
             2b 127.0.0.1:3@4,name myself,master - 0 0 2 connected 0-8\n\
             3c 127.0.0.1:5@6 {flags} {of} 0 1 2 connected\n"
        )
    };
    let refused = b"-NOPERM User gate has no permissions to run the 'cluster|nodes' command\r\n";
    for (nodes, is_replicated) in [
        (bulk(nodes("slave", "2b").as_bytes()), true),
        (bulk(nodes("slave,fail?", "2b").as_bytes()), true),
        (bulk(nodes("slave,fail", "2b").as_bytes()), false),
        (bulk(nodes("slave", "1a").as_bytes()), false),
        (bulk(nodes("master", "-").as_bytes()), false),
        (refused.to_vec(), false),
    ] {
        on_a_thread(async {
            let (listener, _) = listen().await;
            let port = listener.local_addr().unwrap().port();
            let told = String::from_utf8_lossy(&nodes).into_owned();
            serve(listener, deaf(slots(port, 0), nodes));
            let url = format!("redis+cluster://127.0.0.1:{port}");
            let store = Redis::new(Arc::new(RedisSettings::from_url(&url).unwrap()));
            let outcome = eventually("an answer", store.revoke("a")).await;
            let is_unconfirmed = matches!(outcome, Err(StoreError::Unconfirmed));
            assert_eq!(is_unconfirmed, is_replicated, "{told}: {outcome:?}");
        });
    }
}

/// A list from a server whose `SCAN` returns these cursors, and no key.
async fn listed(after: Option<&str>, next: fn(u64) -> u64) -> Result<Page, StoreError> {
    let (listener, settings) = listen().await;
    let mut count = 0;
    serve(listener, move |word| {
        Some(if word == "SCAN" {
            count += 1;
            let cursor = next(count).to_string();
            let page = [Value::Bulk(cursor.into()), Value::Array(Vec::new())];
            let mut out = Vec::new();
            Value::Array(page.into()).encode(&mut out);
            out
        } else {
            modern(word)
        })
    });
    let store = Redis::new(Arc::new(settings));
    eventually("the list ends", store.list(after, 10)).await
}

#[test]
fn a_scan_that_does_not_end_is_given_up() {
    on_a_thread(async {
        let ends = |after: Option<&'static str>, next: fn(u64) -> u64| async move {
            let error = listed(after, next).await.unwrap_err().to_string();
            assert!(error.contains("SCAN does not end"), "{error}");
        };
        ends(None, |_| 5).await;
        ends(None, |count| 1 + count % 7).await;
        // After 999 998 others.
        ends(Some("0:7:999998"), |count| 7 + count).await;
        let page = listed(None, |count| (count + 1) % 100).await.unwrap();
        assert_eq!(page, Page::default());
    });
}
