//! Shells: connections that are written to through a standard stream, duplicated, or inherited.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use roundtrip_model::{Event, Exchange};
use roundtrip_origin::Knobs;

use crate::server::{Followed, command, follow, follow_with, has, serve, thinking};
use crate::skip;

const THINK: u64 = 60;
/// Asks through this descriptor of bash, and copies the answer.
const ASKS: &str = r"
exec FD<>/dev/tcp/127.0.0.1/$1
printf 'GET /bytes/100 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&FD
cat <&FD
";

fn asked_through(descriptor: u32) -> Followed {
    let server = thinking(THINK);
    let port = server.http.port().to_string();
    let script = ASKS.replace("FD", &descriptor.to_string());
    let followed = follow(command(&["bash", "-c", &script, "bash", &port]));
    let output = String::from_utf8_lossy(&followed.output.stdout);
    assert!(output.starts_with("HTTP/1.1 200"), "{output}");
    followed
}

/// The server's time is known to a tick of the kernel's counters.
fn waited_for_the_server(exchange: &Exchange) {
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let at = |is: &Event| exchange.timeline.first(|e| e == is).unwrap();
    let waited = at(&Event::FirstByte).since(at(&Event::RequestSent));
    let least = Duration::from_millis(THINK - 15);
    assert!(waited >= least, "{waited:?}: {:?}", exchange.timeline);
}

#[test]
fn what_a_shell_writes_through_its_standard_output_is_a_request() {
    if !has("bash") {
        return skip::lacking(
            "what_a_shell_writes_through_its_standard_output_is_a_request",
            "bash",
        );
    }
    // A shell opens the connection as 3, and has to duplicate it for any other number.
    for descriptor in [3, 9] {
        let followed = asked_through(descriptor);
        assert_eq!(followed.exchanges.len(), 1, "{descriptor}");
        let exchange = &followed.exchanges[0];
        waited_for_the_server(exchange);
        let notes = exchange.notes.join(" ");
        assert!(notes.contains("standard stream"), "{notes}");
    }
}

#[test]
fn a_connection_that_was_inherited_is_not_silently_left_out() {
    let server = serve(Knobs::default());
    let inherited = TcpStream::connect(server.http).unwrap();
    // The program does not inherit this one, which is closed when it starts.
    let _closed = TcpStream::connect(server.http).unwrap();
    let ask = "printf 'GET /bytes/100 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&0; cat";
    let input = Stdio::from(OwnedFd::from(inherited));
    let followed = follow_with(command(&["sh", "-c", ask]), input);
    let output = String::from_utf8_lossy(&followed.output.stdout);
    assert!(output.starts_with("HTTP/1.1 200"), "{output}");
    assert!(followed.exchanges.is_empty(), "{:?}", followed.exchanges);
    assert_eq!(followed.sight.not_opened, 1);
    let notes = followed.sight.notes().join(" ");
    assert!(
        notes.contains("1 connection was accepted or inherited"),
        "{notes}"
    );
}
