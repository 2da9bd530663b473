//! What idle connections cost: `idle [COUNT]`, by default 10 000. Each kind of connection is
//! measured in a separate process; its clients are in another one. Each of the two needs that many
//! descriptors (`ulimit -n`).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // a panic says what went wrong

#[path = "../tests/memory/clients.rs"]
mod clients;
#[path = "../tests/memory/gauge.rs"]
mod gauge;
#[allow(dead_code, reason = "tests use all of it")]
#[path = "../../../tests/tls_client.rs"]
mod tls_client;

use std::process::Command;

use clients::{IdleClients, KINDS, attend};
use gauge::{address, gate, resident_at_rest, right};

const USUAL: usize = 10_000;
/// First connections, so that memory that is allocated only once is not counted.
const FIRST: usize = 200;

fn main() {
    if std::env::var_os("CLIENTS").is_some() {
        return attend();
    }
    let words: Vec<String> = std::env::args().collect();
    let count = words.get(1).map_or(USUAL, |word| word.parse().unwrap());
    let Some(kind) = words.get(2) else {
        for kind in 0..KINDS.len() {
            let mut measuring = again();
            measuring.args([count.to_string(), kind.to_string()]);
            assert!(measuring.status().unwrap().success());
        }
        return;
    };
    let (name, kind) = KINDS[kind.parse::<usize>().unwrap()];
    let gate = gate(right(), "");
    let (to, certificate) = (address(&gate, kind), gate.certificate().unwrap());
    let _first = IdleClients::gather(again(), kind, to, FIRST, certificate);
    let before = resident_at_rest();
    let _clients = IdleClients::gather(again(), kind, to, count, certificate);
    let after = resident_at_rest();
    println!(
        "{name}: {count} connections at rest: {} bytes for each ({before} bytes before them, {after} with them)",
        after.saturating_sub(before) / count as u64
    );
}

fn again() -> Command {
    Command::new(std::env::current_exe().unwrap())
}
