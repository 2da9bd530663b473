//! Bodies that trickle in: a client that sends a little now and then holds nothing that others
//! need, and its request still arrives.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use crate::exchanges::raw_client::RawClient;
use crate::limits::backend::Backend;
use crate::limits::other_proxies::Make;
use crate::limits::{CONNECTIONS, gate, gate_with, get, soon};
use crate::readings::h2::{Connection, DATA, END_STREAM, Frame};
use roundtrip_gate::config::Span;

pub(crate) const ORDINARY: usize = 20;
/// Requests are made in this many rounds, each after this many pieces of every upload.
const ROUNDS: usize = 10;
const PIECES: usize = 6;
/// Enough pieces for as long as the ordinary requests may take.
const ALL_PIECES: usize = 1000;

/// A slow upload.
#[derive(Debug, Clone, Copy)]
struct SlowUpload {
    clients: usize,
    chunked: bool,
    /// The bytes that are sent at once.
    begun: usize,
    /// The bytes that are then sent after each pause.
    piece: usize,
    pause: Duration,
}

/// 800 bytes a second.
const LAWFUL: SlowUpload = SlowUpload {
    clients: CONNECTIONS + 4,
    chunked: false,
    begun: 0,
    piece: 80,
    pause: Duration::from_millis(100),
};

impl SlowUpload {
    fn head(&self) -> String {
        let framing = if self.chunked {
            "Transfer-Encoding: chunked".to_owned()
        } else {
            format!("Content-Length: {}", self.whole())
        };
        format!("POST /upload HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n")
    }

    fn whole(&self) -> usize {
        self.begun + self.piece * (ALL_PIECES + 1)
    }

    fn piece(&self, length: usize) -> String {
        let text = "x".repeat(length);
        match (self.chunked, length) {
            (_, 0) => String::new(),
            (true, _) => format!("{length:x}\r\n{text}\r\n"),
            (false, _) => text,
        }
    }
}

/// Sends the next piece on all of them.
pub(crate) type Step<'a> = &'a mut (dyn FnMut() + Send);

/// The number of ordinary requests that are served while the uploads continue.
pub(crate) fn served_amid(address: SocketAddr, pause: Duration, step: Step<'_>) -> usize {
    let (round, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for piece in 0..ALL_PIECES {
                step();
                round.store(piece / PIECES, Ordering::SeqCst);
                if over.load(Ordering::SeqCst) {
                    return;
                }
                sleep(pause);
            }
        });
        let mut served = 0;
        for number in 1..=ROUNDS {
            while round.load(Ordering::SeqCst) < number {
                sleep(Duration::from_millis(5));
            }
            let asking: Vec<_> = (0..ORDINARY / ROUNDS)
                .map(|_| scope.spawn(move || get(address, "/quick") == 200))
                .collect();
            served += asking
                .into_iter()
                .filter(|_| true)
                .map(|asked| usize::from(asked.join().unwrap()))
                .sum::<usize>();
        }
        over.store(true, Ordering::SeqCst);
        served
    })
}

/// The number of ordinary requests that are served, and of uploads, which end afterwards.
fn through(address: SocketAddr, trickle: SlowUpload) -> (usize, usize) {
    let head = trickle.head();
    let mut clients: Vec<RawClient> = (0..trickle.clients)
        .map(|_| RawClient::to(address))
        .collect();
    for client in &mut clients {
        client.send(&format!("{head}{}", trickle.piece(trickle.begun)));
    }
    let mut sent = trickle.begun;
    let piece = trickle.piece(trickle.piece);
    let served = served_amid(address, trickle.pause, &mut || {
        sent += trickle.piece;
        for client in &mut clients {
            client.send(&piece);
        }
    });
    // One after the other: how many may end at once is not tested here.
    let rest =
        trickle.piece(trickle.whole() - sent) + if trickle.chunked { "0\r\n\r\n" } else { "" };
    let length = trickle.whole().to_string();
    let mut arrived = 0;
    for client in &mut clients {
        // It may already have been refused as too slow.
        client.send(&rest);
        let answer = client.answer();
        if answer.status() == 200 {
            assert_eq!(answer.whole(200).body, length);
            arrived += 1;
        }
    }
    (served, arrived)
}

/// Runs through all proxies at the same time, each with its own backend; gate's result comes first.
fn beside(trickle: SlowUpload, makes: &[Make]) -> Vec<(usize, usize)> {
    thread::scope(|scope| {
        let others: Vec<_> = makes
            .iter()
            .map(|make| {
                scope.spawn(move || {
                    let peer = make.start(Backend::start().at)?;
                    Some(through(peer.address, trickle))
                })
            })
            .collect();
        let scene = gate(Backend::start().at);
        let mut seen = vec![through(scene.gate().addresses().http[0], trickle)];
        seen.extend(others.into_iter().filter_map(|other| other.join().unwrap()));
        seen
    })
}

