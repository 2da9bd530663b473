//! What ends a request before its connection does: a reset, or a switch to another protocol; and
//! QUIC connections that end in silence, or follow each other between the same ports.

use roundtrip_model::{FailureKind, PhaseName};

use crate::clear::{PREFACE, SETTINGS, answers, asks, frame, opened};
use crate::packets::{ACK, Drawn, FIN, Link, SYN, Segment, answer, long, request, short};

/// RST_STREAM with CANCEL. RFC 9113 §6.4 and §7.
fn cancels(stream: u8) -> Vec<u8> {
    frame(3, 0, stream, &[0, 0, 0, 8])
}

#[test]
fn a_request_that_is_cancelled_ends_there_and_its_connection_goes_on() {
    for (side, kind) in [(0, FailureKind::Interrupted), (1, FailureKind::Reset)] {
        let (mut drawn, mut link) = opened(8080);
        let begins = [PREFACE, &SETTINGS, &asks(1)].concat();
        drawn.send(40.1, &mut link, 0, ACK, &begins);
        let head = [&SETTINGS[..], &frame(1, 4, 1, &[0x88])].concat();
        drawn.send(80.1, &mut link, 1, ACK, &head);
        drawn.send(80.2, &mut link, 0, ACK, b"");
        drawn.send(240.1, &mut link, side, ACK, &cancels(1));
        drawn.send(240.2, &mut link, 1 - side, ACK, b"");
        for n in 1..=5_u8 {
            let at = 10_000.0 * f64::from(n);
            drawn.send(at, &mut link, 0, ACK, &asks(2 * n + 1));
            drawn.send(at + 40.0, &mut link, 1, ACK, &answers(2 * n + 1));
            drawn.send(at + 40.1, &mut link, 0, ACK, b"");
        }
        let all = drawn.exchanges();
        let failed: Vec<_> = all.iter().filter_map(|e| e.failure.as_ref()).collect();
        assert_eq!((all.len(), failed.len()), (6, 1), "{failed:?}");
        assert_eq!((failed[0].kind, failed[0].phase), (kind, PhaseName::Body));
        assert_eq!(all[0].total().as_millis(), 240);
        let phases: f64 = all[0].phases().iter().map(roundtrip_model::Phase::ms).sum();
        assert!((phases - all[0].total().as_secs_f64() * 1e3).abs() < 0.01);
    }
}

const UPGRADES: &[u8] = b"GET /chat HTTP/1.1\r\nHost: example.org\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\n\r\n";
const SWITCHES: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// A minute of messages in both directions; the capture ends before the connection does.
fn talks(drawn: &mut Drawn, link: &mut Link) {
    for n in 1..=60 {
        let at = 1000.0 * f64::from(n);
        drawn.send(at, link, 0, ACK, &[0x81, 0x82, 1, 2, 3, 4, 0x60, 0x60]);
        drawn.send(at + 40.0, link, 1, ACK, &[0x81, 2, b'h', b'i']);
        drawn.send(at + 40.1, link, 0, ACK, b"");
    }
}

#[test]
fn a_websocket_is_one_exchange_and_what_it_carries_is_not_decidable() {
    let (mut drawn, mut link) = opened(80);
    drawn.send(40.1, &mut link, 0, ACK, UPGRADES);
    drawn.send(80.1, &mut link, 1, ACK, SWITCHES);
    talks(&mut drawn, &mut link);
    let (all, _) = drawn.read();
    let [exchange] = all[0].exchanges.as_slice() else {
        panic!("{:#?}", all[0].exchanges);
    };
    assert_eq!(exchange.http.as_ref().unwrap().status, 101);
    assert!(exchange.failure.is_none() && exchange.findings.is_empty());
    assert_eq!(exchange.total().as_millis(), 80);
    let mut undecidable = all[0].undecidable.iter();
    assert!(undecidable.any(|it| it.what.contains("switched to another protocol")));
}

/// RFC 8441 §4.
#[test]
fn a_websocket_on_a_stream_is_complete_with_the_head_of_its_answer() {
    let (mut drawn, mut link) = opened(8080);
    let mut lines = Vec::new();
    for (name, value) in [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "http"),
        (":path", "/chat"),
        (":authority", "example.org"),
    ] {
        // A literal without indexing. RFC 7541 §6.2.2.
        lines.push(0);
        for text in [name, value] {
            lines.push(text.len() as u8);
            lines.extend(text.as_bytes());
        }
    }
    let begins = [PREFACE, &SETTINGS, &frame(1, 4, 1, &lines)].concat();
    drawn.send(40.1, &mut link, 0, ACK, &begins);
    let head = [&SETTINGS[..], &frame(1, 4, 1, &[0x88])].concat();
    drawn.send(80.1, &mut link, 1, ACK, &head);
    for n in 1..=60 {
        let at = 1000.0 * f64::from(n);
        drawn.send(at, &mut link, 0, ACK, &frame(0, 0, 1, b"ping"));
        drawn.send(at + 40.0, &mut link, 1, ACK, &frame(0, 0, 1, b"pong"));
    }
    let exchange = drawn.exchange();
    assert!(exchange.failure.is_none(), "{:?}", exchange.failure);
    assert_eq!(exchange.total().as_millis(), 80);
}

