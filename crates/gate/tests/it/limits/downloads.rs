//! Answers that are read slowly: they may hold connections to the backend, but not those that
//! others wait for.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use roundtrip_gate::config::{Bytes, Config, Span};
use socket2::{Domain, Socket, Type};

use crate::exchanges::raw_client::RawClient;
use crate::lifecycle::scene::Scene;
use crate::limits::backend::Backend;
use crate::limits::uploads::{ORDINARY, served_amid};
use crate::limits::{CONNECTIONS, exchanges, gate_with, get, soon};
use crate::readings::h2::{Connection, DATA, END_STREAM, Frame, HEADERS, NO_WINDOW, WINDOW_UPDATE};

/// Larger than the buffers between gate and a client.
const SIZE: usize = 4_000_000;
/// 800 bytes a second.
const PIECE: usize = 80;
const PAUSE: Duration = Duration::from_millis(100);

fn scene(backend: &Backend) -> Scene {
    scene_with(backend, |_| {})
}

fn scene_with(backend: &Backend, more: impl FnOnce(&mut Config)) -> Scene {
    gate_with(backend.at, |config| {
        let upstream = config.upstream.get_mut("backend").unwrap();
        // Longer than gate needs to detect a slow client.
        upstream.connect = Span::seconds(15);
        more(config);
    })
}

/// A client with small buffers, so that its reading sets the pace.
fn slow_client(number: usize, address: SocketAddr) -> TcpStream {
    client_with(number, address, 4096, SIZE)
}

