//! No client keeps others from connections that it may hold for as long as it likes: uploads that
//! never end, and tunnels.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use crate::exchanges::raw_client::{RawClient, counted};
use crate::lifecycle::scene::Scene;
use crate::limits::backend::Backend;
use crate::limits::concurrency::from;
use crate::limits::{CONNECTIONS, OF_ONE_CLIENT, gate_with, get, soon};
use roundtrip_gate::config::Span;

const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Larger than what gate reads ahead before it takes a connection.
const LARGE: usize = 300_000;

fn post(length: usize) -> String {
    format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

#[test]
fn unfinished_uploads_of_one_client_leave_places_for_others() {
    let backend = Backend::start();
    let scene = gate_with(backend.at, |_| {});
    let gate = scene.gate().addresses().http[0];
    let mut holding: Vec<_> = (0..CONNECTIONS + 4).map(|_| RawClient::to(gate)).collect();
    for client in &mut holding {
        client.send(&format!("{}{}", post(100 * LARGE), "x".repeat(LARGE / 3)));
    }
    // Half of the places for uploads, which are half of all.
    assert!(soon(|| backend.uploads() >= CONNECTIONS / 4));
    for _ in 0..3 {
        let mut client = from(OTHER, gate);
        client.send(&format!("{}{}", post(LARGE), "x".repeat(LARGE)));
        assert_eq!(client.answer().whole(200).body, LARGE.to_string());
        assert_eq!(get(gate, "/quick"), 200);
    }
    assert_eq!(backend.uploads(), CONNECTIONS / 4 + 3);
}

/// Only the clients know how long the backend works on these requests.
#[test]
fn requests_that_are_answered_slowly_leave_connections_to_others() {
    let backend = Backend::start();
    let scene = gate_with(backend.at, |_| {});
    let gate = scene.gate().addresses().http[0];
    let mut holding: Vec<_> = (0..2 * CONNECTIONS).map(|_| RawClient::to(gate)).collect();
    for client in &mut holding {
        client.send("GET /work HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    assert!(soon(|| backend.working() == OF_ONE_CLIENT));
    for _ in 0..3 {
        let mut client = from(OTHER, gate);
        client.send("GET /quick HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer().status(), 200);
    }
    backend.release();
}

/// A backend that opens every WebSocket, and answers everything else.
fn talking() -> SocketAddr {
    RawClient::accept_each(|mut client| {
        while let Some(head) = client.head() {
            if head.to_ascii_lowercase().contains("upgrade: websocket") {
                client.send(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
                     Upgrade: websocket\r\n\
                     Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
                );
                client.stays_until(&AtomicBool::new(false));
                return;
            }
            client.send(&counted("quick"));
        }
    })
}

fn with_tunnels(tunnels: usize) -> Scene {
    gate_with(talking(), |config| {
        config.route[0].upgrades = true;
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.tunnels = tunnels;
        upstream.connect = Span::seconds(1);
    })
}

fn open(client: &mut RawClient) -> u16 {
    client.send(
        "GET /talk HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let head = client.head().unwrap_or_default();
    head.get(9..12)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0)
}

#[test]
fn tunnels_hold_no_connections_of_the_pool() {
    let scene = with_tunnels(4 * CONNECTIONS);
    let gate = scene.gate().addresses().http[0];
    let mut tunnels: Vec<_> = (0..CONNECTIONS + 4).map(|_| RawClient::to(gate)).collect();
    for client in &mut tunnels {
        assert_eq!(open(client), 101);
    }
    for _ in 0..3 {
        assert_eq!(get(gate, "/quick"), 200);
    }
    // Their places come back.
    drop(tunnels);
    assert!(soon(|| open(&mut RawClient::to(gate)) == 101));
}

#[test]
fn clients_share_tunnels() {
    let scene = with_tunnels(4);
    let gate = scene.gate().addresses().http[0];
    let mut tunnels = Vec::new();
    for expected in [101, 101, 503] {
        let mut client = RawClient::to(gate);
        assert_eq!(open(&mut client), expected);
        tunnels.push(client);
    }
    let mut other = from(OTHER, gate);
    assert_eq!(open(&mut other), 101);
    assert_eq!(get(gate, "/quick"), 200);
}
