//! The cost of clients with unvalidated addresses: a flood of first datagrams, compared with the
//! promises of `docs/quic-security.md`, and a client with a token that comes during the flood.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use quinn::crypto::rustls::QuicClientConfig;
use roundtrip_gate::Gate;

use crate::flood::flood;
use crate::gauge::{address, gate, resident, right};
use crate::strangers::KINDS;
use crate::tls_client::h3_config;
use crate::{Kind, alone};

/// The number of each kind.
const COUNT: u32 = 17_000;
/// The number of clients without a validated address, and the memory that each may use.
const UNPROVED: u64 = 256;
const EACH: u64 = (64 + 16 + 14) << 10;
/// The number of clients that may begin in a second.
const RATE: f64 = 1024.0;
/// The memory of the allocator, the sockets and a first client.
const BESIDE: u64 = 16 << 20;
const STRAYS: &str = "roundtrip_gate_quic_strays_total{fate=\"retried\"} ";
const RETRIES: &str = "roundtrip_gate_limits_met_total{limit=\"quic_unproved\"} ";
const PATIENCE: Duration = Duration::from_mins(1);

/// Sends the flood from another process of this program, started for one test. Returns how long it
/// took.
fn strangers(to: SocketAddr, kind: usize) -> Duration {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "unvalidated::a_flood",
        "--ignored",
        "--nocapture",
    ]);
    let said = command
        .env("FLOOD", format!("{to} {kind}"))
        .output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let line = said.lines().find_map(|line| line.split_once("flood: "));
    Duration::from_millis(line.unwrap().1.parse().unwrap())
}

#[test]
#[ignore = "it is what the other test starts"]
fn a_flood() {
    if let Ok(order) = std::env::var("FLOOD") {
        let (to, kind) = order.split_once(' ').unwrap();
        let kind: u32 = kind.parse().unwrap();
        let began = Instant::now();
        flood(
            to.parse().unwrap(),
            KINDS[kind as usize],
            kind * COUNT,
            COUNT,
        );
        println!("\nflood: {}", began.elapsed().as_millis());
    }
}

/// A client that opens one connection after another, each with a token from an earlier one.
pub(crate) struct Regular {
    endpoint: quinn::Endpoint,
    runtime: tokio::runtime::Runtime,
    to: SocketAddr,
}

impl Regular {
    pub(crate) fn new(to: SocketAddr, pem: &str) -> Self {
        let tls = QuicClientConfig::try_from(h3_config(Some(pem))).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut endpoint = {
            let _entered = runtime.enter();
            quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
        };
        endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(tls)));
        Self {
            endpoint,
            runtime,
            to,
        }
    }

    /// One request.
    pub(crate) fn ask(&self) {
        self.runtime.block_on(async {
            let connection = self
                .endpoint
                .connect(self.to, "localhost")
                .unwrap()
                .await
                .unwrap();
            let carrier = h3_quinn::Connection::new(connection.clone());
            let (_driver, mut sender) = h3::client::new(carrier).await.unwrap();
            let request = http::Request::get("https://localhost/").body(()).unwrap();
            let mut stream = sender.send_request(request).await.unwrap();
            stream.finish().await.unwrap();
            assert_eq!(stream.recv_response().await.unwrap().status(), 200);
            while stream.recv_data().await.unwrap().is_some() {}
            connection.close(0x100_u32.into(), b"");
        });
    }
}

/// The value of the line of `/metrics` that begins so.
pub(crate) fn metric(gate: &Gate, start: &str) -> f64 {
    let mut stream = TcpStream::connect(gate.addresses().admin.unwrap()).unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let mut lines = answer.lines();
    let value = lines.find_map(|line| line.strip_prefix(start)).unwrap();
    value.trim().parse().unwrap()
}

#[test]
fn strangers_cost_what_is_promised_and_a_client_with_a_token_is_served_meanwhile() {
    let _alone = alone();
    for (number, kind) in KINDS.iter().enumerate() {
        // A new gate, so that no client of another kind is left.
        let gate = gate(right(), "");
        let to = address(&gate, Kind::H3);
        let regular = Regular::new(to, gate.certificate().unwrap());
        regular.ask();
        let (before, began) = (resident(), Instant::now());
        let flooding = spawn(move || strangers(to, number));
        let mut served = 0;
        while !flooding.is_finished() {
            regular.ask();
            served += 1;
        }
        let took = flooding.join().unwrap();
        let admitted = 2 * UNPROVED + (took.as_secs_f64() * RATE) as u64;
        let grown = resident().saturating_sub(before);
        // The others had to prove their addresses first, except those that the socket had no room
        // for.
        let least = u64::from(COUNT).saturating_sub(admitted) as f64 / 2.0;
        let mut retries = metric(&gate, RETRIES);
        while retries < least && began.elapsed() < PATIENCE {
            sleep(Duration::from_millis(50));
            retries = metric(&gate, RETRIES);
        }
        println!(
            "measured: {kind:?}: {retries} Retries of {least}, {served} served, {grown} bytes"
        );
        assert!(served > 0, "{kind:?}");
        assert!(grown < UNPROVED * EACH + BESIDE, "{kind:?}: {grown} bytes");
        assert!(retries >= least, "{kind:?}: {retries} Retries of {least}");
        let strays = metric(&gate, STRAYS);
        assert!(strays >= retries, "{kind:?}: {strays} of {retries}");
    }
}
