//! Many requests at once: which request gets which credentials, also during an outage.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::task::JoinSet;

use super::gates::{Gates, run};
use crate::sessions::scene::{Client, cookie};
use crate::until;

const SESSIONS: u64 = 100;
const CLIENTS: u64 = 12;

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// Names with the same beginning and end.
fn sid(n: u64) -> String {
    format!("session-{n:04}-of-many")
}

/// The password contains a number, which grows with each change.
fn login(n: u64, change: u64) -> String {
    format!("user{n}:password{n}.{change}")
}

async fn give(gates: &Gates, n: u64, change: u64) {
    gates.set(&sid(n), &login(n, change)).await;
}

/// The credentials that the backend got for one request: `None` if it was not admitted; otherwise
/// the number of the password's change. It must never get another user's password, or the client's
/// own field.
async fn ask(client: &mut Client, n: u64) -> (String, Option<u64>) {
    let line = format!("{}\r\nAuthorization: Basic ZXZpbDplcw==", cookie(&sid(n)));
    let answer = client.get(&line).await;
    let status = answer[9..12].to_owned();
    // The session ended while gate waited for the backend.
    if answer.contains("Connection: close\r\n") {
        client.reconnect().await;
    }
    if status != "200" {
        return (status, None);
    }
    let mut lines = answer
        .lines()
        .filter_map(|l| l.strip_prefix("Authorization: Basic "));
    let (Some(value), None) = (lines.next(), lines.next()) else {
        panic!("not one Authorization: {answer}");
    };
    let seen = String::from_utf8(STANDARD.decode(value).unwrap()).unwrap();
    let change = seen.strip_prefix(&login(n, 0)[..login(n, 0).len() - 1]);
    let change = change.unwrap_or_else(|| panic!("for {} it was {seen}", sid(n)));
    (status, Some(change.parse().unwrap()))
}

#[test]
fn never_another_users_credentials() {
    run("credentials", "0s", 2, async |gates: Gates| {
        let gates = Rc::new(gates);
        for n in 0..SESSIONS {
            give(&gates, n, 0).await;
        }
        let changes: Rc<Vec<Cell<u64>>> = Rc::new((0..SESSIONS).map(|_| Cell::new(0)).collect());
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let (gates, changes) = (gates.clone(), changes.clone());
            clients.spawn_local(async move {
                let mut client = gates.client(number as usize % 2).await;
                let mut dice = Dice(number);
                let mut seen = BTreeMap::<u64, u64>::new();
                for _ in 0..200 {
                    let n = dice.roll(SESSIONS);
                    let (status, change) = ask(&mut client, n).await;
                    let Some(change) = change else {
                        assert_eq!(status, "401");
                        continue;
                    };
                    // No password before it was set, and on one gate no older one after a newer
                    // one.
                    assert!(change <= changes[n as usize].get());
                    assert!(seen.insert(n, change).is_none_or(|before| before <= change));
                }
            });
        }
        let mut dice = Dice(99);
        while !clients.is_empty() {
            let n = dice.roll(SESSIONS);
            if dice.roll(4) == 0 {
                gates.ask(&["DEL", &sid(n)]).await;
            } else {
                let change = changes[n as usize].get() + 1;
                changes[n as usize].set(change);
                give(&gates, n, change).await;
            }
            while let Some(ended) = clients.try_join_next() {
                ended.unwrap();
            }
        }
        let all: u64 = changes.iter().map(Cell::get).sum();
        assert!(all > 0, "passwords were changed meanwhile");
    });
}

#[test]
fn a_store_that_is_killed_and_started_again_under_load() {
    run("killed", "0s", 2, async |mut gates: Gates| {
        for n in 0..SESSIONS {
            give(&gates, n, 0).await;
        }
        let stop = Rc::new(Cell::new(false));
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let mut client = gates.client(number as usize % 2).await;
            let stop = stop.clone();
            clients.spawn_local(async move {
                let mut dice = Dice(number);
                let mut statuses = BTreeMap::<String, u64>::new();
                while !stop.get() {
                    let (status, _) = ask(&mut client, dice.roll(SESSIONS)).await;
                    *statuses.entry(status).or_default() += 1;
                    tokio::task::yield_now().await;
                }
                statuses
            });
        }
        for round in 1..=3 {
            let outages = |gates: &Gates| gates.known.iter().map(|k| k.counts().outages).min();
            let before = outages(&gates);
            gates.server.stop();
            until("both gates say so", async || outages(&gates) > before).await;
            gates.start_again().await;
            for n in 0..SESSIONS {
                give(&gates, n, round).await;
            }
            for gate in 0..2 {
                let mut client = gates.client(gate).await;
                until("all are served as they are now", async || {
                    for n in 0..SESSIONS {
                        if ask(&mut client, n).await.1 != Some(round) {
                            return false;
                        }
                    }
                    true
                })
                .await;
            }
        }
        stop.set(true);
        let mut all = BTreeMap::<String, u64>::new();
        while let Some(ended) = clients.join_next().await {
            for (status, times) in ended.unwrap() {
                *all.entry(status).or_default() += times;
            }
        }
        println!("measured: answers by status {all:?}");
        // The store was down and came back empty, so no other answer is possible.
        assert!(
            all.keys()
                .all(|s| ["200", "401", "503"].contains(&s.as_str())),
            "{all:?}"
        );
        assert!(all["200"] > 0 && all["503"] > 0, "{all:?}");
    });
}
