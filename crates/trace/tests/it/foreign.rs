//! What other projects' clients do, and losses that show only in the numbers of packets or at the
//! other end: drawn packet by packet.

use roundtrip_model::{Exchange, Phase, PhaseName};
use roundtrip_trace::VantagePoint;

use crate::packets::{
    ACK, Drawn, Link, RST, SYN, Segment, answer, client_hello, found, hello, long, record, request,
    server_hello, short,
};

const R: f64 = 20.0;
/// The end of the handshake, at the client.
const SHAKEN: f64 = 2.0 * R + 0.2;

fn phase(exchange: &Exchange, name: PhaseName) -> Phase {
    let mut phases = exchange.phases().into_iter();
    phases.find(|phase| phase.name == name).unwrap()
}

/// A handshake at the client's end; the Finished is this long.
fn shaken(hello: &[u8], finished: usize) -> (Drawn, Link) {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    drawn.open(0.0, &mut link, R);
    let flight = [server_hello(false), record(20, 6), record(23, 1200)].concat();
    drawn.send(R + 0.1, &mut link, 0, ACK, hello);
    drawn.send(2.0 * R + 0.1, &mut link, 1, ACK, &flight);
    drawn.send(SHAKEN, &mut link, 0, ACK, &record(23, finished));
    (drawn, link)
}

/// A handshake and a request whose answer came at once; the server's flight is a single segment,
/// sent twice, and the capture was made at this end.
fn flight_lost(place: VantagePoint, id_is_missing: bool) -> Exchange {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    let far = if place == VantagePoint::Client {
        R
    } else {
        0.05
    };
    let near = R + 0.05 - far;
    drawn.send(0.0, &mut link, 0, SYN, b"");
    drawn.send(far, &mut link, 1, SYN | ACK, b"");
    drawn.send(far + near, &mut link, 0, ACK, b"");
    let mut at = far + near + 1.0;
    let hello = client_hello(&["http/1.1"], false);
    drawn.send(at, &mut link, 0, ACK, &hello);
    at += far;
    drawn.send(at, &mut link, 1, ACK, b"");
    let flight = [server_hello(false), record(20, 6), record(23, 1100)].concat();
    let again = Segment {
        sequence: Some(link.next[1]),
        flags: ACK,
        payload: &flight,
        ..Segment::default()
    };
    if place == VantagePoint::Client {
        drawn.ids[1] += u16::from(id_is_missing);
        link.next[1] += flight.len() as u32;
    } else {
        drawn.send(at, &mut link, 1, ACK, &flight);
    }
    at += 200.0 + R;
    drawn.segment(at, &mut link, 1, again);
    at += near;
    drawn.send(at, &mut link, 0, ACK, b"");
    let request = [record(23, 58), record(23, 200)].concat();
    drawn.send(at + 0.5, &mut link, 0, ACK, &request);
    at += 0.5 + far;
    for bytes in [180, 700, 600, 600, 600] {
        drawn.send(at, &mut link, 1, ACK, &record(23, bytes));
    }
    drawn.send(at + near, &mut link, 0, ACK, b"");
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, place);
    all[0].exchanges[0].clone()
}

#[test]
fn a_flight_that_was_seen_to_leave_twice_was_lost_and_not_late() {
    let exchange = flight_lost(VantagePoint::Server, false);
    let names = found(&exchange);
    assert_eq!(names, [("response-segment-lost", 220.0)], "{exchange:#?}");
}

#[test]
fn a_missing_number_shows_that_a_packet_is_missing() {
    let exchange = flight_lost(VantagePoint::Client, true);
    let names = found(&exchange);
    assert_eq!(names, [("response-segment-lost", 220.0)], "{exchange:#?}");
    let finding = &exchange.findings[0];
    assert!(
        finding
            .evidence
            .contains("1 packet of the server did not arrive")
    );
    // Without a witness, the server was late.
    let exchange = flight_lost(VantagePoint::Client, false);
    assert_eq!(found(&exchange), [("slow-tls-server", 220.0)]);
}

#[test]
fn a_change_of_cipher_between_two_flights_hides_no_window() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    drawn.open(0.0, &mut link, R);
    drawn.send(
        R + 0.1,
        &mut link,
        0,
        ACK,
        &client_hello(&["http/1.1"], false),
    );
    let at = 2.0 * R + 0.1;
    let flight = [
        server_hello(false),
        record(20, 6),
        record(23, 16_406),
        record(23, 3_000),
    ];
    let flight = flight.concat();
    let before = link.next[0];
    for (n, segment) in flight.chunks(1460).enumerate() {
        let late = if n < 10 { 0.0 } else { R };
        if n == 10 {
            drawn.send(at + 13.0, &mut link, 0, ACK, &record(20, 6));
        }
        let segment = Segment {
            acknowledges: Some(before),
            flags: ACK,
            payload: segment,
            ..Segment::default()
        };
        drawn.segment(at + late + n as f64 * 0.01, &mut link, 1, segment);
    }
    let request = [record(23, 58), record(23, 200)].concat();
    drawn.send(at + R + 1.0, &mut link, 0, ACK, &request);
    drawn.send(at + 2.0 * R + 1.0, &mut link, 1, ACK, &record(23, 1_000));
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(names, [("server-flight-over-window", R)], "{exchange:#?}");
}

