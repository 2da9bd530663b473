//! Clients that request work and leave: the backend notices it, and the next client is served even
//! if the work continues.

use std::io::Write;

use crate::exchanges::raw_client::RawClient;
use crate::lifecycle::scene::Scene;
use crate::limits::backend::Backend;
use crate::limits::other_proxies::Make;
use crate::limits::{CONNECTIONS, OF_ONE_CLIENT, exchanges, gate, get, soon};
use crate::readings::h2::{self, Connection, Frame, RST_STREAM};
use roundtrip_gate::config::Span;

const GET: &str = "GET /work HTTP/1.1\r\nHost: a\r\n\r\n";
const COUNTED: &str = "POST /work HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
const CHUNKED: &str =
    "POST /work HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
const CANCEL: [u8; 4] = [0, 0, 0, 8];

/// As many clients as there are connections send requests, and are then dropped.
fn leave<C>(name: &str, backend: &Backend, mut ask: impl FnMut() -> C, leave: impl FnOnce(Vec<C>)) {
    let clients: Vec<C> = (0..OF_ONE_CLIENT).map(|_| ask()).collect();
    assert!(
        soon(|| backend.working() == OF_ONE_CLIENT),
        "{name}: {} are at work",
        backend.working()
    );
    leave(clients);
    let left = soon(|| backend.working() == 0);
    assert!(
        left,
        "{name}: the backend still works for {}",
        backend.working()
    );
}

/// Each group uses all connections: there is room for the next only when it has left.
fn leave_gate(name: &str, ask: impl Fn(&Scene) -> Vec<Box<dyn Send>>) {
    let backend = Backend::start();
    let scene = gate(backend.at);
    for round in 1..=2 {
        let clients = ask(&scene);
        assert!(
            soon(|| backend.working() == OF_ONE_CLIENT),
            "{name}: {} are at work",
            backend.working()
        );
        drop(clients);
        let left = soon(|| backend.working() == 0);
        assert!(
            left,
            "{name}: the backend still works for {}",
            backend.working()
        );
        assert_eq!(
            get(scene.gate().addresses().http[0], "/quick"),
            200,
            "{name}"
        );
        assert_eq!(
            backend.asked(),
            round * OF_ONE_CLIENT,
            "{name}: nothing is asked twice"
        );
    }
}

fn speaking(scene: &Scene, text: &str) -> Vec<Box<dyn Send>> {
    let each = |_| {
        let mut client = RawClient::to(scene.gate().addresses().http[0]);
        client.send(text);
        Box::new(client) as Box<dyn Send>
    };
    (0..OF_ONE_CLIENT).map(each).collect()
}

#[test]
fn a_client_without_a_body_that_leaves() {
    leave_gate("GET", |scene| speaking(scene, GET));
}

#[test]
fn a_client_that_leaves_behind_a_counted_body() {
    leave_gate("Content-Length", |scene| speaking(scene, COUNTED));
}

#[test]
fn a_client_that_leaves_behind_a_chunked_body() {
    leave_gate("chunked", |scene| speaking(scene, CHUNKED));
}

/// The client has sent its next request and then left.
#[test]
fn a_client_that_leaves_behind_its_next_request() {
    leave_gate("pipelined", |scene| speaking(scene, &format!("{GET}{GET}")));
}

/// More of them than gate reads ahead.
#[test]
fn a_client_that_leaves_behind_many_requests() {
    leave_gate("pipelined", |scene| speaking(scene, &GET.repeat(1000)));
}

#[test]
fn a_client_that_leaves_with_a_reset() {
    struct Resetting(Option<RawClient>);
    impl Drop for Resetting {
        fn drop(&mut self) {
            self.0.take().unwrap().reset();
        }
    }
    leave_gate("reset", |scene| {
        let each = |_| {
            let mut client = RawClient::to(scene.gate().addresses().http[0]);
            client.send(GET);
            Box::new(Resetting(Some(client))) as Box<dyn Send>
        };
        (0..OF_ONE_CLIENT).map(each).collect()
    });
}

