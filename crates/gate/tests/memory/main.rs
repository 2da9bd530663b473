//! Memory is bounded: a request on the warm path allocates nothing, a connection at rest needs
//! little, and a transfer to a slow receiver no more than a few pieces. One test at a time, because
//! all of them measure the same process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod allocations;
mod clients;
mod flood;
mod gauge;
#[path = "../../../quic/tests/world/key_holder.rs"]
#[allow(dead_code)] // other tests need more of it
mod key_holder;
#[path = "../../../../tests/quic_client.rs"]
#[allow(dead_code)] // other tests need more of it
mod quic_client;
#[path = "../../../quic/tests/world/strangers.rs"]
mod strangers;
#[path = "../../../../tests/tls_client.rs"]
mod tls_client;
mod transfers;
mod unvalidated;
mod validated;

use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use clients::{IdleClients, KINDS, Kind, attend};
use gauge::{address, gate, resident_at_rest, right};

const FIRST: usize = 100;
const CLIENTS: usize = 500;

/// One failed test must not make the others fail.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The clients' process is this one, started again for one test.
fn clients() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "many_clients", "--ignored", "--nocapture"]);
    command
}

#[test]
#[ignore = "it is what other tests start"]
fn many_clients() {
    if std::env::var_os("CLIENTS").is_some() {
        attend();
    }
}

#[test]
fn a_connection_at_rest_takes_little() {
    let _alone = alone();
    for (name, kind) in KINDS {
        let gate = gate(right(), "");
        let (to, certificate) = (address(&gate, kind), gate.certificate().unwrap());
        // Memory that is allocated only once is not counted.
        let _first = IdleClients::gather(clients(), kind, to, FIRST, certificate);
        let before = resident_at_rest();
        let _clients = IdleClients::gather(clients(), kind, to, CLIENTS, certificate);
        let each = resident_at_rest().saturating_sub(before) / CLIENTS as u64;
        println!("measured: {name}: {each} bytes for each connection at rest");
        let most = match kind {
            Kind::Clear => 16 << 10,
            Kind::Secure => 24 << 10,
            Kind::H2 => 14 << 10,
            Kind::H3 => 64 << 10,
        };
        assert!(each < most, "{name}: {each} bytes for each connection");
    }
}
