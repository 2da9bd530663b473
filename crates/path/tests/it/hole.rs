//! A link with a smaller MTU than the ends know: how Linux reacts to its reports, and to silence.

use std::io::{ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use roundtrip_path::{Namespace, Path};

use crate::{addresses, eventually, kernel, lost_to, tcp};

const LENGTH: usize = 100_000;

fn path(words: &[(&str, &str)]) -> Path {
    let mut builder = Path::builder();
    builder.set("rtt", "10ms").unwrap();
    for (word, value) in words {
        builder.set(word, value).unwrap();
    }
    builder.build().unwrap()
}

/// Sends from the client to the server over both IP versions, and returns the path MTU that the
/// client has learnt.
fn learnt(path: &Path) -> Vec<u32> {
    let send = |(listener, address): (std::net::TcpListener, _)| {
        let mut client = tcp::connect(path, address);
        let (mut server, _) = listener.accept().unwrap();
        let mut received = vec![0; LENGTH];
        thread::scope(|scope| {
            scope.spawn(|| client.write_all(&vec![7; LENGTH]).unwrap());
            server.read_exact(&mut received).unwrap();
        });
        kernel::tcp_info(&client).tcpi_pmtu
    };
    tcp::listen(path).into_iter().map(send).collect()
}

#[test]
fn a_notified_sender_sends_smaller_packets() {
    let path = path(&[("hole", "up:1400")]);
    assert_eq!(learnt(&path), [1400, 1400]);
    assert!(lost_to("over the MTU", &path.counters().up) >= 2);
}

#[test]
fn a_sender_notified_through_a_nat_does_too() {
    let path = path(&[("middlebox", "nat"), ("then", "hole=up:1400")]);
    assert_eq!(learnt(&path), [1400, 1400]);
}

#[test]
fn silence_and_a_dropped_report_are_black_holes() {
    for words in [
        &[("hole", "up:1400,silent")][..],
        &[("hole", "up:1400"), ("middlebox", "drop-icmp")],
    ] {
        let path = path(words);
        for (listener, address) in tcp::listen(&path) {
            let mut client = tcp::connect(&path, address);
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(b"small").unwrap();
            server.read_exact(&mut [0; 5]).unwrap();
            let lost = || lost_to("over the MTU", &path.counters().up);
            let before = lost();
            client.write_all(&[7; 1448]).unwrap();
            assert!(eventually(|| lost() >= before + 2), "{words:?}");
            assert_eq!(kernel::tcp_info(&client).tcpi_pmtu, 1500);
            server.set_nonblocking(true).unwrap();
            // Data that arrived behind the gap does not fill it.
            let nothing = server.read(&mut [0; 1]).unwrap_err();
            assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        }
        let swallowed = lost_to("drop-icmp", &path.counters().down);
        assert_eq!(swallowed > 0, words.len() > 1);
    }
}

#[test]
fn fragmentable_packets_arrive_whole() {
    let path = path(&[("hole", "up:1400,silent")]);
    let open = |side: &Namespace| {
        let address = addresses(side, 0)[0];
        side.run(|| UdpSocket::bind(address)).unwrap().unwrap()
    };
    let (client, server) = (open(path.client()), open(path.server()));
    kernel::allow_fragments(&client);
    server
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    client
        .send_to(&[7; 1472], server.local_addr().unwrap())
        .unwrap();
    let mut buffer = [0; 2000];
    assert_eq!(server.recv(&mut buffer).unwrap(), 1472);
    let up = path.counters().up;
    assert_eq!((up.packets, up.delivered, up.dropped), (1, 2, 0));
}
