//! Traces of curl, in the forms of `--trace-time` and `-v`.

use super::*;

/// Output of curl 7.88, shortened.
const FOLLOWED: &str = "\
23:59:59.900000 == Info:   Trying 127.0.0.1:18191...
23:59:59.950000 == Info: Connected to 127.0.0.1 (127.0.0.1) port 18191 (#0)
23:59:59.951000 => Send header, 80 bytes (0x50)
0000: 47 45 54 20 2f 72 20 48 54 54 50 2f 31 2e 31 0d GET /r HTTP/1.1.
0010: 0a 48 6f 73 74 3a 20 31 32 37 2e 30 2e 30 2e 31 .Host: 127.0.0.1
00:00:00.011000 <= Recv header, 20 bytes (0x14)
0000: 48 54 54 50 2f 31 2e 31 20 33 30 32 20 46 6f 75 HTTP/1.1 302 Fou
00:00:00.012000 <= Recv data, 300 bytes (0x12c)
00:00:00.013000 == Info: Connection #0 to host 127.0.0.1 left intact
00:00:00.014000 == Info: Issue another request to this URL: 'http://127.0.0.1:18191/b'
00:00:00.015000 == Info: Re-using existing connection #0 with host 127.0.0.1
00:00:00.016000 => Send header, 80 bytes (0x50)
0000: 47 45 54 20 2f 62 20 48 54 54 50 2f 31 2e 31 0d GET /b HTTP/1.1.
00:00:00.066000 <= Recv header, 17 bytes (0x11)
0000: 48 54 54 50 2f 31 2e 31 20 32 30 30 20 4f 4b 0d HTTP/1.1 200 OK.
00:00:00.070000 <= Recv data, 300 bytes (0x12c)
";

fn spans(request: &ToldRequest) -> Vec<(ToldPhase, u64)> {
    let spans = request.spans.iter();
    spans
        .map(|span| (span.phase, (span.end - span.begin) / 1_000_000))
        .collect()
}

#[test]
fn a_redirect_is_a_second_request_on_the_same_connection_over_midnight() {
    let witness = read(FOLLOWED.as_bytes()).unwrap();
    let [first, second] = witness.requests.as_slice() else {
        panic!("{witness:?}");
    };
    assert_eq!(
        (first.method.as_str(), first.url.as_str(), first.status),
        ("GET", "/r", Some(302))
    );
    assert_eq!(
        spans(first),
        [
            (ToldPhase::Name, 0),
            (ToldPhase::Connect, 50),
            (ToldPhase::Send, 0),
            (ToldPhase::Wait, 60),
            (ToldPhase::Body, 1),
        ]
    );
    assert_eq!((second.url.as_str(), second.status), ("/b", Some(200)));
    assert_eq!(
        spans(second),
        [
            (ToldPhase::Send, 0),
            (ToldPhase::Wait, 50),
            (ToldPhase::Body, 4)
        ]
    );
    assert_eq!((second.begin, second.end), (114_000_000, Some(170_000_000)));
    assert_eq!((first.connection, second.connection), (Some(0), Some(0)));
    assert_eq!(witness.connections[0].peer.as_deref(), Some("127.0.0.1"));
}

#[test]
fn transfers_are_told_apart_by_their_ids() {
    let text = "\
06:18:06.000000 [0-0] *   Trying 192.0.2.1:443...
06:18:06.001000 [1-1] *   Trying 192.0.2.2:443...
06:18:06.010000 [0-0] * Connected to a (192.0.2.1) port 443
06:18:06.030000 [0-0] * SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384
06:18:06.030500 [0-0] * using HTTP/2
06:18:06.031000 [0-0] > GET /a HTTP/2
06:18:06.041000 [1-1] * Failed to connect to b port 443 after 40 ms: Couldn't connect
06:18:06.051000 [0-0] < HTTP/2 103
06:18:06.061000 [0-0] < HTTP/2 200
06:18:06.062000 [0-0] { [10 bytes data]
";
    let witness = read(text.as_bytes()).unwrap();
    let [first, second] = witness.requests.as_slice() else {
        panic!("{witness:?}");
    };
    assert_eq!(first.status, Some(200));
    assert_eq!(first.protocol.as_deref(), Some("HTTP/2"));
    assert_eq!(
        spans(first)[1..3],
        [(ToldPhase::Connect, 10), (ToldPhase::Handshake, 20)]
    );
    assert!(second.error.is_some());
    assert_eq!(witness.connections.len(), 2);
    assert_eq!(read(b"nothing\nof the kind\n"), None);
}