#[test]
fn a_client_that_pads_its_records_acknowledges_settings_and_asks_nothing() {
    // 16 zeros in each record; the acknowledgement leaves 6 ms after the settings came.
    let padded = 16;
    let (mut drawn, mut link) = shaken(&client_hello(&["h2"], false), 58 + padded);
    drawn.send(SHAKEN + 0.1, &mut link, 0, ACK, &record(23, 170 + padded));
    let at = SHAKEN + R + 0.1;
    // Tickets, settings, their acknowledgement, and a head with early hints.
    for bytes in [184, 49, 44, 64] {
        drawn.send(at, &mut link, 1, ACK, &record(23, bytes));
    }
    drawn.send(at + 6.0, &mut link, 0, ACK, &record(23, 31 + padded));
    drawn.send(at + 68.0, &mut link, 1, ACK, b"");
    drawn.send(at + 700.0, &mut link, 1, ACK, &record(23, 164));
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(names[0].0, "server-think-time", "{exchange:#?}");
    assert!((names[0].1 - 700.0).abs() < 5.0, "{names:?}");
}

#[test]
fn a_server_that_acknowledges_settings_late_has_not_answered() {
    let (mut drawn, mut link) = shaken(&client_hello(&["h2"], false), 58);
    drawn.send(SHAKEN + 0.1, &mut link, 0, ACK, &record(23, 116));
    drawn.send(SHAKEN + R + 0.1, &mut link, 1, ACK, &record(23, 184));
    drawn.send(SHAKEN + R + 26.0, &mut link, 1, ACK, &record(23, 31));
    drawn.send(SHAKEN + R + 800.0, &mut link, 1, ACK, &record(23, 900));
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(names, [("server-think-time", 800.0)], "{exchange:#?}");
}

#[test]
fn a_client_that_cannot_resume_gets_no_tickets() {
    let (mut drawn, mut link) = shaken(&hello(&["http/1.1"], &[]), 58);
    drawn.send(SHAKEN + 0.1, &mut link, 0, ACK, &record(23, 120));
    // The head is a separate small record.
    let answer = [record(23, 210), record(23, 16_406), record(23, 4_000)].concat();
    let at = SHAKEN + 0.1 + R;
    for (n, segment) in answer.chunks(1460).enumerate() {
        let late = if n < 10 { 0.0 } else { R };
        drawn.send(at + late, &mut link, 1, ACK, segment);
        if n % 2 == 1 {
            drawn.send(at + late + 0.05, &mut link, 0, ACK, b"");
        }
    }
    let exchange = drawn.exchange();
    assert_eq!(found(&exchange), [("slow-start", R)], "{exchange:#?}");
}

#[test]
fn probes_of_the_path_are_neither_requests_nor_answers() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &long(0, 1200));
    drawn.datagram(R, 1, &long(0, 1200));
    drawn.datagram(R + 0.1, 1, &long(2, 1000));
    drawn.datagram(R + 0.3, 0, &short(120));
    let at = 2.0 * R + 0.4;
    // Both ends search for a larger packet size; a token and a large acknowledgement come too.
    drawn.datagram(R + 1.0, 0, &short(1472));
    drawn.datagram(at, 1, &short(1472));
    drawn.datagram(at + 0.1, 1, &short(430));
    drawn.datagram(at + 0.2, 1, &short(74));
    drawn.datagram(at + 460.0, 1, &short(1100));
    let exchange = drawn.exchange();
    assert_eq!(
        found(&exchange),
        [("server-think-time", 460.0)],
        "{exchange:#?}"
    );
    let phases = exchange.phases();
    let asks = phases.iter().find(|phase| phase.name == PhaseName::Request);
    assert!(asks.is_none_or(|asks| asks.ms() < 0.5), "{exchange:#?}");
}

#[test]
fn a_first_datagram_that_is_large_may_be_the_answer() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &long(0, 1200));
    drawn.datagram(R, 1, &long(0, 1200));
    drawn.datagram(R + 0.3, 0, &short(120));
    drawn.datagram(2.0 * R + 300.4, 1, &short(1350));
    let exchange = drawn.exchange();
    assert!(exchange.ok(), "{exchange:#?}");
    assert_eq!(found(&exchange), [("late-answer", 300.0)], "{exchange:#?}");
}