/// Each client has a different address, because a single client does not get all connections.
fn client_with(
    number: usize,
    address: SocketAddr,
    receive_buffer: usize,
    size: usize,
) -> TcpStream {
    let client = [127, 0, 1, 1 + number as u8];
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(receive_buffer).unwrap();
    socket.bind(&SocketAddr::from((client, 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let mut client = RawClient::new(socket.into());
    client.send(&format!("GET /large/{size} HTTP/1.1\r\nHost: a\r\n\r\n"));
    std::sync::Arc::into_inner(client.stream).unwrap()
}

/// The ordinary requests that are served while this many clients read slowly, and the slow answers
/// that arrive whole in the end.
fn beside_slow_readers(clients: usize) -> (usize, usize) {
    let backend = Backend::start();
    let scene = scene(&backend);
    let address = scene.gate().addresses().http[0];
    let mut slow = slow_clients(address, clients);
    let served = served_amid(address, PAUSE, &mut || read_on(&mut slow));
    (served, whole(slow))
}

/// Clients, and what they have read.
type SlowClients = Vec<(TcpStream, usize)>;

fn slow_clients(address: SocketAddr, clients: usize) -> SlowClients {
    (0..clients).map(|n| (slow_client(n, address), 0)).collect()
}

/// Each reads a piece.
fn read_on(clients: &mut SlowClients) {
    for (stream, read) in clients {
        stream.set_nonblocking(true).unwrap();
        *read += stream.read(&mut [0; PIECE]).unwrap_or(0);
    }
}

/// Reads the rest; returns how many answers arrive whole.
fn whole(clients: SlowClients) -> usize {
    let each = clients.into_iter().map(|(mut stream, mut read)| {
        stream.set_nonblocking(false).unwrap();
        let mut piece = vec![0; 65_536];
        while let Ok(more @ 1..) = stream.read(&mut piece) {
            read += more;
            if read >= SIZE {
                return 1;
            }
        }
        0
    });
    each.sum()
}

#[test]
fn answers_that_are_read_slowly_hold_half_of_the_connections() {
    let (served, whole) = beside_slow_readers(CONNECTIONS / 2);
    assert_eq!((served, whole), (ORDINARY, CONNECTIONS / 2));
}

#[test]
fn answers_that_are_read_slowly_give_way_when_others_wait() {
    let (served, whole) = beside_slow_readers(CONNECTIONS + 4);
    assert_eq!(served, ORDINARY);
    assert!(whole >= CONNECTIONS / 2, "{whole} arrived");
}

/// The kernel's buffers do not hide how fast a client reads.
#[test]
fn a_client_that_reads_fast_enough_does_not_count_as_slow() {
    const FAST_PIECE: usize = 40_000;
    let backend = Backend::start();
    let scene = scene(&backend);
    let address = scene.gate().addresses().http[0];
    let mut readers: Vec<_> = (0..CONNECTIONS)
        .map(|n| (client_with(n, address, 65_536, SIZE), 0))
        .collect();
    let waiting = std::thread::spawn(move || get(address, "/quick"));
    let mut piece = vec![0; FAST_PIECE];
    // Ten times as fast as they must.
    for _ in 0..24 {
        std::thread::sleep(Duration::from_millis(250));
        for (stream, read) in &mut readers {
            stream.read_exact(&mut piece).unwrap();
            *read += FAST_PIECE;
        }
    }
    let mut whole = 0;
    for (stream, read) in &mut readers {
        while let Ok(more @ 1..) = stream.read(&mut piece) {
            *read += more;
            if *read >= SIZE {
                whole += 1;
                break;
            }
        }
    }
    assert_eq!(whole, CONNECTIONS);
    assert_eq!(waiting.join().unwrap(), 200);
}

/// Large answers fill the kernel's buffers, which take more only when much of it has been sent:
/// seldom, for these clients.
#[test]
fn a_client_that_reads_a_large_answer_fast_enough_does_not_count_as_slow() {
    const LARGE: usize = 64_000_000;
    /// Bytes a second.
    const PACE: usize = 75_000;
    let backend = Backend::start();
    let scene = scene_with(&backend, |config| config.limits.read_rate = Bytes(1024));
    let address = scene.gate().addresses().http[0];
    let reader = |n| client_with(n, address, 200_000, LARGE);
    let mut readers: Vec<_> = (0..CONNECTIONS).map(reader).collect();
    // On a busy machine some begin late; nobody waits for a connection yet.
    let mut piece = vec![0; 1_000_000];
    for stream in &mut readers {
        stream.read_exact(&mut piece).unwrap();
        stream.set_nonblocking(true).unwrap();
    }
    let waiting = std::thread::spawn(move || get(address, "/quick"));
    let mut last = Instant::now();
    piece.resize(LARGE, 0);
    // Until the last request gives up.
    while !waiting.is_finished() {
        std::thread::sleep(PAUSE);
        // A thread that runs late reads more.
        let due = last.elapsed().as_millis() as usize * PACE / 1000;
        last = Instant::now();
        for stream in &mut readers {
            match stream.read(&mut piece[..due]) {
                Ok(read) => assert!(read > 0, "its answer was cut"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    }
    assert_eq!(waiting.join().unwrap(), 503);
}

/// It reads fast enough, and keeps as many connections as it gets.
#[test]
fn the_downloads_of_one_client_leave_connections_to_others() {
    const LARGE: usize = 64_000_000;
    let backend = Backend::start();
    let scene = scene(&backend);
    let address = scene.gate().addresses().http[0];
    let reader = |_| client_with(0, address, 65_536, LARGE);
    let readers: Vec<_> = (0..2 * CONNECTIONS).map(reader).collect();
    assert!(soon(|| exchanges(&scene) == 2 * CONNECTIONS));
    for _ in 0..ORDINARY {
        assert_eq!(get(address, "/quick"), 200);
    }
    drop(readers);
}

/// Small answers wait in gate, not in a connection to the backend.
#[test]
fn answers_that_are_not_read_hold_no_connection() {
    let backend = Backend::start();
    let scene = scene(&backend);
    let mut client = Connection::open(&scene, &NO_WINDOW);
    let fields: [(&str, &[u8]); 4] = [
        (":method", b"GET"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", b"/quick"),
    ];
    let ids: Vec<u32> = (0..2 * CONNECTIONS)
        .map(|_| client.ask(&fields, true))
        .collect();
    for _ in &ids {
        client.await_frame(|frame| frame.kind == HEADERS);
    }
    let address = scene.gate().addresses().http[0];
    for _ in 0..ORDINARY {
        assert_eq!(get(address, "/quick"), 200);
    }
    // They arrive when there is a window.
    for id in &ids {
        client.send(&Frame::new(WINDOW_UPDATE, 0, *id, &[0, 0, 1, 0]));
    }
    for _ in &ids {
        client.await_frame(|frame| frame.kind == DATA && frame.flags & END_STREAM != 0);
    }
}

/// Both kinds of slowness together leave connections to others.
#[test]
fn slow_readers_and_slow_senders_leave_connections_to_others() {
    let backend = Backend::start();
    let scene = scene(&backend);
    let address = scene.gate().addresses().http[0];
    let head = format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n");
    let mut senders: Vec<RawClient> = (0..CONNECTIONS)
        .map(|_| {
            let mut client = RawClient::to(address);
            client.send(&head);
            client
        })
        .collect();
    let reader = |n| slow_client(n, address);
    let readers: Vec<TcpStream> = (0..CONNECTIONS).map(reader).collect();
    let served = served_amid(address, PAUSE, &mut || {
        for client in &mut senders {
            client.send(&"x".repeat(PIECE));
        }
        for mut stream in &readers {
            stream.set_nonblocking(true).unwrap();
            let _ = stream.read(&mut [0; PIECE]);
        }
    });
    assert_eq!(served, ORDINARY);
}

/// Others are told that all connections are busy.
#[test]
fn without_a_minimum_rate_slow_readers_never_give_way() {
    let backend = Backend::start();
    let scene = scene_with(&backend, |config| config.limits.read_rate = Bytes(0));
    let address = scene.gate().addresses().http[0];
    let mut slow = slow_clients(address, CONNECTIONS);
    assert!(soon(|| exchanges(&scene) == CONNECTIONS));
    let status = std::thread::scope(|scope| {
        let asking = scope.spawn(|| get(address, "/quick"));
        while !asking.is_finished() {
            read_on(&mut slow);
            std::thread::sleep(PAUSE);
        }
        asking.join().unwrap()
    });
    assert_eq!((status, whole(slow)), (503, CONNECTIONS));
}
