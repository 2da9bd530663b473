//! Packets that are lost by number, and how the kernels react.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use roundtrip_path::{Direction, Path};

use crate::kernel;

#[test]
fn a_dropped_syn_costs_a_retransmission() {
    let lossy = Path::builder()
        .rtt(Duration::from_millis(4))
        .drop_nth(Direction::Up, 1);
    let path = lossy.build().unwrap();
    let address = (path.server().address_v4(), 0);
    let listener = path
        .server()
        .run(|| TcpListener::bind(address))
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    let client = path
        .client()
        .run(|| TcpStream::connect(address))
        .unwrap()
        .unwrap();
    assert_eq!(kernel::tcp_info(&client).tcpi_total_retrans, 1);
    // The SYN, its retransmission, and by now perhaps the ACK.
    let counters = path.counters();
    assert!((2..=3).contains(&counters.up.packets), "{counters:?}");
    assert_eq!(
        (
            counters.up.dropped,
            counters.down.packets,
            counters.down.dropped
        ),
        (1, 1, 0)
    );
}

#[test]
fn only_the_named_packets_are_lost() {
    let mut builder = Path::builder();
    for number in [2, 3, 5] {
        builder = builder.drop_nth(Direction::Up, number);
    }
    let path = builder.build().unwrap();
    let open = |address| move || UdpSocket::bind((address, 0));
    let server = path
        .server()
        .run(open(path.server().address_v4()))
        .unwrap()
        .unwrap();
    let client = path
        .client()
        .run(open(path.client().address_v4()))
        .unwrap()
        .unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    for number in 1..=6_u8 {
        client
            .send_to(&[number], server.local_addr().unwrap())
            .unwrap();
    }
    let mut arrived = [0; 3];
    for place in &mut arrived {
        server.recv(std::slice::from_mut(place)).unwrap();
    }
    assert_eq!(arrived, [1, 4, 6]);
    let up = path.counters().up;
    assert_eq!((up.packets, up.dropped, up.delivered), (6, 3, 3));
}
