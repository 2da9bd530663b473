//! The cost of clients that have validated addresses and hoard: each keeps its connection alive,
//! and makes the gate keep what it can. Compared with the promises of `docs/quic-security.md`, with
//! an honest client among them.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roundtrip_wire::quic::{ConnectionId, Frame};

use crate::gauge::{address, gate, resident, right};
use crate::quic_client::RawClient;
use crate::unvalidated::{Regular, metric};
use crate::{Kind, alone};

/// The number of hoarders of each kind.
const COUNT: usize = 40;
/// The bytes counted for a connection at rest, and a margin.
const RESTING: u64 = (64 + 32) << 10;
/// The memory of the allocator, of tasks and of a first client.
const BESIDE: u64 = 16 << 20;
const MEMORY: &str = "roundtrip_gate_quic_memory_bytes ";
const PIECE: &[u8] = &[7; 1000];
const PATIENCE: Duration = Duration::from_secs(20);
const DONE: &str = "all hoard";

#[derive(Debug, Clone, Copy)]
enum Hoard {
    /// All streams that are permitted, with nothing on them.
    Streams,
    /// Half of the window, all behind a hole.
    Hole,
    /// Many small pieces, each behind a separate hole.
    Crumbs,
    /// Heads that never end, on many streams.
    Heads,
    /// Requests whose answers are never acknowledged, and many PINGs.
    Silence,
    /// Ids of both sides, given and retired again and again.
    Ids,
}

/// What each may cost beside its connection: what it sent, what the gate buffers for it, and what
/// its streams cost.
const HOARDS: [(Hoard, u64); 6] = [
    (Hoard::Streams, 2 << 20),
    (Hoard::Hole, 1280 << 10),
    (Hoard::Crumbs, 512 << 10),
    (Hoard::Heads, 2 << 20),
    (Hoard::Silence, 1 << 20),
    (Hoard::Ids, 128 << 10),
];

fn stream(id: u64, offset: u64, data: &[u8]) -> Frame<'_> {
    let fin = false;
    Frame::Stream {
        id,
        offset,
        data,
        fin,
    }
}

impl Hoard {
    fn act(self, client: &mut RawClient) {
        let limits = client.peer.limits();
        let (window, count) = (limits.initial_max_data, limits.initial_max_streams_bidi);
        // HEADERS of 8000 bytes, which never come to an end.
        let head = [&[0x01, 0x5f, 0x40][..], PIECE].concat();
        match self {
            Self::Streams => client.say(&[stream(4 * (count - 1), 0, &[])]),
            Self::Hole => {
                for n in 0..window / 2 / 1000 {
                    client.say(&[stream(0, 1 + 1000 * n, PIECE)]);
                    listen(client, n);
                }
            }
            Self::Crumbs => {
                for n in 0..30 {
                    let crumbs = (0..60).map(|at| stream(0, 1 + 2 * (60 * n + at), b"x"));
                    client.say(&crumbs.collect::<Vec<_>>());
                }
            }
            Self::Heads => {
                for n in 0..count {
                    client.say(&[stream(4 * n, 0, &head)]);
                    listen(client, n);
                }
            }
            Self::Silence => {
                for n in 0..count {
                    // A head without a single field is an error, which is answered.
                    client.say(&[stream(4 * n, 0, &[0x01, 0x02, 0, 0])]);
                }
                (0..2000).for_each(|_| client.say(&[Frame::Ping]));
            }
            Self::Ids => {
                for n in 1..200 {
                    let given = Frame::NewConnectionId {
                        sequence: n,
                        retire_prior_to: n,
                        id: ConnectionId::new(&[n as u8; 8]).unwrap(),
                        reset_token: [n as u8; 16],
                    };
                    client.say(&[given]);
                    client.say(&[Frame::RetireConnectionId(n)]);
                    listen(client, n);
                }
            }
        }
    }
}

/// Now and then, so that the socket does not overflow.
fn listen(client: &mut RawClient, n: u64) {
    if n % 20 == 19 {
        client.hear(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "it is what the other test starts"]
fn hoarders() {
    if let Ok(order) = std::env::var("HOARD") {
        let (to, kind) = order.split_once(' ').unwrap();
        let (to, kind): (SocketAddr, usize) = (to.parse().unwrap(), kind.parse().unwrap());
        let mut all = Vec::new();
        for _ in 0..COUNT {
            let mut client = RawClient::connected(to);
            HOARDS[kind].0.act(&mut client);
            all.push(client);
        }
        println!("\n{DONE}");
        // Alive until the gate was measured.
        let _ = std::io::stdin().read_line(&mut String::new());
    }
}

#[test]
fn proved_clients_that_hoard_stay_within_the_budget_and_others_are_served() {
    let _alone = alone();
    for (number, (kind, each)) in HOARDS.into_iter().enumerate() {
        let gate = gate(right(), "");
        let to = address(&gate, Kind::H3);
        let regular = Regular::new(to, gate.certificate().unwrap());
        regular.ask();
        let before = resident();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "validated::hoarders", "--ignored", "--nocapture"]);
        let mut child = command
            .env("HOARD", format!("{to} {number}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let done = said.any(|line| line.unwrap().contains(DONE));
        regular.ask();
        let grown = resident().saturating_sub(before);
        // Threads report from time to time, so the metric may lag.
        let began = Instant::now();
        let mut used = metric(&gate, MEMORY);
        while used as u64 + BESIDE <= grown && began.elapsed() < PATIENCE {
            sleep(Duration::from_millis(100));
            used = metric(&gate, MEMORY);
        }
        drop(child.stdin.take());
        let _ = child.wait();
        assert!(done, "{kind:?}");
        println!("measured: {kind:?}: {grown} bytes, and {used} count");
        let most = COUNT as u64 * (RESTING + each);
        assert!(used < most as f64, "{kind:?}: {used} of {most}");
        // The budget bounds only counted memory, so all memory must be counted.
        assert!(grown < used as u64 + BESIDE, "{kind:?}: {grown} and {used}");
        regular.ask();
    }
}
