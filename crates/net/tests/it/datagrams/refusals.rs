//! Refusals of the kernel, and errors from ICMP.

use std::io::ErrorKind;
use std::net::{Ipv6Addr, UdpSocket};
use std::thread;

use roundtrip_net::datagrams::{
    Datagrams, MAX_PARCEL_BYTES, MAX_SEGMENTS, ReceiveBuffers, is_too_long,
};

use crate::datagrams::{LOOPBACKS, bind, kernel, parcel, receive};

#[test]
fn without_segmentation_datagrams_leave_one_by_one() {
    let (client, server) = (bind(LOOPBACKS[0]), bind(LOOPBACKS[0]));
    // The kernel does not segment datagrams without a checksum.
    kernel::set(&client, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1);
    assert_eq!(client.segments(), MAX_SEGMENTS);
    client.send(&parcel(&server, 3, b"onetwothree")).unwrap();
    assert_eq!(client.segments(), 1);
    assert_eq!(client.calls().sends, 1 + 4);
    client.send(&parcel(&server, 3, b"onetwothree")).unwrap();
    let (came, _) = receive(&server, 8);
    let came: Vec<&[u8]> = came.iter().map(|one| &one.bytes[..]).collect();
    let sent: [&[u8]; 4] = [b"one", b"two", b"thr", b"ee"];
    assert_eq!(came, [sent, sent].concat());
    let calls = client.calls();
    assert_eq!((calls.sends, calls.datagrams_out), (1 + 8, 8));
}

#[test]
fn parcels_longer_than_a_packet_are_refused() {
    for address in LOOPBACKS {
        let (client, server) = (bind(address), bind(address));
        let bytes = vec![0; MAX_PARCEL_BYTES + 21];
        let error = client
            .send(&parcel(&server, usize::MAX, &bytes))
            .unwrap_err();
        assert!(is_too_long(&error), "{address}: {error}");
        assert_eq!(client.calls().datagrams_out, 0);
    }
}

#[test]
fn datagrams_longer_than_the_mtu_are_refused() {
    let ran = thread::spawn(|| {
        if !kernel::enter_network(1500) {
            return false;
        }
        for (address, header) in LOOPBACKS.into_iter().zip([20 + 8, 40 + 8]) {
            let (client, server) = (bind(address), bind(address));
            let fits = 1500 - header;
            let bytes = vec![0; 3 * fits + 3];
            client.send(&parcel(&server, fits, &bytes[..fits])).unwrap();
            client
                .send(&parcel(&server, fits, &bytes[..3 * fits]))
                .unwrap();
            for length in [fits + 1, 3 * fits + 3] {
                let error = client.send(&parcel(&server, fits + 1, &bytes[..length]));
                let error = error.unwrap_err();
                assert!(is_too_long(&error), "{address}: {error}");
            }
            // This does not disable segmentation of datagrams that fit.
            assert_eq!(client.segments(), MAX_SEGMENTS);
            assert_eq!(receive(&server, 4).0.len(), 4);
        }
        true
    });
    if !ran.join().unwrap() {
        eprintln!("skipped: only root can create a network namespace");
    }
}

#[test]
fn a_closed_port_does_not_fail_a_send() {
    for address in LOOPBACKS {
        let closed = bind(address);
        let socket = UdpSocket::bind((address, 0)).unwrap();
        socket.connect(closed.local_addr().unwrap()).unwrap();
        let client = Datagrams::from_socket(socket).unwrap();
        let to_nobody = parcel(&closed, 9, b"x");
        drop(closed);
        let mut intake = ReceiveBuffers::default();
        for _ in 0..3 {
            client.send(&to_nobody).unwrap();
            assert!(client.wait(None).unwrap(), "the error is reported");
            let error = client.receive(&mut intake).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            let refused = Some(ErrorKind::ConnectionRefused);
            assert_eq!(client.take_unreachable(), refused);
            assert_eq!(client.take_unreachable(), None);
            client.send(&to_nobody).unwrap();
            client.send(&to_nobody).unwrap();
            let error = client.receive(&mut intake).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        }
        assert_eq!(client.calls().datagrams_out, 9);
    }
}

#[test]
fn other_errors_are_returned() {
    let (client, server) = (bind(LOOPBACKS[1]), bind(LOOPBACKS[1]));
    let mut foreign = parcel(&server, 1, b"xx");
    foreign.from = Some(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into());
    let error = client.send(&foreign).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    assert_eq!(
        client.segments(),
        MAX_SEGMENTS,
        "segmentation was not refused"
    );
}
