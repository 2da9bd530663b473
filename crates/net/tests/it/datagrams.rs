//! Datagrams over loopback: whole runs, with their ECN bits and addresses; the kernel's refusals;
//! and the absence of allocations.

mod allocations;
mod kernel;
mod refusals;
mod runs;
mod stamps;
mod waiting;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use roundtrip_net::datagrams::{Datagrams, Parcel, ReceiveBuffers};

const LOOPBACKS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

/// One received datagram.
#[derive(Debug, PartialEq, Eq)]
struct Came {
    from: SocketAddr,
    to: Option<IpAddr>,
    ecn: u8,
    bytes: Vec<u8>,
}

fn bind(address: IpAddr) -> Datagrams {
    Datagrams::bind((address, 0).into()).unwrap()
}

fn parcel<'a>(to: &Datagrams, segment: usize, bytes: &'a [u8]) -> Parcel<'a> {
    Parcel {
        to: to.local_addr().unwrap(),
        from: None,
        ecn: 0,
        segment,
        bytes,
    }
}

/// Receives this many datagrams, and counts the runs.
fn receive(socket: &Datagrams, count: usize) -> (Vec<Came>, usize) {
    let mut intake = ReceiveBuffers::default();
    let (mut came, mut runs) = (Vec::new(), 0);
    while came.len() < count {
        assert!(socket.wait(None).unwrap());
        let taken = socket.receive(&mut intake).unwrap();
        assert_eq!(intake.arrivals_mut().count(), taken);
        runs += taken;
        for mut arrival in intake.arrivals_mut() {
            let (from, to, ecn) = (arrival.from, arrival.to, arrival.ecn);
            came.extend(arrival.datagrams_mut().map(|bytes| Came {
                from,
                to,
                ecn,
                bytes: bytes.to_vec(),
            }));
        }
    }
    (came, runs)
}
