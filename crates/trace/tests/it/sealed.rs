//! TLS without its keys, drawn packet by packet: cut, lost, with early data, and with records of
//! HTTP/2 that ask nothing.

use roundtrip_model::{Exchange, PhaseName, Security};

use crate::packets::{ACK, Drawn, Link, Segment, client_hello, found, record, server_hello};

const R: f64 = 150.0;

/// A TLS 1.3 connection with two requests, the first of which takes 40 ms more. The capture has
/// lost the segment with the number `lost`.
fn encrypted(keeps: usize, lost: Option<usize>) -> Drawn {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    drawn.open(0.0, &mut link, R);
    drawn.keeps = keeps;
    let flight = [server_hello(false), record(20, 6), record(23, 3000)].concat();
    let finished = [record(20, 6), record(23, 58)].concat();
    let begin = R + 0.1;
    let mut sent = vec![
        (begin, 0, client_hello(&["http/1.1"], false)),
        (begin + R, 1, flight),
        (begin + R + 0.5, 0, finished),
        (begin + R + 0.6, 0, record(23, 300)),
        (begin + 2.0 * R + 41.0, 1, record(23, 9000)),
    ];
    sent.push((5000.0, 0, record(23, 300)));
    sent.push((5000.1 + R, 1, record(23, 9000)));
    let mut number = 0;
    for (at, side, bytes) in sent {
        for segment in bytes.chunks(1400) {
            if lost == Some(number) {
                link.next[side] += segment.len() as u32;
            } else {
                drawn.send(at, &mut link, side, ACK, segment);
            }
            number += 1;
        }
        drawn.send(at + 0.01, &mut link, 1 - side, ACK, b"");
    }
    drawn
}

#[test]
fn tls_whose_packets_were_cut_or_lost_is_read_by_its_bursts() {
    let all = [
        ("whole", usize::MAX, None),
        ("96", 82, None),
        ("128", 114, None),
        ("headers only", 40, None),
        ("a server hello lost", usize::MAX, Some(1)),
        ("a part of the chain lost", usize::MAX, Some(2)),
        ("a part of the first answer lost", usize::MAX, Some(7)),
        ("a request lost", usize::MAX, Some(13)),
    ];
    for (name, keeps, lost) in all {
        let drawn = encrypted(keeps, lost);
        let exchanges = drawn.exchanges();
        let failed: Vec<_> = exchanges
            .iter()
            .filter_map(|e| e.failure.as_ref())
            .collect();
        assert!(failed.is_empty(), "{name}: {failed:#?}");
        if keeps == 40 {
            continue;
        }
        let expected = if name == "a request lost" { 1 } else { 2 };
        assert_eq!(exchanges.len(), expected, "{name}: {exchanges:#?}");
        let trips = exchanges[0].round_trips();
        assert_eq!(trips, 3, "{name}: {:#?}", exchanges[0]);
        assert_eq!(exchanges[0].used.security, Security::Tls13, "{name}");
    }
}

/// A connection whose handshake is over at `2 R + 0.2`, with these protocols.
fn shaken(alpn: &[&str]) -> (Drawn, Link) {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    drawn.open(0.0, &mut link, R);
    let flight = [server_hello(false), record(20, 6), record(23, 1200)].concat();
    let finished = [record(20, 6), record(23, 58)].concat();
    drawn.send(R + 0.1, &mut link, 0, ACK, &client_hello(alpn, false));
    drawn.send(2.0 * R + 0.1, &mut link, 1, ACK, &flight);
    drawn.send(2.0 * R + 0.2, &mut link, 0, ACK, &finished);
    (drawn, link)
}

#[test]
fn frames_of_http2_that_ask_nothing_are_not_requests_and_short_requests_are() {
    let (mut drawn, mut link) = shaken(&["h2"]);
    let (settings, updates, indexed) = (31, 48, 39);
    let at = 2.0 * R + 0.3;
    drawn.send(at, &mut link, 0, ACK, &record(23, 5 + 17 + 24 + 27));
    drawn.send(at + 0.1, &mut link, 0, ACK, &record(23, 120));
    drawn.send(at + R, &mut link, 1, ACK, &record(23, 60));
    drawn.send(
        at + R + 0.1,
        &mut link,
        0,
        ACK,
        &record(23, settings as usize),
    );
    // It left before the acknowledgement of the settings came.
    let before = link.next[0] - settings;
    let answer = Segment {
        acknowledges: Some(before),
        flags: ACK,
        payload: &record(23, 1300),
        ..Segment::default()
    };
    drawn.segment(at + R + 30.0, &mut link, 1, answer);
    drawn.send(at + R + 30.1, &mut link, 0, ACK, &record(23, updates));
    drawn.send(at + 3000.0, &mut link, 0, ACK, &record(23, indexed));
    drawn.send(at + 3000.1 + R, &mut link, 1, ACK, &record(23, 1300));
    drawn.send(at + 3000.2 + R, &mut link, 0, ACK, &record(23, updates));
    let exchanges = drawn.exchanges();
    let trips: Vec<u32> = exchanges.iter().map(Exchange::round_trips).collect();
    assert_eq!(trips, [3, 1], "{exchanges:#?}");
    let total = exchanges[0].total().as_secs_f64() * 1e3;
    assert!((total - 3.0 * R - 30.0).abs() < 1.0, "{total}");
}