/// The client leaves with close_notify, and without it.
#[test]
fn a_client_over_tls_that_leaves() {
    struct Ending(h2::Tls, bool);
    impl Drop for Ending {
        fn drop(&mut self) {
            if self.1 {
                self.0.conn.send_close_notify();
                let _ = self.0.flush();
            }
        }
    }
    for (text, orderly) in [(GET, true), (GET, false), (COUNTED, true), (COUNTED, false)] {
        leave_gate(&format!("TLS {orderly}"), |scene| {
            let each = |_| {
                let mut client = h2::tls(scene, &[]);
                client.write_all(text.as_bytes()).unwrap();
                client.flush().unwrap();
                Box::new(Ending(client, orderly)) as Box<dyn Send>
            };
            (0..OF_ONE_CLIENT).map(each).collect()
        });
    }
}

fn work(connection: &mut Connection) -> u32 {
    let fields: [(&str, &[u8]); 4] = [
        (":method", b"GET"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", b"/work"),
    ];
    connection.ask(&fields, true)
}

#[test]
fn a_stream_of_http_2_that_is_reset() {
    let backend = Backend::start();
    let scene = gate(backend.at);
    let mut connection = Connection::open(&scene, &[]);
    let mut ids = Vec::new();
    for _ in 0..OF_ONE_CLIENT {
        ids.push(work(&mut connection));
    }
    assert!(soon(|| backend.working() == OF_ONE_CLIENT));
    for id in ids {
        connection.send(&Frame::new(RST_STREAM, 0, id, &CANCEL));
    }
    assert!(
        soon(|| backend.working() == 0),
        "the backend still works for {}",
        backend.working()
    );
    assert_eq!(get(scene.gate().addresses().http[0], "/quick"), 200);
    // Closing the whole connection cancels them as well.
    for _ in 0..OF_ONE_CLIENT {
        work(&mut connection);
    }
    assert!(soon(|| backend.working() == OF_ONE_CLIENT));
    drop(connection);
    assert!(
        soon(|| backend.working() == 0),
        "the backend still works for {}",
        backend.working()
    );
    assert_eq!(get(scene.gate().addresses().http[0], "/quick"), 200);
}

/// As many streams on one HTTP/2 connection, which are reset one by one.
fn streams(scene: &Scene) -> Box<dyn Send> {
    struct Resetting(Connection, Vec<u32>);
    impl Drop for Resetting {
        fn drop(&mut self) {
            for id in &self.1 {
                self.0.send(&Frame::new(RST_STREAM, 0, *id, &CANCEL));
            }
        }
    }
    let mut connection = Connection::open(scene, &[]);
    let ids = (0..OF_ONE_CLIENT).map(|_| work(&mut connection)).collect();
    Box::new(Resetting(connection, ids))
}

/// A client that leaves while it waits for a connection never reaches the backend.
#[test]
fn a_request_that_leaves_the_queue_is_not_passed_on() {
    for text in [GET, COUNTED, CHUNKED, ""] {
        let backend = Backend::start();
        let scene = Scene::tuned(backend.at, "", |config| {
            config.listen.threads = 1;
            config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
            config.route[0].auth = false;
            let upstream = config.upstream.get_mut("backend").unwrap();
            upstream.connections = CONNECTIONS;
            upstream.connect = Span::seconds(60);
        });
        let staying = speaking(&scene, GET);
        assert!(soon(|| backend.working() == OF_ONE_CLIENT));
        let leaving = match text {
            "" => vec![streams(&scene)],
            text => speaking(&scene, text),
        };
        assert!(
            soon(|| exchanges(&scene) == 2 * OF_ONE_CLIENT),
            "{} exchanges",
            exchanges(&scene)
        );
        drop(leaving);
        let left = soon(|| exchanges(&scene) == OF_ONE_CLIENT);
        assert!(left, "gate still has {} exchanges", exchanges(&scene));
        backend.release();
        assert_eq!(get(scene.gate().addresses().http[0], "/quick"), 200);
        assert_eq!(
            backend.asked(),
            OF_ONE_CLIENT,
            "nobody waits for the answer"
        );
        drop(staying);
    }
}

/// The same backend notices it behind the other proxies.
#[test]
fn others_tell_the_backend_that_a_client_has_left() {
    for make in [Make::Nginx, Make::Haproxy] {
        for text in [GET, COUNTED, CHUNKED] {
            let backend = Backend::start();
            let Some(peer) = make.start(backend.at) else {
                continue;
            };
            let ask = || {
                let mut client = RawClient::to(peer.address);
                client.send(text);
                client
            };
            leave(&format!("{make:?}"), &backend, ask, drop);
            assert_eq!(get(peer.address, "/quick"), 200);
        }
    }
}
