//! TCP fast open, in a separate network namespace in which the kernel accepts it.

use std::io::{Read, Write};
use std::process::Command;

use roundtrip_origin::Knobs;
use socket2::{Domain, Socket, Type};

use crate::peers::Peer;
use crate::skip;

const INSIDE: &str = "ROUNDTRIP_TEST_IN_NAMESPACE";
/// `MSG_FASTOPEN`, linux/socket.h.
const MSG_FASTOPEN: i32 = 0x2000_0000;

#[test]
fn data_in_the_syn_is_taken_and_counted() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let script =
        "ip link set lo up && echo 3 > /proc/sys/net/ipv4/tcp_fastopen && exec \"$0\" \"$@\"";
    let probe = Command::new("unshare").args(["-Urn", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return skip::lacking(
            "data_in_the_syn_is_taken_and_counted",
            "user namespaces (unshare -Urn), so fast open cannot be turned on",
        );
    }
    let output = Command::new("unshare")
        .args(["-Urn", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "fast_open::inside",
            "--include-ignored",
            "--test-threads=1",
        ])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "runs inside the namespace that data_in_the_syn_is_taken_and_counted makes"]
fn inside() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let peer = Peer::with(|knobs: &mut Knobs| {
        knobs.listen.fast_open = 16;
        knobs.listen.echo_port = Some(0);
    });
    let address = peer.origin.echo.unwrap();
    // The first connection fetches the cookie, the others use it.
    for _ in 0..3 {
        let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let sent = socket
            .send_to_with_flags(b"hello\n", &address.into(), MSG_FASTOPEN)
            .unwrap();
        assert_eq!(sent, 6);
        let mut back = [0; 6];
        socket.read_exact(&mut back).unwrap();
        socket.write_all(b"hello\n").unwrap();
        socket.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"hello\n");
    }
    let stats = peer.origin.stats();
    assert_eq!((stats.tcp_connections, stats.fast_open_accepted), (3, 2));
    assert_eq!(stats.echo_bytes, 36);
}