#[test]
fn early_data_that_was_accepted_has_its_answer_in_the_servers_flight() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    drawn.open(0.0, &mut link, R);
    let asked = [
        client_hello(&["http/1.1"], true),
        record(20, 6),
        record(23, 200),
    ]
    .concat();
    let answer = [
        server_hello(true),
        record(20, 6),
        record(23, 28),
        record(23, 58),
    ]
    .concat();
    let at = R + 0.1;
    drawn.send(at, &mut link, 0, ACK, &asked);
    drawn.send(
        at + R,
        &mut link,
        1,
        ACK,
        &[answer, record(23, 900)].concat(),
    );
    // The end of early data, and the Finished.
    let end = [record(23, 26), record(23, 58)].concat();
    drawn.send(at + R + 0.2, &mut link, 0, ACK, &end);
    drawn.send(at + 2.0 * R + 0.3, &mut link, 1, ACK, &record(23, 260));
    let exchange = drawn.exchange();
    assert_eq!(exchange.round_trips(), 2, "{exchange:#?}");
    let total = exchange.total().as_secs_f64() * 1e3;
    assert!((total - 2.0 * R).abs() < 1.0, "{total}");
    assert_eq!(found(&exchange), []);
}

/// Two tickets, as a server sends them after the handshake.
fn tickets() -> Vec<u8> {
    [record(23, 102), record(23, 102)].concat()
}

/// Sends `bytes` in full segments: `first` of them at `at`, the others a round trip later.
fn send_in_two_flights(drawn: &mut Drawn, link: &mut Link, at: f64, bytes: &[u8], first: usize) {
    for (n, segment) in bytes.chunks(1460).enumerate() {
        let at = if n < first { at } else { at + R };
        drawn.send(at + n as f64 * 0.01, link, 1, ACK, segment);
    }
    drawn.send(at + R + 1.0, link, 0, ACK, b"");
}

#[test]
fn a_record_that_a_window_cut_shows_slow_start_behind_the_tickets() {
    let (mut drawn, mut link) = shaken(&["http/1.1"]);
    let at = 2.0 * R + 0.3;
    drawn.send(at, &mut link, 0, ACK, &record(23, 200));
    drawn.send(at + R, &mut link, 1, ACK, &tickets());
    let answer = [record(23, 180), record(23, 16_406), record(23, 5_000)].concat();
    send_in_two_flights(&mut drawn, &mut link, at + R + 0.1, &answer, 9);
    let exchange = drawn.exchange();
    assert_eq!(found(&exchange), [("slow-start", R)], "{exchange:#?}");
    let total = exchange.total().as_secs_f64() * 1e3;
    assert!((total - 4.0 * R).abs() < 2.0, "{total}");
}

/// The handshake of HTTP/2, a request at `at`, and the server's SETTINGS and acknowledgement a
/// round trip later.
fn asked_over_h2() -> (Drawn, Link, f64) {
    let (mut drawn, mut link) = shaken(&["h2"]);
    let at = 2.0 * R + 0.3;
    drawn.send(at, &mut link, 0, ACK, &record(23, 5 + 17 + 24 + 27));
    drawn.send(at + 0.1, &mut link, 0, ACK, &record(23, 120));
    let settings = [tickets(), record(23, 43), record(23, 31)].concat();
    drawn.send(at + R, &mut link, 1, ACK, &settings);
    (drawn, link, at + R)
}

#[test]
fn an_acknowledgement_of_settings_does_not_divide_an_answer() {
    let (mut drawn, mut link, at) = asked_over_h2();
    let answer = [record(23, 100), record(23, 16_406), record(23, 5_000)].concat();
    for segment in answer.chunks(1460).take(9) {
        drawn.send(at + 0.1, &mut link, 1, ACK, segment);
    }
    drawn.send(at + 0.2, &mut link, 0, ACK, &record(23, 31));
    // Two updates of windows leave while the answer is under way.
    drawn.send(at + 0.3, &mut link, 0, ACK, &record(23, 48));
    for segment in answer.chunks(1460).skip(9) {
        drawn.send(at + R + 0.2, &mut link, 1, ACK, segment);
    }
    let exchange = drawn.exchange();
    assert_eq!(found(&exchange), [("slow-start", R)], "{exchange:#?}");
}