/// Gate serves every client, as the others do, and uploads that are fast enough arrive.
fn lawful(trickle: SlowUpload, makes: &[Make]) {
    let seen = beside(trickle, makes);
    println!("{trickle:?}: served, and uploads that arrived: gate, {makes:?}: {seen:?}");
    for (served, _) in &seen[1..] {
        assert_eq!(*served, ORDINARY, "the others do serve them: {seen:?}");
    }
    assert_eq!(seen[0], (ORDINARY, trickle.clients), "{seen:?}");
}

#[test]
fn uploads_that_trickle_in_hold_no_connection() {
    lawful(LAWFUL, &[Make::Nginx, Make::Haproxy]);
}

#[test]
fn uploads_in_chunks_that_trickle_in_hold_no_connection() {
    lawful(
        SlowUpload {
            chunked: true,
            ..LAWFUL
        },
        &[Make::Nginx, Make::Haproxy],
    );
}

/// More than a proxy would buffer comes at once, and the rest as slowly as allowed.
#[test]
fn uploads_that_begin_fast_and_then_trickle_hold_no_connection() {
    let trickle = SlowUpload {
        begun: 200_000,
        ..LAWFUL
    };
    let seen = beside(trickle, &[Make::Nginx]);
    println!("{trickle:?}: served, and uploads that arrived: gate, nginx: {seen:?}");
    assert!(
        seen.iter().all(|(served, _)| *served == ORDINARY),
        "{seen:?}"
    );
}

#[test]
fn a_byte_a_second_of_many_clients_holds_no_connection() {
    let trickle = SlowUpload {
        clients: 300,
        piece: 1,
        pause: Duration::from_millis(1000 / PIECES as u64),
        ..LAWFUL
    };
    let seen = beside(trickle, &[Make::Nginx, Make::Haproxy]);
    println!("{trickle:?}: served, and uploads that arrived: gate, nginx, HAProxy: {seen:?}");
    assert!(
        seen.iter().all(|(served, _)| *served == ORDINARY),
        "{seen:?}"
    );
}

/// On one connection, and on many.
#[test]
fn uploads_over_http_2_that_trickle_in_hold_no_connection() {
    for streams in [LAWFUL.clients, 1] {
        let scene = gate(Backend::start().at);
        let mut connections: Vec<(Connection, Vec<u32>)> = (0..LAWFUL.clients / streams)
            .map(|_| {
                let mut connection = Connection::open(&scene, &[]);
                let fields: [(&str, &[u8]); 4] = [
                    (":method", b"POST"),
                    (":scheme", b"https"),
                    (":authority", b"a"),
                    (":path", b"/upload"),
                ];
                let ids = (0..streams)
                    .map(|_| connection.ask(&fields, false))
                    .collect();
                (connection, ids)
            })
            .collect();
        let mut send = |flags| {
            for (connection, ids) in &mut connections {
                for id in ids {
                    connection.send(&Frame::new(DATA, flags, *id, &[b'x'; 80]));
                }
            }
        };
        let address = scene.gate().addresses().http[0];
        let served = served_amid(address, LAWFUL.pause, &mut || send(0));
        send(END_STREAM);
        let mut arrived = 0;
        for (connection, ids) in &mut connections {
            arrived += connection
                .statuses(ids)
                .iter()
                .filter(|status| **status == 200)
                .count();
        }
        assert_eq!(
            (served, arrived),
            (ORDINARY, LAWFUL.clients),
            "{streams} streams on each connection"
        );
    }
}

/// A body that has arrived, and one that ends soon, are passed on without waiting.
#[test]
fn a_body_that_is_whole_goes_on_at_once() {
    let backend = Backend::start();
    let scene = gate(backend.at);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    for length in [1, 80, 70_000, 1_000_000] {
        let text = "x".repeat(length);
        client.send(&format!(
            "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{text}"
        ));
        assert_eq!(client.answer().whole(200).body, length.to_string());
    }
    // A large body is not buffered until it is complete, nor is one that continues at the same
    // rate.
    let before = backend.uploads();
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n");
    client.send(&"x".repeat(8_000_000));
    assert!(soon(|| backend.uploads() > before));
    client.send(&"x".repeat(1_000_000));
    assert_eq!(client.answer().whole(200).body, "9000000");
}

/// Without reading ahead, a request waits for a connection before its body has arrived.
#[test]
fn a_body_may_go_on_from_its_beginning() {
    let backend = Backend::start();
    let scene = gate_with(backend.at, |config| {
        config.limits.body_ahead_time = Span::seconds(0);
        let upstream = config.upstream.get_mut("backend").unwrap();
        (upstream.connections, upstream.uploads) = (1, 1);
        upstream.connect = Span::seconds(1);
    });
    let address = scene.gate().addresses().http[0];
    let upload = "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx";
    let mut client = RawClient::to(address);
    client.send(upload);
    assert!(soon(|| backend.uploads() == 1));
    // The only connection is in use, so this one is refused although half of its body is missing.
    let mut other = RawClient::to(address);
    other.send(upload);
    assert_eq!(other.answer().status(), 503);
    let row = "requests_total{protocol=\"h1\",status=\"5xx\",outcome=\"pool_full\"} 1";
    assert!(soon(|| scene.admin("/metrics").1.contains(row)));
    client.send("x");
    assert_eq!(client.answer().whole(200).body, "2");
}
