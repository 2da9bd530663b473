//! Answers that are read slowly: they may hold connections to the backend, but not those that others
//! wait for.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use roundtrip_gate::config::Span;
use socket2::{Domain, Socket, Type};

use crate::exchanges::raw_client::RawClient;
use crate::lifecycle::scene::Scene;
use crate::limits::backend::Backend;
use crate::limits::uploads::{ORDINARY, served_amid};
use crate::limits::{CONNECTIONS, gate_with};

/// More than the buffers between gate and a client hold.
const SIZE: usize = 4_000_000;
/// 800 bytes a second.
const PIECE: usize = 80;
const PAUSE: Duration = Duration::from_millis(100);

fn scene(backend: &Backend) -> Scene {
    gate_with(backend.at, |config| {
        let upstream = config.upstream.get_mut("backend").unwrap();
        // Longer than it takes to see who is slow.
        upstream.connect = Span::seconds(15);
    })
}

/// A client with small buffers, so that its reading sets the pace.
fn slow_client(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    let mut client = RawClient::new(socket.into());
    client.send(&format!("GET /large/{SIZE} HTTP/1.1\r\nHost: a\r\n\r\n"));
    std::sync::Arc::into_inner(client.stream).unwrap()
}

/// The ordinary requests that are served while this many clients read slowly, and the slow answers
/// that arrive whole in the end.
fn beside_slow_readers(clients: usize) -> (usize, usize) {
    let backend = Backend::start();
    let scene = scene(&backend);
    let address = scene.gate().addresses().http[0];
    let mut slow: Vec<(TcpStream, usize)> =
        (0..clients).map(|_| (slow_client(address), 0)).collect();
    let served = served_amid(address, PAUSE, &mut || {
        for (stream, read) in &mut slow {
            stream.set_nonblocking(true).unwrap();
            *read += stream.read(&mut [0; PIECE]).unwrap_or(0);
        }
    });
    let whole = slow.into_iter().map(|(mut stream, mut read)| {
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
    (served, whole.sum())
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