#[test]
fn a_proxy_that_asks_for_a_password_first_takes_two_round_trips() {
    let (mut drawn, mut link) = opened(3128);
    let connect =
        |more: &str| format!("CONNECT example.org:80 HTTP/1.1\r\n{more}\r\n").into_bytes();
    drawn.send(40.1, &mut link, 0, ACK, &connect(""));
    let asks = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
    drawn.send(80.1, &mut link, 1, ACK, asks);
    drawn.send(
        80.2,
        &mut link,
        0,
        ACK,
        &connect("Proxy-Authorization: Basic eDp5\r\n"),
    );
    drawn.send(120.2, &mut link, 1, ACK, b"HTTP/1.1 200 OK\r\n\r\n");
    drawn.send(120.3, &mut link, 0, ACK, &request("/"));
    drawn.send(160.3, &mut link, 1, ACK, &answer(10, ""));
    drawn.send(160.4, &mut link, 0, ACK | FIN, b"");
    let exchange = drawn.exchange();
    let phases = exchange.phases();
    let proxy = phases.iter().find(|phase| phase.name == PhaseName::Proxy);
    assert_eq!(proxy.unwrap().ms().round() as u32, 80);
    assert_eq!(exchange.round_trips(), 4);
}

/// A client's first packet, of RFC 9001 §A.2; it says that it waits 30 s.
fn initial() -> Vec<u8> {
    let text = include_str!("../../../wire/tests/data/quicv1-client-initial.hex");
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn answered(drawn: &mut Drawn, at: f64) {
    drawn.datagram(at + 40.0, 1, &long(0, 1200));
    drawn.datagram(at + 40.1, 1, &long(2, 1200));
    drawn.datagram(at + 41.0, 0, &short(300));
    drawn.datagram(at + 81.0, 1, &short(900));
}

#[test]
fn quic_connections_between_the_same_ports_are_told_apart() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &long(0, 1200));
    answered(&mut drawn, 0.0);
    drawn.datagram(5000.0, 0, &initial());
    answered(&mut drawn, 5000.0);
    let (all, counts) = drawn.read();
    assert_eq!(counts.connections, 2);
    assert!(all[1].exchanges[0].url.contains("example.com"));
    // What only repeats the first packet is the same connection.
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &initial());
    drawn.datagram(1000.0, 0, &initial());
    answered(&mut drawn, 1000.0);
    drawn.datagram(1090.0, 0, &initial());
    assert_eq!(drawn.read().1.connections, 1);
}

#[test]
fn a_quic_connection_leaves_when_its_client_has_given_it_up() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &initial());
    answered(&mut drawn, 0.0);
    let mut other = Link::new(50_001, 80);
    let again = Segment {
        sequence: Some(1000),
        flags: SYN,
        ..Segment::default()
    };
    for n in 1..=29 {
        drawn.segment(1000.0 * f64::from(n), &mut other, 0, again);
    }
    assert!(drawn.finished().is_empty());
    for n in 30..=33 {
        drawn.segment(1000.0 * f64::from(n), &mut other, 0, again);
    }
    assert_eq!(drawn.finished().len(), 1);
}

#[test]
fn a_quic_connection_that_was_not_used_is_no_exchange() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &initial());
    drawn.datagram(40.0, 1, &long(0, 1200));
    drawn.datagram(40.1, 1, &long(2, 1200));
    drawn.datagram(41.0, 0, &long(2, 90));
    drawn.datagram(41.1, 0, &short(45));
    drawn.datagram(81.0, 1, &short(50));
    let (all, counts) = drawn.read();
    assert_eq!((counts.connections, all[0].exchanges.len()), (1, 0));
}

/// A DNS message between the client's port 40000 and 10.0.0.53, with the address of the server if
/// it is an answer.
fn lookup(drawn: &mut Drawn, ms: f64, is_answer: bool) {
    let name = b"\x07example\x03org\0\0\x01\0\x01";
    let mut message = vec![
        0,
        7,
        if is_answer { 0x81 } else { 1 },
        0x80 * u8::from(is_answer),
    ];
    message.extend([0, 1, 0, u8::from(is_answer), 0, 0, 0, 0]);
    message.extend(name);
    if is_answer {
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 10, 0, 0, 2]);
    }
    let mut ends = [([10, 0, 0, 1], 40_000_u16), ([10, 0, 0, 53], 53)];
    if is_answer {
        ends.reverse();
    }
    let mut bytes = vec![0x45, 0];
    bytes.extend((28 + message.len() as u16).to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(ends.iter().flat_map(|(address, _)| *address));
    bytes.extend(ends.iter().flat_map(|(_, port)| port.to_be_bytes()));
    bytes.extend((8 + message.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(message);
    drawn.frame(ms, &bytes);
}

#[test]
fn a_name_that_was_looked_up_twice_at_once_explains_one_connection() {
    let mut drawn = Drawn::new();
    for at in [0.0, 25.0] {
        lookup(&mut drawn, at, false);
        lookup(&mut drawn, at + 10.0, true);
    }
    for (port, at) in [(50_000, 36.0), (50_001, 1500.0)] {
        let mut link = Link::new(port, 80);
        drawn.open(at, &mut link, 40.0);
        drawn.send(at + 40.1, &mut link, 0, ACK, &request("/"));
        drawn.send(at + 80.1, &mut link, 1, ACK, &answer(10, ""));
        drawn.send(at + 80.2, &mut link, 0, ACK | FIN, b"");
    }
    let totals: Vec<_> = drawn
        .exchanges()
        .iter()
        .map(|e| e.total().as_millis())
        .collect();
    assert_eq!(totals, [91, 80]);
}

#[test]
fn a_silent_capture_lets_go_of_what_has_ended() {
    let (mut drawn, mut link) = opened(80);
    drawn.send(40.1, &mut link, 0, ACK, &request("/"));
    drawn.send(80.1, &mut link, 1, ACK, &answer(10, ""));
    drawn.send(80.2, &mut link, 0, ACK | FIN, b"");
    drawn.send(120.2, &mut link, 1, ACK | FIN, b"");
    drawn.send(120.3, &mut link, 0, ACK, b"");
    drawn.silence(2);
    assert!(drawn.finished().is_empty());
    drawn.silence(6);
    assert_eq!(drawn.finished().len(), 1);
}
