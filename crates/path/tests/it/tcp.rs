//! Connections: one round trip to open, segments of the path's MTU, valid checksums.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use roundtrip_path::Path;

use crate::{addresses, kernel, ratio};

/// Listeners of the server side, in IPv4 and in IPv6.
pub(crate) fn listen(path: &Path) -> Vec<(TcpListener, SocketAddr)> {
    let open = |address: SocketAddr| {
        let listener = path
            .server()
            .run(|| TcpListener::bind(address))
            .unwrap()
            .unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    };
    addresses(path.server(), 0).into_iter().map(open).collect()
}

pub(crate) fn connect(path: &Path, to: SocketAddr) -> TcpStream {
    let stream = path
        .client()
        .run(|| TcpStream::connect(to))
        .unwrap()
        .unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    stream
}

#[test]
fn connecting_takes_one_round_trip_and_the_kernel_agrees() {
    let rtt = Duration::from_millis(40);
    let path = Path::builder().rtt(rtt).build().unwrap();
    for (_listener, address) in listen(&path) {
        let attempts = (0..5).map(|_| {
            let start = Instant::now();
            let stream = connect(&path, address);
            let took = start.elapsed();
            let measured = kernel::tcp_info(&stream).tcpi_rtt;
            (took, Duration::from_micros(measured.into()))
        });
        let (took, measured) = attempts.min().unwrap();
        assert!(
            (1.0..1.5).contains(&ratio(took, rtt)),
            "connect took {took:?}"
        );
        assert!(
            (0.99..1.5).contains(&ratio(measured, rtt)),
            "tcpi_rtt says {measured:?}"
        );
    }
}

#[test]
fn a_bulk_transfer_arrives_whole_in_real_segments() {
    const LENGTH: usize = 4 << 20;
    let sent: Vec<u8> = (0..LENGTH).map(|index| (index % 251) as u8).collect();
    let path = Path::builder()
        .rtt(Duration::from_millis(2))
        .build()
        .unwrap();
    for (listener, address) in listen(&path) {
        let mut client = connect(&path, address);
        let (mut server, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| server.write_all(&sent).map(|()| drop(server)).unwrap());
            client.read_to_end(&mut received).unwrap();
        });
        assert!(received == sent, "{address}: the received data differs");
    }
    let down = path.counters().down;
    assert!(down.packets as usize > 2 * LENGTH / 1500);
    assert_eq!((down.oversized, down.missed), (0, 0));
    for name in ["InErrs", "InCsumErrors"] {
        assert_eq!(
            path.client().run(|| kernel::counter("Tcp", name)).unwrap(),
            0,
            "{name}"
        );
    }
}

#[test]
fn the_mtu_decides_the_segment_size() {
    let path = Path::builder().mtu(1280).build().unwrap();
    // IP, TCP, and the time stamps that Linux adds (RFC 7323).
    for ((_listener, address), headers) in
        listen(&path).into_iter().zip([20 + 20 + 12, 40 + 20 + 12])
    {
        let stream = connect(&path, address);
        assert_eq!(kernel::tcp_info(&stream).tcpi_snd_mss, 1280 - headers);
    }
}