#[test]
fn a_server_that_pauses_in_its_answer_is_not_asked_again_by_settings() {
    let (mut drawn, mut link, at) = asked_over_h2();
    let piece = [record(23, 100), record(23, 2_031)].concat();
    for segment in piece.chunks(1460) {
        drawn.send(at + 0.1, &mut link, 1, ACK, segment);
    }
    drawn.send(at + 0.2, &mut link, 0, ACK, &record(23, 31));
    for segment in record(23, 2_031).chunks(1460) {
        drawn.send(at + 300.1, &mut link, 1, ACK, segment);
    }
    let exchange = drawn.exchange();
    assert_eq!(found(&exchange), [("body-stalls", 300.0)], "{exchange:#?}");
}

#[test]
fn what_follows_equal_tickets_is_the_answer_however_soon() {
    let (mut drawn, mut link) = shaken(&["http/1.1"]);
    let at = 2.0 * R + 0.3;
    drawn.send(at, &mut link, 0, ACK, &record(23, 200));
    drawn.send(at + R, &mut link, 1, ACK, &tickets());
    // Less than a quarter of a round trip later.
    let answer = [record(23, 180), record(23, 1_000)].concat();
    drawn.send(at + R + 30.0, &mut link, 1, ACK, &answer);
    let exchange = drawn.exchange();
    let phases = exchange.phases();
    let mut phases = phases.iter();
    let wait = phases.find(|phase| phase.name == PhaseName::FirstByte);
    let wait = wait.map_or(0.0, roundtrip_model::Phase::ms);
    assert!((wait - R - 30.0).abs() < 0.5, "{wait}: {exchange:#?}");
}

#[test]
fn a_record_over_the_window_is_not_hidden_by_tickets_in_one_record() {
    let (mut drawn, mut link) = shaken(&["http/1.1"]);
    let at = 2.0 * R + 0.3;
    drawn.send(at, &mut link, 0, ACK, &record(23, 200));
    drawn.send(at + R, &mut link, 1, ACK, &record(23, 210));
    let answer = [record(23, 16_406), record(23, 1_900)].concat();
    send_in_two_flights(&mut drawn, &mut link, at + R + 0.1, &answer, 9);
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(names, [("record-over-window", R)], "{exchange:#?}");
}

/// The records of Go's client and server over a path of half a millisecond: the request is as long
/// as three control frames, and the server's own frames come just after it. The other server sends
/// its SETTINGS late.
#[test]
fn a_request_that_is_as_long_as_control_frames_is_one_if_an_answer_follows() {
    for (first, second) in [(49, 44), (44, 49)] {
        let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 443));
        drawn.open(0.0, &mut link, 0.5);
        let hello = client_hello(&["h2", "http/1.1"], false);
        drawn.send(2.0, &mut link, 0, ACK, &hello);
        let flight = [server_hello(false), record(20, 6), record(23, 2000)].concat();
        drawn.send(2.5, &mut link, 1, ACK, &flight);
        let finished = [record(20, 6), record(23, 58)].concat();
        drawn.send(4.0, &mut link, 0, ACK, &finished);
        drawn.send(4.4, &mut link, 0, ACK, &record(23, 92));
        // What the server sends in between was not caused by what has just left.
        let unasked = |acknowledges, payload| Segment {
            acknowledges: Some(acknowledges),
            flags: ACK,
            payload,
            ..Segment::default()
        };
        let control = record(23, first);
        let segment = unasked(link.next[0] - 92, &control);
        drawn.segment(4.7, &mut link, 1, segment);
        drawn.send(5.45, &mut link, 0, ACK, &record(23, 69));
        let control = record(23, second);
        let segment = unasked(link.next[0] - 69, &control);
        drawn.segment(5.55, &mut link, 1, segment);
        drawn.send(5.6, &mut link, 0, ACK, &record(23, 31));
        drawn.send(6.2, &mut link, 1, ACK, &record(23, 162));
        drawn.send(6.3, &mut link, 0, ACK, b"");
        let exchange = drawn.exchange();
        assert!(exchange.failure.is_none());
        assert_eq!(exchange.http.as_ref().unwrap().downloaded, 162);
    }
}
