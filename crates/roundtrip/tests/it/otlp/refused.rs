//! Collectors that are busy, or refuse what they get.

use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use super::server;
use crate::process::ROUNDTRIP;
use crate::servers::answering;

/// A collector that answers each request with the next of these heads, and then with 200.
fn refusing(heads: Vec<&'static str>) -> (String, Receiver<usize>) {
    let (sender, bodies) = channel();
    let mut heads = heads.into_iter();
    let address = answering(move |_, body| {
        let _ = sender.send(body.len());
        let head = heads.next().unwrap_or("200 OK");
        format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    });
    (format!("http://{address}"), bodies)
}

#[test]
fn a_busy_collector_gets_the_same_spans_again_and_a_refusing_one_does_not() {
    for (heads, lost) in [
        (
            vec![
                "503 Busy\r\nRetry-After: 0",
                "429 Slow Down\r\nRetry-After: 1",
            ],
            false,
        ),
        (vec!["400 Bad"], true),
        // Longer than the program waits at its end.
        (vec!["503 Busy\r\nRetry-After: 3600"], true),
    ] {
        let (url, _heard) = server();
        let expected = if lost { 2 } else { heads.len() + 2 };
        let (collector, bodies) = refusing(heads);
        let probed = Command::new(ROUNDTRIP)
            .args(["probe", "-q", "--noproxy", "*", "--otlp", &collector, &url])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&probed.stderr);
        assert!(probed.status.success(), "{said}");
        assert_eq!(said.contains("did not reach the collector"), lost, "{said}");
        let bodies: Vec<usize> = bodies.try_iter().collect();
        // The last request holds the metrics.
        assert_eq!(bodies.len(), expected, "{bodies:?}");
        let spans = &bodies[..bodies.len() - 1];
        assert!(spans.iter().all(|length| *length == spans[0]), "{bodies:?}");
    }
}
