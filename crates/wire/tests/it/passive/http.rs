//! Requests and responses of each version, from real peers if the encoding is theirs; pieces of any
//! length, and holes.

use roundtrip_wire::passive::{
    Http1Reader, Http2Reader, Http3Reader, HttpEvent, HttpFact, QuicPayload, QuicReader,
};
use roundtrip_wire::quic::Side;

use super::{keys, talk};

/// The events of a request, without positions; adjacent content is merged.
fn told(events: &[HttpEvent]) -> Vec<String> {
    let mut told: Vec<(String, u64)> = Vec::new();
    for HttpEvent {
        side, stream, what, ..
    } in events
    {
        let who = if *side == Side::Client { 'c' } else { 's' };
        let on = stream.map_or("-".to_owned(), |stream| stream.to_string());
        let text = match what {
            HttpFact::Request(r) => format!("{} {}{}", r.method, r.authority, r.path),
            HttpFact::Response(r) => r.status.to_string(),
            HttpFact::Interim(status) => format!("interim {status}"),
            HttpFact::Body(length) => {
                let text = format!("{who}{on} body");
                match told.last_mut() {
                    Some((last, sum)) if *last == text => *sum += length,
                    _ => told.push((text, *length)),
                }
                continue;
            }
            HttpFact::End => "end".to_owned(),
            other => format!("{other:?}"),
        };
        told.push((format!("{who}{on} {text}"), 0));
    }
    let line = |(text, sum): (String, u64)| match sum {
        0 => text,
        _ => format!("{text} {sum}"),
    };
    told.into_iter().map(line).collect()
}

/// Reads HTTP/1 that is cut into pieces of this length.
fn http1(talk: &[(Side, &str)], length: usize) -> Vec<HttpEvent> {
    let (mut reader, mut events) = (Http1Reader::new(), Vec::new());
    let mut places = [0, 0];
    for (side, text) in talk {
        let place = &mut places[usize::from(*side == Side::Server)];
        for piece in text.as_bytes().chunks(length) {
            let at = *place..*place + piece.len() as u64;
            *place = at.end;
            reader.push(*side, piece, at, |event| events.push(event));
        }
    }
    for side in [Side::Client, Side::Server] {
        reader.close(side, places[usize::from(side == Side::Server)], |e| {
            events.push(e);
        });
    }
    events
}

const C: Side = Side::Client;
const S: Side = Side::Server;

fn expect(talk: &[(Side, &str)], expected: &[&str]) {
    for length in [1, 3, 10_000] {
        assert_eq!(told(&http1(talk, length)), expected, "pieces of {length}");
    }
}

