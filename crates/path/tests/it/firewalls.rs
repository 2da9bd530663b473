//! Boxes that let some packets pass and drop others, and how the ends react.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use roundtrip_path::{Namespace, Path};

use crate::{addresses, eventually, lost_to, path_with, tcp};

const SHORT: Duration = Duration::from_millis(300);

/// Both ends of a connection over IPv4.
fn connection(path: &Path) -> (TcpListener, TcpStream, TcpStream) {
    let (listener, address) = tcp::listen(path).remove(0);
    let client = tcp::connect(path, address);
    let (server, _) = listener.accept().unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    (listener, client, server)
}

#[test]
fn datagrams_to_the_port_are_dropped_and_others_arrive() {
    let path = path_with(&["drop-udp:4443"]);
    let open = |side: &Namespace, address| side.run(|| UdpSocket::bind(address)).unwrap().unwrap();
    for (client, (closed, open_port)) in addresses(path.client(), 0).into_iter().zip(
        addresses(path.server(), 4443)
            .into_iter()
            .zip(addresses(path.server(), 4444)),
    ) {
        let client = open(path.client(), client);
        let (quic, other) = (open(path.server(), closed), open(path.server(), open_port));
        other
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        client.send_to(b"one", closed).unwrap();
        client.send_to(b"two", open_port).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(other.recv(&mut buffer).unwrap(), 3);
        // A datagram that was sent earlier would have arrived.
        quic.set_nonblocking(true).unwrap();
        assert_eq!(
            quic.recv(&mut buffer).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
    }
    assert_eq!(lost_to("drop-udp", &path.counters().up), 2);
}

#[test]
fn one_ip_version_is_dropped_and_the_other_works() {
    let path = path_with(&["drop-ipv6"]);
    let [(_v4, to_v4), (_v6, to_v6)] = tcp::listen(&path).try_into().unwrap();
    let connect = |to| {
        let attempt = path.client().run(|| TcpStream::connect_timeout(&to, SHORT));
        attempt.unwrap()
    };
    assert_eq!(connect(to_v6).unwrap_err().kind(), ErrorKind::TimedOut);
    tcp::connect(&path, to_v4);
    assert!(lost_to("drop-ipv6", &path.counters().up) >= 1);
}

#[test]
fn a_connection_that_was_idle_is_forgotten() {
    let path = path_with(&["idle-timeout:1s"]);
    let (listener, mut client, mut server) = connection(&path);
    client.write_all(b"a").unwrap();
    server.read_exact(&mut [0; 1]).unwrap();
    thread::sleep(Duration::from_millis(1300));
    client.write_all(b"b").unwrap();
    assert!(eventually(
        || lost_to("idle-timeout", &path.counters().up) >= 1
    ));
    server
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    assert_eq!(
        server.read(&mut [0; 1]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    // A new connection is not affected.
    let mut again = tcp::connect(&path, listener.local_addr().unwrap());
    again.write_all(b"c").unwrap();
    listener
        .accept()
        .unwrap()
        .0
        .read_exact(&mut [0; 1])
        .unwrap();
}

#[test]
fn an_idle_connection_is_reset_by_a_box_with_reset() {
    let path = path_with(&["idle-timeout:1s,reset"]);
    let (_listener, mut client, _server) = connection(&path);
    thread::sleep(Duration::from_millis(1300));
    client.write_all(b"b").unwrap();
    assert_eq!(
        client.read(&mut [0; 1]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
}

#[test]
fn a_policer_costs_packets_and_no_data() {
    let path = path_with(&["throttle:8mbit"]);
    let (_listener, mut client, mut server) = connection(&path);
    let sent = vec![7; 512 << 10];
    let mut received = vec![0; sent.len()];
    thread::scope(|scope| {
        scope.spawn(|| client.write_all(&sent).unwrap());
        server.read_exact(&mut received).unwrap();
    });
    assert!(received == sent);
    assert!(lost_to("throttle", &path.counters().up) > 0);
}

#[test]
fn a_connection_is_refused_in_the_servers_name() {
    let path = path_with(&["reset"]);
    for (listener, address) in tcp::listen(&path) {
        let refused = path.client().run(|| TcpStream::connect(address)).unwrap();
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    assert_eq!(path.counters().up.delivered, 0);
}

#[test]
fn both_ends_are_reset_once_data_flows() {
    let path = path_with(&["reset:data"]);
    let (_listener, mut client, mut server) = connection(&path);
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    for end in [&mut client, &mut server] {
        let reset = end.read(&mut [0; 1]).unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_hello_with_tls13_is_reset_and_one_without_is_not() {
    let path = path_with(&["reset:tls13"]);
    for (version, padding) in [(3, 0), (4, 0), (4, 2000)] {
        let (_listener, mut client, mut server) = connection(&path);
        let hello = client_hello(version, padding);
        client.write_all(&hello).unwrap();
        if version == 3 {
            server.read_exact(&mut vec![0; hello.len()]).unwrap();
        } else {
            let reset = client.read(&mut [0; 1]).unwrap_err();
            assert_eq!(reset.kind(), ErrorKind::ConnectionReset, "{padding}");
        }
    }
}

#[test]
fn a_hello_in_two_segments_hangs_and_one_that_fits_passes() {
    let path = path_with(&["drop-split-hello"]);
    let (_listener, mut client, mut server) = connection(&path);
    let hello = client_hello(4, 0);
    client.write_all(&hello).unwrap();
    server.read_exact(&mut vec![0; hello.len()]).unwrap();

    let (_listener, mut client, mut server) = connection(&path);
    let hello = client_hello(4, 2000);
    client.write_all(&hello).unwrap();
    // The segment is sent again, and dropped again.
    assert!(eventually(|| lost_to(
        "drop-split-hello",
        &path.counters().up
    ) >= 2));
    let mut came = Vec::new();
    server
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let ended = server.read_to_end(&mut came).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::WouldBlock);
    assert!(!came.is_empty() && came.len() < 1460 && hello.starts_with(&came));
}

/// The shortest ClientHello that offers TLS 1.`minor − 1`, with padding (RFC 8446 §4.1.2, RFC
/// 7685).
fn client_hello(minor: u8, padding: u16) -> Vec<u8> {
    let prefixed = |bytes: Vec<u8>| [&(bytes.len() as u16).to_be_bytes()[..], &bytes].concat();
    let padded = prefixed(vec![0; padding.into()]);
    let extensions = [&[0, 43, 0, 3, 2, 3, minor, 0, 21][..], &padded].concat();
    let mut body = vec![3; 34];
    body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
    body.extend(prefixed(extensions));
    let message = [&[1, 0][..], &prefixed(body)].concat();
    [&[22, 3, 1][..], &prefixed(message)].concat()
}
