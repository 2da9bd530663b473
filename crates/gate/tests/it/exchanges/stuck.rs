//! Backends that stop reading amid a request: gate notices if the client leaves.

use std::io::Write;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use roundtrip_gate::config::{Bytes, Config, Span};

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::RawClient;
use crate::lifecycle::scene::Scene;
use crate::limits::{exchanges, gate_with, get, soon};
use crate::readings::h2::{self, Connection, DATA, Frame, RST_STREAM};

/// Larger than the sockets' buffers between gate and a backend.
const LARGE: usize = 8 << 20;

/// Reads nothing of a body, but answers what has none.
fn stuck() -> Backend {
    Backend::start(|mut client| {
        while let Some(head) = client.head() {
            if head.starts_with("POST") {
                thread::park();
            }
            client.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    })
}

/// Changes the configuration.
type Way = fn(&mut Config);

/// The ways in which a request is sent: read ahead and sent with its head, buffered, or passed on.
fn ways() -> [(&'static str, Way); 3] {
    [
        ("ahead", |config| {
            config.limits.body_ahead = Bytes(2 * LARGE as u64);
            config.limits.body_ahead_time = Span::seconds(60);
        }),
        ("buffered", |config| {
            config.route[0].buffer_request = Bytes(LARGE as u64);
            config.limits.buffered = Bytes(u64::MAX);
            config.limits.buffered_per_client = Bytes(u64::MAX);
        }),
        ("passed on", |_| {}),
    ]
}

const CLIENTS: usize = 4;

fn scene(backend: &Backend, way: Way) -> Scene {
    gate_with(backend.at, |config| {
        let upstream = config.upstream.get_mut("backend").unwrap();
        // They have one address, which gets half of the uploads.
        (upstream.connections, upstream.uploads) = (CLIENTS, 2 * CLIENTS);
        way(config);
    })
}

fn head() -> String {
    format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {LARGE}\r\n\r\n")
}

/// A client that sends a body: all of it, or as much as is taken.
fn uploading(gate: SocketAddr, all: bool) -> RawClient {
    let mut client = RawClient::to(gate);
    client.send(&head());
    if !all {
        let blocked = Some(Duration::from_millis(500));
        client.stream.set_write_timeout(blocked).unwrap();
    }
    let piece = "x".repeat(64 * 1024);
    let _ = (0..LARGE / piece.len()).all(|_| client.send(&piece));
    client
}

fn are_given_up(scene: &Scene, name: &str) {
    assert!(soon(|| exchanges(scene) == 0), "{name}");
    let address = scene.gate().addresses().http[0];
    assert_eq!(get(address, "/quick"), 200, "{name}");
}

#[test]
fn a_client_that_leaves_is_noticed_though_the_backend_reads_nothing() {
    for (name, way) in ways() {
        let backend = stuck();
        let scene = scene(&backend, way);
        let gate = scene.gate().addresses().http[0];
        let clients: Vec<RawClient> = thread::scope(|scope| {
            let all: Vec<_> = (0..CLIENTS)
                .map(|_| scope.spawn(|| uploading(gate, name != "passed on")))
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(soon(|| backend.connections() == CLIENTS), "{name}");
        for client in clients {
            // A FIN arrives behind what was sent before, and gate has not read that.
            if name == "passed on" {
                client.reset();
            }
        }
        are_given_up(&scene, name);
    }
}

#[test]
fn a_client_that_leaves_over_tls_is_noticed() {
    for (name, way) in ways().into_iter().take(2) {
        let backend = stuck();
        let scene = scene(&backend, way);
        let mut client = h2::tls(&scene, &[]);
        client.write_all(head().as_bytes()).unwrap();
        client.write_all(&vec![b'x'; LARGE]).unwrap();
        client.flush().unwrap();
        assert!(soon(|| backend.connections() == 1), "{name}");
        drop(client);
        are_given_up(&scene, name);
    }
}

#[test]
fn a_stream_of_http_2_that_is_reset_is_noticed() {
    let fields: [(&str, &[u8]); 4] = [
        (":method", b"POST"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", b"/a"),
    ];
    for closes in [false, true] {
        let backend = stuck();
        let scene = scene(&backend, |_| {});
        let mut connection = Connection::open(&scene, &[]);
        let id = connection.ask(&fields, false);
        // The window of a stream, or more if the backend takes some of it.
        for _ in 0..16 {
            connection.send(&Frame::new(DATA, 0, id, &[b'x'; 16_000]));
        }
        assert!(soon(|| backend.connections() == 1));
        if closes {
            drop(connection);
        } else {
            connection.send(&Frame::new(RST_STREAM, 0, id, &[0, 0, 0, 8]));
        }
        are_given_up(&scene, "h2");
    }
}

/// This is tested for each way to send the request.
#[test]
fn a_backend_may_refuse_to_read_for_as_long_as_it_may_be_silent() {
    for (name, way) in ways() {
        let backend = stuck();
        let scene = gate_with(backend.at, |config| {
            config.upstream.get_mut("backend").unwrap().silence = Span::seconds(1);
            way(config);
        });
        let mut client = uploading(scene.gate().addresses().http[0], name != "passed on");
        assert_eq!(client.answer().status(), 504, "{name}");
    }
}

/// A tunnel may be silent for ever, so only its clients end it.
#[test]
fn a_client_that_leaves_an_unread_tunnel_is_noticed() {
    let backend = Backend::start(|mut client| {
        let Some(head) = client.head() else { return };
        if head.starts_with("GET /quick") {
            client.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        }
        client.send("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
        thread::park();
    });
    let scene = gate_with(backend.at, |config| {
        config.route[0].upgrades = true;
        config.route[0].streams = true;
    });
    let gate = scene.gate().addresses().http[0];
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut client = RawClient::to(gate);
            client
                .send("GET /t HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
            assert!(client.head().unwrap().starts_with("HTTP/1.1 101"));
            let blocked = Some(Duration::from_millis(300));
            client.stream.set_write_timeout(blocked).unwrap();
            while client.send(&"x".repeat(64 * 1024)) {}
            client
        })
        .collect();
    assert_eq!(exchanges(&scene), CLIENTS);
    for client in clients {
        client.reset();
    }
    are_given_up(&scene, "tunnel");
}