#[test]
fn requests_of_http1_are_answered_in_order() {
    expect(
        &[
            (
                C,
                "GET /a HTTP/1.1\r\nHost: shop\r\n\r\nPOST /b HTTP/1.1\r\nhost: shop\r\n",
            ),
            (
                C,
                "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n",
            ),
            (S, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            (
                S,
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked",
            ),
            (S, "\r\n\r\n4;a=b\r\nhell\r\n1\r\no\r\n0\r\n\r\n"),
            (
                C,
                "\r\nHEAD http://other:8080 HTTP/1.1\r\nHost: ignored\r\n\r\n",
            ),
            (S, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"),
            (C, "GET /c HTTP/1.0\r\n\r\n"),
            (S, "HTTP/1.0 200 OK\r\n\r\nto the end"),
        ],
        &[
            "c0 GET shop/a",
            "c0 end",
            "c1 POST shop/b",
            "c1 body 3",
            "c1 end",
            "s0 200",
            "s0 body 5",
            "s0 end",
            "s1 interim 100",
            "s1 201",
            "s1 body 5",
            "s1 end",
            "c2 HEAD other:8080/",
            "c2 end",
            "s2 200",
            "s2 end",
            "c3 GET /c",
            "c3 end",
            "s3 200",
            "s3 body 10",
            "s3 end",
        ],
    );
}

#[test]
fn behind_connect_and_upgrades_nothing_is_read() {
    expect(
        &[
            (C, "CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n"),
            (S, "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"),
            (C, "CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n"),
            (S, "HTTP/1.1 200 OK\r\n\r\n"),
            (C, "\u{1}GET / HTTP/1.1\r\n\r\n"),
            (S, "HTTP/1.1 200 OK\r\n\r\n"),
        ],
        &[
            "c0 CONNECT host:443host:443",
            "c0 end",
            "s0 407",
            "s0 end",
            "c1 CONNECT host:443host:443",
            "c1 end",
            "s1 200",
            "s1 Switched",
        ],
    );
    expect(
        &[
            (C, "GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"),
            (S, "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n"),
            (C, "\u{1}\u{2}"),
        ],
        &["c0 GET /ws", "c0 end", "s0 101", "s0 Switched"],
    );
}

#[test]
fn positions_say_where_heads_and_bodies_are() {
    let request = "GET / HTTP/1.1\r\nHost: a\r\nReferer: b\r\n\r\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nServer-Timing: app;dur=7\r\n\r\n";
    let answer = format!("{head}abc");
    for length in [1, 10_000] {
        let events = http1(&[(C, request), (S, &answer)], length);
        let HttpFact::Request(asked) = &events[0].what else {
            panic!("{events:?}");
        };
        assert_eq!((asked.size, asked.fields), (request.len(), 2));
        assert_eq!(asked.referer.as_deref(), Some("b"));
        assert_eq!(events[0].at, 0..request.len() as u64);
        let HttpFact::Response(answered) = &events[2].what else {
            panic!("{events:?}");
        };
        assert_eq!(answered.server_timing[0].milliseconds, Some(7.0));
        assert_eq!(answered.content_length, Some(3));
        let head = head.len() as u64;
        assert_eq!(events[2].at, 0..head);
        assert_eq!(events[3].at.start, head);
        assert_eq!(events.last().unwrap().at, head + 3..head + 3);
    }
    // A TLS record: the position of a byte in the record is unknown.
    let mut reader = Http1Reader::new();
    let mut events = Vec::new();
    reader.push(C, request.as_bytes(), 100..200, |event| events.push(event));
    assert_eq!(events[0].at, 100..200);
}

#[test]
fn holes_in_bodies_are_counted_and_others_passed_over() {
    let (mut reader, mut events) = (Http1Reader::new(), Vec::new());
    let mut each = |event| events.push(event);
    reader.push(C, b"GET /1 HTTP/1.1\r\n\r\n", 0..19, &mut each);
    reader.push(
        S,
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nab",
        0..43,
        &mut each,
    );
    reader.skip(S, 990, 43..1033, &mut each);
    reader.push(S, b"12345678", 1033..1041, &mut each);
    reader.push(C, b"GET /2 HTTP/1.1\r\n\r\n", 19..38, &mut each);
    reader.push(
        S,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n",
        0..51,
        &mut each,
    );
    reader.skip(S, 255, 51..306, &mut each);
    reader.push(S, b"\r\n0\r\n\r\n", 306..313, &mut each);
    reader.push(C, b"GET /3 HTTP/1.1\r\n\r\n", 19..38, &mut each);
    reader.skip(S, 500, 313..813, &mut each);
    reader.push(S, b"the rest of a body", 313..331, &mut each);
    reader.push(C, b"GET /4 HTTP/1.1\r\n\r\n", 19..38, &mut each);
    reader.push(S, b"HTTP/1.1 204 OK\r\n\r\n", 331..350, &mut each);
    assert_eq!(
        told(&events),
        [
            "c0 GET /1",
            "c0 end",
            "s0 200",
            "s0 body 10",
            "s0 end",
            "c1 GET /2",
            "c1 end",
            "s1 200",
            "s1 end",
            "c2 GET /3",
            "c2 end",
            "s1 Lost",
            "c3 GET /4",
            "c3 end",
            "s3 204",
            "s3 end",
        ]
    );
}

fn http2(
    pieces: &[(Side, Vec<u8>)],
    length: usize,
    hole: Option<(Side, u64, u64)>,
) -> Vec<HttpEvent> {
    let (mut reader, mut events) = (Http2Reader::new(), Vec::new());
    let mut places = [0, 0];
    for (side, bytes) in pieces {
        let place = &mut places[usize::from(*side == Side::Server)];
        for piece in bytes.chunks(length) {
            let at = *place..*place + piece.len() as u64;
            *place = at.end;
            let is_missing = hole.is_some_and(|(holed, from, to)| {
                holed == *side && at.start >= from && at.start < to
            });
            if is_missing {
                reader.skip(*side, piece.len() as u64, at, |event| events.push(event));
            } else {
                reader.push(*side, piece, at, |event| events.push(event));
            }
        }
    }
    events
}

/// The requests of nghttp, and the responses that it printed, with windows of 32 KiB.
const OF_NGHTTP: [&str; 23] = [
    "c- MaxStreams(100)",
    "c13 GET 127.0.0.1:18081/small/10?q=1",
    "c13 end",
    "c15 GET 127.0.0.1:18081/large/40000",
    "c15 end",
    "c17 GET 127.0.0.1:18081/hint/0",
    "c17 end",
    "s- MaxStreams(100)",
    "s13 200",
    "s15 200",
    "s17 interim 103",
    "s17 200",
    "s17 end",
    "s13 body 10",
    "s13 end",
    "s15 body 16384",
    "s15 Blocked",
    "s15 body 16383",
    "c15 Window(16384)",
    "c15 Window(16383)",
    "s15 body 7233",
    "s15 end",
    "c- GoAway { last: 0, code: 0 }",
];

#[test]
fn streams_of_http2_are_read_with_their_windows() {
    let talk = talk("h2-nghttp");
    for length in [1, 7, 5000, 100_000] {
        let events = http2(&talk, length, None);
        assert_eq!(told(&events), OF_NGHTTP, "pieces of {length}");
        let answered = events.iter().find_map(|event| match &event.what {
            HttpFact::Response(response) => Some(response),
            _ => None,
        });
        let metrics = &answered.unwrap().server_timing;
        let metrics: Vec<_> = metrics
            .iter()
            .map(|m| (m.name.as_str(), m.milliseconds))
            .collect();
        assert_eq!(metrics, [("app", Some(12.5)), ("db", Some(3.0))]);
    }
}

#[test]
fn a_hole_in_the_content_of_http2_hides_nothing_but_its_bytes() {
    let talk = talk("h2-nghttp");
    // In the middle of the first long frame.
    let events = http2(&talk, 100, Some((S, 5000, 9000)));
    let told = told(&events);
    assert_eq!(told[..15], OF_NGHTTP[..15]);
    assert!(told.contains(&"s15 body 12384".to_owned()), "{told:?}");
    assert_eq!(told[17..], OF_NGHTTP[17..]);
}

fn frame(kind: u8, flags: u8, stream: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, content.len() as u8, kind, flags, 0, 0, 0, stream];
    frame.extend(content);
    frame
}

#[test]
fn behind_a_hole_heads_of_http2_are_read_as_far_as_they_can_be() {
    let mut reader = Http2Reader::new();
    let mut events = Vec::new();
    let mut each = |event| events.push(event);
    // Settings, and a status with a field that is added to the table.
    let head = frame(1, 4, 1, &[0x88, 0x40, 1, b'a', 1, b'b']);
    let first = [frame(4, 0, 0, &[]), head].concat();
    reader.push(S, &first, 0..first.len() as u64, &mut each);
    reader.skip(S, 100, 0..0, &mut each);
    let rest = b"the rest of something";
    reader.push(S, rest, 0..rest.len() as u64, &mut each);
    // The field of the table, a new one, and that one again.
    let block = [0x88, 0xbe, 0x40, 1, b'c', 1, b'7', 0x0f, 13, 1, b'9', 0xbe];
    let head = frame(1, 4, 3, &block);
    let last = [head, frame(0, 1, 3, &[0; 9])].concat();
    reader.push(S, &last, 0..last.len() as u64, &mut each);
    assert_eq!(
        told(&events),
        ["s1 200", "s- Lost", "s3 200", "s3 body 9", "s3 end"]
    );
    let HttpFact::Response(response) = &events[2].what else {
        panic!("{events:?}");
    };
    assert_eq!((response.fields, response.content_length), (4, Some(9)));
    // A capture that begins in the middle of a connection.
    let mut reader = Http2Reader::new();
    let mut events = Vec::new();
    reader.push(C, &last, 0..last.len() as u64, |event| events.push(event));
    reader.push(C, &last, 0..last.len() as u64, |event| events.push(event));
    assert_eq!(told(&events)[0], "c- Lost");
    assert_eq!(events.len(), 4, "{events:?}");
}

const OF_AIOQUIC: [&str; 25] = [
    "c0 GET shop.example/small/10?q=1",
    "c0 end",
    "s0 200",
    "s0 body 10",
    "s0 end",
    "c4 GET shop.example/large/9000",
    "c4 end",
    "c8 GET shop.example/small/10?q=1",
    "c8 end",
    "s4 200",
    "s4 body 8089",
    "s8 200",
    "s8 body 10",
    "s8 end",
    "s4 body 911",
    "s4 end",
    "c12 GET shop.example/hint/0",
    "c12 end",
    "s12 interim 103",
    "s12 200",
    "s12 end",
    "c16 GET shop.example/small/10?q=1",
    "c16 end",
    "s16 200",
    "s16 body 10",
];

fn http3(pieces: &[(Side, Vec<u8>)]) -> Vec<HttpEvent> {
    let (keys, mut quic, mut http) = (keys("h3-aioquic"), QuicReader::new(), Http3Reader::new());
    let mut events = Vec::new();
    for (place, (side, datagram)) in pieces.iter().enumerate() {
        quic.push(*side, datagram, &keys, |packet| {
            let QuicPayload::Opened { frames, .. } = packet.payload else {
                panic!("{packet:?}");
            };
            http.push(*side, frames, place as u64, |event| events.push(event));
        });
    }
    // The engine chooses the windows, not the test.
    events.retain(|event| !matches!(event.what, HttpFact::Window(_) | HttpFact::MaxStreams(_)));
    events
}

#[test]
fn the_dynamic_tables_of_http3_are_followed() {
    let events = http3(&talk("h3-aioquic"));
    assert_eq!(told(&events)[..25], OF_AIOQUIC);
    let sizes: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            HttpFact::Request(request) => Some((request.path.as_str(), request.size)),
            _ => None,
        })
        .collect();
    let [(first, before), .., (last, after)] = sizes.as_slice() else {
        panic!("{sizes:?}");
    };
    assert!(
        first == last && after * 3 < *before,
        "the table was used: {sizes:?}"
    );
}

#[test]
fn packets_that_the_capture_lacks_hide_nothing_else_of_http3() {
    let pieces = talk("h3-aioquic");
    let whole = http3(&pieces);
    let of_place = |place: usize| {
        let from = |event: &&HttpEvent| event.at.end == place as u64;
        whole.iter().filter(from).count()
    };
    for lacking in 4..pieces.len() {
        let mut fewer = pieces.clone();
        fewer[lacking].1.clear();
        let events = http3(&fewer);
        // A stream whose content has a hole does not end.
        let least = whole.len() - of_place(lacking) - 10;
        assert!(events.len() >= least, "without {lacking}: {events:?}");
        let heads = |events: &[HttpEvent]| {
            let is_head = |event: &&HttpEvent| matches!(event.what, HttpFact::Response(_));
            events.iter().filter(is_head).count()
        };
        assert!(heads(&events) >= 4, "without {lacking}: {events:?}");
        // If it comes later, nothing is hidden.
        let mut swapped = pieces.clone();
        swapped.swap(lacking, (lacking + 1).min(pieces.len() - 1));
        assert_eq!(heads(&http3(&swapped)), heads(&whole), "{lacking} later");
    }
}
