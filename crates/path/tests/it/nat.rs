//! Through a NAT with many addresses: connections, datagrams, errors, and cookies that are not
//! valid for the next address.

use std::io::{ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::time::Duration;

use roundtrip_path::Namespace;

use crate::{addresses, fast_open, kernel, path_with, tcp};

#[test]
fn each_connection_comes_from_another_address() {
    let path = path_with(&["nat"]);
    for (listener, address) in tcp::listen(&path) {
        let mut seen = Vec::new();
        for _ in 0..3 {
            let mut client = tcp::connect(&path, address);
            let (mut server, peer) = listener.accept().unwrap();
            assert_ne!(peer.port(), client.local_addr().unwrap().port());
            seen.push(peer.ip());
            client.write_all(b"there").unwrap();
            server.read_exact(&mut [0; 5]).unwrap();
            server.write_all(b"back").unwrap();
            client.read_exact(&mut [0; 4]).unwrap();
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 3);
    }
    for name in ["InErrs", "InCsumErrors"] {
        for side in [path.client(), path.server()] {
            assert_eq!(side.run(|| kernel::counter("Tcp", name)).unwrap(), 0);
        }
    }
}

#[test]
fn a_cookie_does_not_hold_for_the_next_address() {
    let path = path_with(&["nat"]);
    let (listener, address) = fast_open::warm_up(&path);
    let client = fast_open::greet(&path, &listener, address);
    assert!(fast_open::settled(&client));
    assert!(!kernel::was_syn_data_acknowledged(&client));
    // The data with the invalid cookie was sent once more, and no SYN was lost.
    assert_eq!(path.counters().up.dropped, 0);
}

#[test]
fn datagrams_and_errors_about_them_come_back() {
    let path = path_with(&["nat"]);
    let open = |side: &Namespace, address| side.run(|| UdpSocket::bind(address)).unwrap().unwrap();
    for (here, there) in addresses(path.client(), 0)
        .into_iter()
        .zip(addresses(path.server(), 0))
    {
        let (client, server) = (open(path.client(), here), open(path.server(), there));
        let address = server.local_addr().unwrap();
        for socket in [&client, &server] {
            socket
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
        }
        client.connect(address).unwrap();
        // The same in fragments.
        for length in [100, 5000] {
            client.send(&vec![7; length]).unwrap();
            let mut buffer = [0; 8000];
            let (came, peer) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(came, length);
            assert_ne!(peer.ip(), here.ip());
            server.send_to(&vec![8; length], peer).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), length);
        }
        // Nothing listens on this port any more.
        drop(server);
        client.send(b"anyone?").unwrap();
        let error = client.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
}
