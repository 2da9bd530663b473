//! Datagrams: how long they take, how large ones are handled, and how the relay counts them.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use roundtrip_path::{Namespace, Path};

use crate::{addresses, kernel, ratio};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Two sockets with a time limit.
fn sockets(path: &Path, client: SocketAddr, server: SocketAddr) -> (UdpSocket, UdpSocket) {
    let open = |side: &Namespace, address: SocketAddr| {
        let socket = side.run(|| UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket
    };
    let (client, server) = (open(path.client(), client), open(path.server(), server));
    client.connect(server.local_addr().unwrap()).unwrap();
    (client, server)
}

/// Sockets of both sides, in IPv4 and in IPv6.
fn pairs(path: &Path) -> Vec<(UdpSocket, UdpSocket)> {
    let ends = addresses(path.client(), 0)
        .into_iter()
        .zip(addresses(path.server(), 0));
    ends.map(|(client, server)| sockets(path, client, server))
        .collect()
}

/// Measures a datagram there and back, and returns the time of each direction.
fn echo(client: &UdpSocket, server: &UdpSocket, payload: &[u8]) -> [Duration; 2] {
    let mut buffer = vec![0; 65_536];
    let start = Instant::now();
    client.send(payload).unwrap();
    let (length, from) = server.recv_from(&mut buffer).unwrap();
    let up = start.elapsed();
    assert_eq!(buffer[..length], *payload);
    let start = Instant::now();
    server.send_to(payload, from).unwrap();
    let length = client.recv(&mut buffer).unwrap();
    assert_eq!(buffer[..length], *payload);
    [up, start.elapsed()]
}

#[test]
fn a_datagram_takes_the_configured_round_trip() {
    let rtt = Duration::from_millis(30);
    let path = Path::builder().rtt(rtt).build().unwrap();
    for (client, server) in pairs(&path) {
        let trips = (0..10).map(|_| echo(&client, &server, b"ping").iter().sum());
        let fastest: Duration = trips.min().unwrap();
        assert!((1.0..1.5).contains(&ratio(fastest, rtt)), "{fastest:?}");
    }
}

#[test]
fn each_direction_has_its_own_delay() {
    let (up, down) = (Duration::from_millis(40), Duration::from_millis(10));
    let path = Path::builder().delay(up, down).build().unwrap();
    let (client, server) = pairs(&path).remove(0);
    let trips: Vec<_> = (0..10).map(|_| echo(&client, &server, b"ping")).collect();
    for (way, asked) in [up, down].into_iter().enumerate() {
        let fastest = trips.iter().map(|trip| trip[way]).min().unwrap();
        assert!(
            (1.0..2.0).contains(&ratio(fastest, asked)),
            "{fastest:?} for {asked:?}"
        );
    }
}

#[test]
fn counters_count_every_packet_and_nothing_else() {
    let path = Path::builder().build().unwrap();
    for (client, server) in pairs(&path) {
        for _ in 0..5 {
            echo(&client, &server, &[7; 100]);
        }
    }
    let counters = path.counters();
    for tally in [&counters.up, &counters.down] {
        assert_eq!((tally.packets, tally.dropped, tally.missed), (10, 0, 0));
        assert_eq!(tally.bytes, 5 * (20 + 8 + 100) + 5 * (40 + 8 + 100));
        assert!(
            tally.lateness.p50 <= tally.lateness.p99 && tally.lateness.p99 <= tally.lateness.max
        );
        assert!(tally.lateness.max > Duration::ZERO);
    }
}

#[test]
fn a_datagram_over_the_mtu_crosses_in_fragments() {
    let path = Path::builder().build().unwrap();
    for (client, server) in pairs(&path) {
        echo(&client, &server, &vec![42; 8000]);
    }
    assert!(path.counters().up.packets >= 2 * 6);
    assert_eq!(path.counters().up.oversized, 0);
}

#[test]
fn a_segmented_send_crosses_as_datagrams() {
    let path = Path::builder().build().unwrap();
    let mut buffer = [0; 2000];
    for (client, server) in pairs(&path) {
        kernel::segment(&client, 1200);
        client.send(&[9; 12_000]).unwrap();
        for _ in 0..10 {
            let received = server.recv(&mut buffer);
            assert_eq!(received.ok(), Some(1200), "{:?}", path.counters());
        }
    }
    assert_eq!(
        (path.counters().up.packets, path.counters().up.oversized),
        (20, 0)
    );
    for name in ["InErrors", "InCsumErrors"] {
        assert_eq!(
            path.server().run(|| kernel::counter("Udp", name)).unwrap(),
            0,
            "{name}"
        );
    }
}
