//! What is read in the clear besides HTTP/1: HTTP/2, fragments, and protocols that are not known.

use crate::packets::{ACK, Drawn, FIN, Link, SYN, found};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

pub(crate) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let head = [0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    [&head, payload].concat()
}

/// GET / of example.org, from the static table. RFC 7541 appendix A.
pub(crate) fn asks(stream: u8) -> Vec<u8> {
    let fields = [&[0x82, 0x84, 0x86, 0x41, 11][..], b"example.org"].concat();
    frame(1, 5, stream, &fields)
}

/// 200, and a body of five bytes.
pub(crate) fn answers(stream: u8) -> Vec<u8> {
    [frame(1, 4, stream, &[0x88]), frame(0, 1, stream, b"hello")].concat()
}

/// Opens, and lets the server's settings come before the client has said anything.
pub(crate) fn opened(port: u16) -> (Drawn, Link) {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, port));
    drawn.open(0.0, &mut link, 40.0);
    (drawn, link)
}

#[test]
fn http2_with_prior_knowledge_is_read() {
    let (mut drawn, mut link) = opened(8080);
    drawn.send(40.02, &mut link, 1, ACK, &SETTINGS);
    let begins = [PREFACE, &SETTINGS, &asks(1)].concat();
    // The preface may come in parts.
    drawn.send(40.1, &mut link, 0, ACK, &begins[..10]);
    drawn.send(40.2, &mut link, 0, ACK, &begins[10..]);
    drawn.send(80.2, &mut link, 1, ACK, b"");
    drawn.send(380.2, &mut link, 1, ACK, &answers(1));
    drawn.send(380.3, &mut link, 0, ACK, b"");
    drawn.send(400.0, &mut link, 0, ACK, &asks(3));
    drawn.send(440.0, &mut link, 1, ACK, &answers(3));
    drawn.send(440.1, &mut link, 0, ACK | FIN, b"");
    let all = drawn.exchanges();
    let facts = all.iter().map(|exchange| exchange.http.as_ref().unwrap());
    let facts: Vec<_> = facts
        .map(|http| (http.version.as_str(), http.status))
        .collect();
    assert_eq!(facts, [("2", 200), ("2", 200)]);
    assert_eq!(all[0].url, "http://example.org/");
    assert_eq!(found(&all[0]), [("server-think-time", 300.0)]);
    assert_eq!(found(&all[1]), []);
    assert!(all[1].reused);
}

#[test]
fn http2_after_an_upgrade_is_one_exchange_with_the_request_that_upgraded() {
    let (mut drawn, mut link) = opened(80);
    let request =
        b"GET /a HTTP/1.1\r\nHost: example.org\r\nConnection: Upgrade, HTTP2-Settings\r\n\
        Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n";
    drawn.send(40.1, &mut link, 0, ACK, request);
    let switches =
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let answer = [&switches[..], &SETTINGS, &answers(1)].concat();
    drawn.send(80.1, &mut link, 1, ACK, &answer);
    drawn.send(80.2, &mut link, 0, ACK, &[PREFACE, &SETTINGS].concat());
    drawn.send(90.0, &mut link, 0, ACK, &asks(3));
    drawn.send(130.0, &mut link, 1, ACK, &answers(3));
    drawn.send(130.1, &mut link, 0, ACK | FIN, b"");
    let all = drawn.exchanges();
    let facts = all.iter().map(|exchange| exchange.http.as_ref().unwrap());
    let facts: Vec<_> = facts
        .map(|http| (http.status, http.interim.clone()))
        .collect();
    assert_eq!(facts, [(200, vec![101]), (200, vec![])]);
    let urls: Vec<_> = all.iter().map(|exchange| exchange.url.as_str()).collect();
    assert_eq!(urls, ["http://example.org/a", "http://example.org/"]);
    assert!(all.iter().all(|exchange| found(exchange).is_empty()));
}

/// The same IPv4 packet in fragments.
fn fragments(bytes: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    bytes[6] = 0;
    let packet = roundtrip_wire::packet::Packet::parse(&bytes).unwrap();
    roundtrip_wire::packet::fragments(&packet, mtu)
        .unwrap()
        .collect()
}

#[test]
fn fragments_are_joined_and_those_that_lack_others_are_counted() {
    let (mut drawn, mut link) = opened(80);
    drawn.send(40.1, &mut link, 0, ACK, &crate::packets::request("/"));
    // The answer is drawn elsewhere, to be sent in pieces.
    let mut elsewhere = Drawn::new();
    let mut copy = Link::new(50_000, 80);
    (copy.next, copy.hops) = (link.next, link.hops);
    let answer = crate::packets::answer(3000, "");
    let whole = elsewhere.send(0.0, &mut copy, 1, ACK, &answer);
    let pieces = fragments(&whole, 1400);
    assert_eq!(pieces.len(), 3);
    for piece in pieces.iter().rev() {
        drawn.frame(80.1, piece);
    }
    link.next = copy.next;
    drawn.send(80.2, &mut link, 0, ACK | FIN, b"");
    // One of another packet, whose others never come.
    let mut other = pieces[1].clone();
    other[4..6].copy_from_slice(&[9, 9]);
    drawn.frame(90.0, &other);
    let (all, counts) = drawn.read();
    assert_eq!((counts.fragments, counts.other), (1, 0));
    let http = all[0].exchanges[0].http.as_ref().unwrap();
    assert_eq!((http.status, http.downloaded), (200, 3000));
}

