//! TAP devices as the other kind of wire, where they are available.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use roundtrip_path::Path;

use crate::{addresses, ratio};

#[test]
fn tap_devices_carry_the_same() {
    let delay = Duration::from_millis(10);
    let path = match Path::builder().rtt(delay * 2).tun(true).build() {
        Ok(path) => path,
        // On many machines, only root has access.
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("/dev/net/tun"), "{text}");
            assert!(!is_open(), "{text}");
            return;
        }
    };
    for (client, server) in addresses(path.client(), 0)
        .into_iter()
        .zip(addresses(path.server(), 0))
    {
        let open = |side: &roundtrip_path::Namespace, address| {
            side.run(|| UdpSocket::bind(address)).unwrap().unwrap()
        };
        let (client, server) = (open(path.client(), client), open(path.server(), server));
        server
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        for length in [1, 1400, 5000] {
            let began = Instant::now();
            client
                .send_to(&vec![7; length], server.local_addr().unwrap())
                .unwrap();
            let mut buffer = [0; 6000];
            let (received, _) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(received, length);
            assert!(ratio(began.elapsed(), delay) >= 0.99);
        }
    }
}

/// Whether this user can create a TAP device in a separate namespace.
fn is_open() -> bool {
    std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .is_ok()
}
