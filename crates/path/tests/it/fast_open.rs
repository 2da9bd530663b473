//! TCP fast open across the path (RFC 7413), and across a box that strips it.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use roundtrip_path::Path;

use crate::kernel;

const CLIENT_AND_SERVER: &str = "3";

/// Opens the listener, and a connection that fetches the cookie.
pub(crate) fn warm_up(path: &Path) -> (TcpListener, SocketAddr) {
    for side in [path.client(), path.server()] {
        side.sysctl("net.ipv4.tcp_fastopen", CLIENT_AND_SERVER)
            .unwrap();
    }
    let address = (path.server().address_v4(), 0);
    let listener = path
        .server()
        .run(|| TcpListener::bind(address))
        .unwrap()
        .unwrap();
    kernel::accept_fast_open(&listener);
    let address = listener.local_addr().unwrap();
    assert!(!kernel::was_syn_data_acknowledged(&greet(
        path, &listener, address
    )));
    (listener, address)
}

/// Sends a greeting as early as the kernel allows, and waits until the server has read it.
pub(crate) fn greet(path: &Path, listener: &TcpListener, address: SocketAddr) -> TcpStream {
    let client = path
        .client()
        .run(|| kernel::connect_with(b"hello", address))
        .unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut greeting = [0; 5];
    server.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"hello");
    client
}

/// Waits for the result in the SYN-ACK, which a fast-opened socket learns one round trip later.
pub(crate) fn settled(mut client: &TcpStream) -> bool {
    client
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    // The server has closed its side: an end of file comes after the SYN-ACK.
    let ended = client.read(&mut [0; 1]);
    matches!(ended, Ok(0))
}

#[test]
fn data_in_the_syn_is_acknowledged_by_the_syn_ack() {
    let path = Path::builder()
        .rtt(Duration::from_millis(10))
        .build()
        .unwrap();
    let (listener, address) = warm_up(&path);
    let client = greet(&path, &listener, address);
    assert!(settled(&client));
    assert!(kernel::was_syn_data_acknowledged(&client));
}

#[test]
fn a_box_that_strips_the_option_costs_only_the_saving() {
    let stripped = Path::builder()
        .rtt(Duration::from_millis(10))
        .middlebox("strip-fast-open".parse().unwrap());
    let path = stripped.build().unwrap();
    let (listener, address) = warm_up(&path);
    let client = greet(&path, &listener, address);
    assert!(settled(&client));
    assert!(!kernel::was_syn_data_acknowledged(&client));
}