#[test]
fn a_server_of_an_unknown_protocol_may_speak_of_its_own_accord() {
    let (mut drawn, mut link) = opened(6667);
    drawn.send(40.1, &mut link, 0, ACK, b"NICK x\r\n");
    for n in 0..6 {
        let at = 80.1 + 5000.0 * f64::from(n);
        drawn.send(at, &mut link, 1, ACK, b":server NOTICE x :hello\r\n");
        drawn.send(at + 0.1, &mut link, 0, ACK, b"");
    }
    let (all, _) = drawn.read();
    assert_eq!(found(&all[0].exchanges[0]), []);
    let undecidable = all[0].undecidable.iter();
    let pauses = undecidable.filter(|it| it.what.contains("unprompted"));
    assert_eq!(pauses.count(), 1);
}

#[test]
fn an_answer_that_never_came_was_not_lost_on_its_way() {
    let (mut drawn, mut link) = opened(80);
    drawn.send(40.1, &mut link, 0, ACK, &crate::packets::request("/"));
    drawn.send(80.1, &mut link, 1, ACK, b"");
    let again = crate::packets::Segment {
        sequence: Some(1001),
        flags: ACK,
        payload: &crate::packets::request("/"),
        ..Default::default()
    };
    drawn.segment(5000.0, &mut link, 0, again);
    let (all, _) = drawn.read();
    let named = found(&all[0].exchanges[0]);
    assert!(
        named
            .iter()
            .all(|(id, _)| *id != "response-segment-lost" && *id != "path-varies")
    );
}

#[test]
fn what_comes_long_after_a_connection_is_not_its() {
    let (mut drawn, mut link) = opened(80);
    drawn.send(40.1, &mut link, 0, ACK, &crate::packets::request("/"));
    drawn.send(80.1, &mut link, 1, ACK, &crate::packets::answer(10, ""));
    drawn.send(80.2, &mut link, 0, ACK, b"");
    drawn.send(1e8, &mut link, 0, ACK, &crate::packets::request("/late"));
    drawn.send(
        1e8 + 40.0,
        &mut link,
        1,
        ACK,
        &crate::packets::answer(10, ""),
    );
    let (all, counts) = drawn.read();
    assert_eq!(counts.connections, 2);
    assert!(all.iter().all(|one| one.exchanges.len() == 1));
}

/// A connection; only the packets of these sides were captured.
fn captured(sides: &[usize]) -> (Vec<roundtrip_trace::Conversation>, u64) {
    let (mut all, mut some) = (Drawn::new(), Drawn::new());
    let mut link = Link::new(50_000, 80);
    let request = crate::packets::request("/");
    let answer = crate::packets::answer(10, "");
    let steps: [(f64, usize, u8, &[u8]); 6] = [
        (0.0, 0, SYN, b""),
        (40.0, 1, SYN | ACK, b""),
        (40.1, 0, ACK, b""),
        (40.2, 0, ACK, &request),
        (380.2, 1, ACK, &answer),
        (380.3, 0, ACK, b""),
    ];
    for (at, side, flags, payload) in steps {
        let bytes = all.send(at, &mut link, side, flags, payload);
        if sides.contains(&side) {
            some.frame(at, &bytes);
        }
    }
    let (all, counts) = some.read();
    (all, counts.one_way)
}

#[test]
fn of_one_direction_alone_no_wait_is_explained() {
    let (both, one_way) = captured(&[0, 1]);
    assert_eq!((both[0].exchanges.len(), one_way), (1, 0));
    for side in [0, 1] {
        let (all, one_way) = captured(&[side]);
        assert_eq!(one_way, 1, "side {side}");
        assert!(all[0].exchanges.is_empty());
        let undecidable = all[0].undecidable.iter();
        assert!(
            undecidable
                .clone()
                .any(|it| it.needs == "a capture of both directions")
        );
    }
}

#[test]
fn pipelined_requests_wait_for_their_turn_and_the_server_is_blamed_once() {
    let (mut drawn, mut link) = opened(80);
    let requests = ["/slow", "/b", "/c"].map(crate::packets::request).concat();
    drawn.send(40.1, &mut link, 0, ACK, &requests);
    drawn.send(80.2, &mut link, 1, ACK, b"");
    for (n, at) in [380.2, 380.4, 395.6].into_iter().enumerate() {
        drawn.send(at, &mut link, 1, ACK, &crate::packets::answer(100 * n, ""));
    }
    drawn.send(395.7, &mut link, 0, ACK | FIN, b"");
    let all = drawn.exchanges();
    let named: Vec<_> = all.iter().flat_map(found).collect();
    assert_eq!(named.first(), Some(&("server-think-time", 300.0)));
    let phases = all.iter().flat_map(roundtrip_model::Exchange::phases);
    let server: f64 = phases.map(|phase| phase.waited.server).sum();
    assert!(server < 320.0, "{server}");
    let totals: Vec<_> = all.iter().map(|e| e.total().as_micros()).collect();
    assert_eq!(totals, [380_200, 200, 15_200]);
}
