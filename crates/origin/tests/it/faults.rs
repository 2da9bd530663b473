//! Each fault, as curl reports it.

use crate::peers::Peer;

/// The time after which curl gives up on a stall, in seconds.
const TIMEOUT: &str = "1";

const EMPTY: i32 = 52;
const RECEIVE: i32 = 56;
const PARTIAL: i32 = 18;
const TIMED_OUT: i32 = 28;
const UNSUPPORTED: i32 = 1;
const HANDSHAKE: i32 = 35;

fn code(peer: &Peer, flag: &str, url: &str) -> (i32, String) {
    let said = peer.curl(&[flag, "--max-time", TIMEOUT, "-o", "/dev/null", url]);
    (said.code, said.err)
}

#[test]
fn in_clear_text() {
    for (fault, expected) in [
        ("reset@accept", RECEIVE),
        ("reset@hello", RECEIVE),
        ("reset@request", RECEIVE),
        ("reset@head", RECEIVE),
        ("reset@body", RECEIVE),
        ("close@accept", EMPTY),
        ("close@request", EMPTY),
        ("close@body", PARTIAL),
        ("stall@accept", TIMED_OUT),
        ("stall@request", TIMED_OUT),
        ("stall@head", TIMED_OUT),
        ("stall@body", TIMED_OUT),
        ("garbage@request", UNSUPPORTED),
        ("garbage@body", PARTIAL),
    ] {
        let peer = Peer::with(|knobs| knobs.fault = Some(fault.parse().unwrap()));
        let (code, err) = code(&peer, "--http1.1", &peer.http("/bytes/100000"));
        assert_eq!(code, expected, "{fault}: {err}");
        assert_eq!(peer.origin.stats().faults, 1, "{fault}");
    }
}

#[test]
fn over_tls() {
    for (fault, expected) in [
        ("reset@accept", HANDSHAKE),
        ("reset@hello", HANDSHAKE),
        ("reset@handshake", HANDSHAKE),
        ("close@hello", HANDSHAKE),
        ("close@handshake", HANDSHAKE),
        ("garbage@hello", HANDSHAKE),
        ("stall@hello", TIMED_OUT),
        ("stall@handshake", TIMED_OUT),
        ("reset@request", RECEIVE),
        ("reset@body", RECEIVE),
        ("close@body", PARTIAL),
    ] {
        let peer = Peer::with(|knobs| knobs.fault = Some(fault.parse().unwrap()));
        let (code, err) = code(&peer, "--http1.1", &peer.https("/bytes/100000"));
        assert_eq!(code, expected, "{fault}: {err}");
    }
}

#[test]
fn over_http_2() {
    for (fault, expected) in [
        ("reset@request", &[RECEIVE][..]),
        ("reset@body", &[RECEIVE]),
        // nghttp2 and curl have several error codes for a connection that ends in mid-stream.
        ("close@request", &[16, PARTIAL, EMPTY, RECEIVE, 92]),
        ("close@body", &[PARTIAL, 16, RECEIVE, 92]),
        ("stall@request", &[TIMED_OUT]),
        ("stall@body", &[TIMED_OUT]),
    ] {
        let peer = Peer::with(|knobs| knobs.fault = Some(fault.parse().unwrap()));
        let (code, err) = code(&peer, "--http2", &peer.https("/bytes/100000"));
        assert!(expected.contains(&code), "{fault}: {code} {err}");
    }
}
