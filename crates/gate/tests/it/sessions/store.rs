//! Gates in front of a backend, with sessions in a redis-server that is started for the test:
//! revocation, outages, and which request gets which credentials.

mod gates;
mod load;

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::sessions::scene::{Client, cookie};
use crate::until;
use gates::{Gates, run};

const REVOKED: usize = 20;

/// Two gates stand for two threads: each has its own connection to the store and its own cache.
#[test]
fn a_revoked_session_is_refused_within_100_ms_and_never_after() {
    run("revocation", "0s", 2, async |gates: Gates| {
        let mut slowest = Duration::ZERO;
        for n in 0..REVOKED {
            let sid = format!("s{n}");
            gates.set(&sid, "u:p").await;
            let mut clients = [gates.client(0).await, gates.client(1).await];
            let mut open = Vec::new();
            for (at, client) in clients.iter_mut().enumerate() {
                let seen = client.get(&cookie(&sid)).await;
                assert!(seen.contains("Basic dTpw"), "{seen}");
                open.push(gates.open(at, "/events", &sid).await);
                // A client that waits for the rest of a body of known length gets nothing more
                // either.
                open.push(gates.open(at, "/slow", &sid).await);
            }
            gates.ask(&["DEL", &sid]).await;
            let deleted = Instant::now();
            for client in &mut clients {
                until("it is refused", async || {
                    is_denied(&client.get(&cookie(&sid)).await)
                })
                .await;
            }
            for mut stream in open {
                timeout(Duration::from_secs(30), stream.rest())
                    .await
                    .unwrap();
            }
            slowest = slowest.max(deleted.elapsed());
            for client in &mut clients {
                for _ in 0..20 {
                    assert!(
                        is_denied(&client.get(&cookie(&sid)).await),
                        "once refused, it passed again"
                    );
                }
            }
        }
        println!(
            "measured: {REVOKED} sessions, from DEL to the last refusal and the last closed stream {slowest:?} at most"
        );
    });
}

#[test]
fn a_session_that_expires_in_the_store_ends_what_is_open() {
    run("expiry", "0s", 1, async |gates: Gates| {
        gates.set("s", "u:p").await;
        let mut stream = gates.open(0, "/events", "s").await;
        gates.ask(&["PEXPIRE", "s", "300"]).await;
        timeout(Duration::from_secs(30), stream.rest())
            .await
            .unwrap();
        let mut client = gates.client(0).await;
        until("it is refused", async || {
            is_denied(&client.get(&cookie("s")).await)
        })
        .await;
    });
}

#[test]
fn a_store_outage_costs_no_known_session_for_the_grace() {
    run("grace", "10min", 1, async |mut gates: Gates| {
        gates.set("known", "u:p").await;
        gates.set("gone", "g:p").await;
        gates.set("unknown", "x:p").await;
        let mut client = gates.client(0).await;
        for sid in ["known", "gone"] {
            assert!(client.get(&cookie(sid)).await.starts_with("HTTP/1.1 200 "));
        }
        let mut stream = gates.open(0, "/events", "known").await;
        gates.server.stop();
        let known = gates.known[0].clone();
        let graced = || known.counts().graced;
        // From the first moment on, for as long as the test looks.
        let mut requests = 0;
        while graced() < 100 {
            let seen = client.get(&cookie("known")).await;
            assert!(seen.contains("Basic dTpw"), "{seen}");
            requests += 1;
            assert!(requests < 100_000, "the outage was never noticed");
        }
        let seen = client.get(&cookie("unknown")).await;
        assert!(
            seen.starts_with("HTTP/1.1 503 ") && seen.contains("Retry-After: "),
            "{seen}"
        );
        gates.next_event();
        stream.until("data: 2").await;
        // The store comes back without the revoked sessions.
        gates.start_again().await;
        gates.set("known", "u:p").await;
        gates.set("unknown", "x:p").await;
        until("who is gone is refused", async || {
            is_denied(&client.get(&cookie("gone")).await)
        })
        .await;
        for sid in ["known", "unknown"] {
            until("they are served", async || {
                client.get(&cookie(sid)).await.starts_with("HTTP/1.1 200 ")
            })
            .await;
        }
        let before = graced();
        assert!(
            client
                .get(&cookie("known"))
                .await
                .starts_with("HTTP/1.1 200 ")
        );
        assert_eq!(graced(), before);
    });
}

#[test]
fn without_grace_an_outage_is_said_at_once() {
    run("no grace", "0s", 1, async |mut gates: Gates| {
        gates.set("s", "u:p").await;
        let mut client = gates.client(0).await;
        assert!(client.get(&cookie("s")).await.starts_with("HTTP/1.1 200 "));
        let mut stream = gates.open(0, "/events", "s").await;
        gates.server.stop();
        timeout(Duration::from_secs(30), stream.rest())
            .await
            .unwrap();
        let seen = client.get(&cookie("s")).await;
        assert!(
            seen.starts_with("HTTP/1.1 503 ") && seen.contains("Retry-After: "),
            "{seen}"
        );
    });
}

#[test]
fn the_clock_counts_on_the_next_request_however_it_was_set() {
    run("clock", "0s", 1, async |gates: Gates| {
        gates.set("s", "u:p").await;
        let mut client = gates.client(0).await;
        let said = async |client: &mut Client, ahead: i64| {
            gates.ahead.set(ahead);
            client.get(&cookie("s")).await[..12].to_owned()
        };
        assert_eq!(said(&mut client, 0).await, "HTTP/1.1 200");
        // The cookie is valid for an hour, and there is leeway.
        assert_eq!(said(&mut client, 3500).await, "HTTP/1.1 200");
        assert_eq!(said(&mut client, 3700).await, "HTTP/1.1 401");
        assert_eq!(said(&mut client, -100_000).await, "HTTP/1.1 200");
        assert_eq!(said(&mut client, 86_400).await, "HTTP/1.1 401");
        assert_eq!(said(&mut client, 0).await, "HTTP/1.1 200");
    });
}

pub(crate) fn is_denied(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 401 ")
}

/// Seconds by which a gate's clock is ahead of the system's.
pub(crate) type ClockOffset = Rc<Cell<i64>>;