#[test]
fn an_answer_may_come_sooner_than_the_handshake_took() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &long(0, 1200));
    drawn.datagram(156.0, 1, &long(0, 1200));
    drawn.datagram(156.3, 0, &short(120));
    drawn.datagram(217.0, 1, &short(900));
    let exchange = drawn.exchange();
    assert!(exchange.ok(), "{exchange:#?}");
    assert_eq!(exchange.round_trips(), 2, "{exchange:#?}");
}

/// Seen at the server's end: the first acknowledgement took much longer than later ones.
#[test]
fn a_path_that_was_slow_at_first_is_not_a_late_request() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.send(0.0, &mut link, 0, SYN, b"");
    drawn.send(0.05, &mut link, 1, SYN | ACK, b"");
    drawn.send(113.0, &mut link, 0, ACK, b"");
    drawn.send(113.1, &mut link, 0, ACK, &crate::packets::request("/"));
    drawn.send(113.2, &mut link, 1, ACK, &crate::packets::answer(3_000, ""));
    drawn.send(113.2 + R, &mut link, 0, ACK, b"");
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let names = found(&all[0].exchanges[0]);
    assert!(
        names.iter().all(|(name, _)| *name != "late-request"),
        "{names:?}"
    );
    let connect = phase(&all[0].exchanges[0], PhaseName::Tcp);
    assert!((connect.waited.network - 113.0).abs() < 1.0, "{connect:?}");
}

#[test]
fn the_rest_of_a_hello_that_a_syn_cut_belongs_to_its_flight_however_late_it_leaves() {
    let cookie = [34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1];
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    let hello = client_hello(&["http/1.1"], false);
    let (first, rest) = hello.split_at(hello.len() - 65);
    let syn = Segment {
        flags: SYN,
        options: &cookie,
        payload: first,
        ..Segment::default()
    };
    drawn.segment(0.0, &mut link, 0, syn);
    drawn.send(R, &mut link, 1, SYN | ACK, b"");
    drawn.send(R + 0.05, &mut link, 0, ACK, b"");
    drawn.send(R + 4.2, &mut link, 0, ACK, rest);
    let flight = [server_hello(false), record(20, 6), record(23, 1200)].concat();
    drawn.send(2.0 * R + 4.2, &mut link, 1, ACK, &flight);
    let request = [record(23, 58), record(23, 200)].concat();
    drawn.send(2.0 * R + 4.4, &mut link, 0, ACK, &request);
    drawn.send(3.0 * R + 4.5, &mut link, 1, ACK, &record(23, 900));
    let exchange = drawn.exchange();
    let told = &exchange.tcp.as_ref().unwrap().fast_open;
    assert_eq!(told.data_sent, hello.len() as u64);
    let names = found(&exchange);
    assert!(
        names.contains(&("fast-open-flight-too-large", R)),
        "{names:?}"
    );
}

/// A NAT on the client's own machine acknowledges what it passes on.
#[test]
fn a_nearby_host_that_acknowledges_is_not_the_server() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.open(0.0, &mut link, R);
    drawn.send(21.0, &mut link, 0, ACK, &request("/"));
    drawn.send(21.1, &mut link, 1, ACK, b"");
    // Round trips of one path are not equally long.
    drawn.send(21.0 + 0.95 * R, &mut link, 1, ACK, &answer(500, ""));
    drawn.send(21.1 + 0.95 * R, &mut link, 0, ACK, b"");
    let (all, _) = drawn.read();
    let to_server = all[0].vantage.to_server.unwrap().as_secs_f64() * 1e3;
    assert!((to_server - R).abs() < 0.1, "{to_server}");
}

/// Windows asks three times, half a second apart.
#[test]
fn a_client_that_asks_again_after_a_refusal_waited_for_itself() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    for at in [0.0, 500.0, 1000.0] {
        let again = Segment {
            sequence: Some(1000),
            flags: SYN,
            ..Segment::default()
        };
        drawn.segment(at, &mut link, 0, again);
        drawn.send(at + R, &mut link, 1, RST | ACK, b"");
    }
    let exchange = drawn.exchange();
    let failure = exchange.failure.as_ref().unwrap();
    assert_eq!(
        failure.message,
        "10.0.0.2:80 refused the connection 3 times"
    );
    let waited = phase(&exchange, PhaseName::Tcp).waited;
    let parts = (waited.network.round(), waited.client.round());
    assert_eq!(parts, (3.0 * R, 1000.0 - 2.0 * R), "{exchange:#?}");
}
