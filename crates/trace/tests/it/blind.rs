//! Causes that packets alone show, each from a connection that is drawn packet by packet.

use roundtrip_trace::VantagePoint;

use crate::packets::{
    ACK, Drawn, FIN, Link, RST, SYN, Segment, answer, client_hello, found, long, record, request,
    server_hello, short,
};

const R: f64 = 150.0;

#[test]
fn a_request_that_crosses_the_end_of_its_connection_is_the_next_ones() {
    let mut drawn = Drawn::new();
    let (mut kept, mut next) = (Link::new(50_000, 80), Link::new(50_001, 80));
    drawn.open(0.0, &mut kept, R);
    drawn.send(R + 0.1, &mut kept, 0, ACK, &request("/"));
    drawn.send(2.0 * R, &mut kept, 1, ACK, &answer(100, ""));
    drawn.send(2.0 * R + 0.1, &mut kept, 0, ACK, b"");
    // The server's end left before the request arrived.
    drawn.send(5000.0, &mut kept, 0, ACK, &request("/again"));
    drawn.segment(
        5000.0 + R - 20.0,
        &mut kept,
        1,
        Segment {
            flags: FIN | ACK,
            acknowledges: Some(1000 + 1 + request("/").len() as u32),
            ..Segment::default()
        },
    );
    drawn.send(5000.0 + R - 19.9, &mut kept, 0, FIN | ACK, b"");
    drawn.send(5000.0 + R, &mut kept, 1, RST, b"");
    let at = 5000.0 + R - 19.8;
    drawn.open(at, &mut next, R);
    drawn.send(at + R + 0.1, &mut next, 0, ACK, &request("/again"));
    drawn.send(at + 2.0 * R + 0.2, &mut next, 1, ACK, &answer(100, ""));
    let all = drawn.exchanges();
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all.iter().all(|exchange| exchange.failure.is_none()));
    let names = found(&all[1]);
    assert_eq!(names, [("reuse-race", 2.0 * R - 20.0)], "{:#?}", all[1]);
}

#[test]
fn an_answer_that_announces_the_end_explains_the_next_connection() {
    let mut drawn = Drawn::new();
    let (mut one, mut two) = (Link::new(50_000, 80), Link::new(50_001, 80));
    for (at, link) in [(0.0, &mut one), (1000.0, &mut two)] {
        drawn.open(at, link, R);
        drawn.send(at + R + 0.1, link, 0, ACK, &request("/"));
        let closes = answer(100, "Connection: close\r\n");
        drawn.send(at + 2.0 * R + 0.2, link, 1, ACK, &closes);
        // The client is faster with its end.
        drawn.send(at + 2.0 * R + 0.3, link, 0, FIN | ACK, b"");
        drawn.send(at + 2.0 * R + 0.4, link, 1, FIN | ACK, b"");
    }
    let all = drawn.exchanges();
    assert_eq!(all.len(), 2);
    assert_eq!(found(&all[1]), [("no-keep-alive", R)], "{:#?}", all[1]);
}

#[test]
fn a_request_that_waits_for_permission_has_its_own_round_trip() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.open(0.0, &mut link, R);
    let head = b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 500\r\n\r\n";
    drawn.send(R + 0.1, &mut link, 0, ACK, head);
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
    drawn.send(2.0 * R + 0.2, &mut link, 1, ACK, interim);
    drawn.send(2.0 * R + 0.3, &mut link, 0, ACK, &[b'x'; 500]);
    drawn.send(3.0 * R + 0.4, &mut link, 1, ACK, &answer(10, ""));
    let exchange = drawn.exchange();
    assert_eq!(found(&exchange), [("expect-continue", R)], "{exchange:#?}");
}

#[test]
fn halves_of_a_short_path_are_alike_in_the_middle() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.send(0.0, &mut link, 0, SYN, b"");
    drawn.send(0.25, &mut link, 1, SYN | ACK, b"");
    drawn.send(0.53, &mut link, 0, ACK, b"");
    drawn.send(0.55, &mut link, 0, ACK, &request("/"));
    drawn.send(0.9, &mut link, 1, ACK, &answer(100, ""));
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Middle);
    let rtt = all[0].exchanges[0].rtt.unwrap();
    assert_eq!(rtt.as_micros(), 530);
}

#[test]
fn what_follows_the_servers_first_data_is_not_of_the_flight_in_the_syn() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    let cookie = [34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1];
    let hello = client_hello(&["http/1.1"], false);
    drawn.segment(
        0.0,
        &mut link,
        0,
        Segment {
            flags: SYN,
            options: &cookie,
            payload: &hello,
            ..Segment::default()
        },
    );
    drawn.send(R, &mut link, 1, SYN | ACK, b"");
    let flight = [server_hello(false), record(20, 6), record(23, 1200)].concat();
    drawn.send(R + 0.1, &mut link, 1, ACK, &flight);
    let finished = [record(20, 6), record(23, 58)].concat();
    drawn.send(R + 0.8, &mut link, 0, ACK, &finished);
    drawn.send(R + 0.9, &mut link, 0, ACK, &record(23, 200));
    drawn.send(2.0 * R + 1.0, &mut link, 1, ACK, &record(23, 900));
    let exchange = drawn.exchange();
    assert_eq!(found(&exchange), [], "{exchange:#?}");
    let told = exchange.tcp.unwrap().fast_open;
    assert_eq!(
        (told.data_sent, told.saved_round_trips),
        (hello.len() as u64, 1)
    );
}

#[test]
fn a_syn_ack_that_was_lost_beyond_the_capture_did_not_connect() {
    // At the server's end: 150 ms to the client, nothing to the server.
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.send(0.0, &mut link, 0, SYN, b"");
    drawn.send(0.05, &mut link, 1, SYN | ACK, b"");
    link.next = [1000, 9000];
    drawn.send(1000.0, &mut link, 0, SYN, b"");
    drawn.send(1000.05, &mut link, 1, SYN | ACK, b"");
    drawn.send(1000.1 + R, &mut link, 0, ACK, b"");
    drawn.send(1000.2 + R, &mut link, 0, ACK, &request("/"));
    drawn.send(1000.3 + R, &mut link, 1, ACK, &answer(100, ""));
    drawn.send(1000.4 + 2.0 * R, &mut link, 0, ACK, b"");
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let exchange = &all[0].exchanges[0];
    assert_eq!(found(exchange), [("syn-lost", 1000.0)], "{exchange:#?}");
}

#[test]
fn a_part_of_a_large_segment_that_was_sent_again_was_lost() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.send(0.0, &mut link, 0, SYN, b"");
    drawn.send(0.05, &mut link, 1, SYN | ACK, b"");
    drawn.send(0.1 + R, &mut link, 0, ACK, b"");
    drawn.send(0.2 + R, &mut link, 0, ACK, &request("/"));
    let whole = answer(14_000, "");
    let first = link.next[1];
    // The network card cuts it into segments of 1460 bytes, the second of which is lost.
    drawn.send(0.3 + R, &mut link, 1, ACK, &whole);
    let lacks = Segment {
        flags: ACK,
        acknowledges: Some(first + 1460),
        ..Segment::default()
    };
    drawn.segment(0.4 + 2.0 * R, &mut link, 0, lacks);
    drawn.segment(
        0.5 + 2.0 * R,
        &mut link,
        1,
        Segment {
            sequence: Some(first + 1460),
            flags: ACK,
            payload: &whole[1460..2920],
            ..Segment::default()
        },
    );
    drawn.send(0.6 + 3.0 * R, &mut link, 0, ACK, b"");
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(
        names.first(),
        Some(&("response-segment-lost", R)),
        "{exchange:#?}"
    );
}

#[test]
fn a_server_that_had_to_stop_had_sent_three_times_what_it_had_received() {
    for (stops_at, expected) in [(3, vec![("quic-amplification-stall", R)]), (2, vec![])] {
        let mut drawn = Drawn::new();
        drawn.datagram(0.0, 0, &long(0, 1200));
        for n in 0..stops_at {
            let kind = if n == 0 { 0 } else { 2 };
            drawn.datagram(R + f64::from(n) * 0.05, 1, &long(kind, 1190));
        }
        drawn.datagram(R + 1.0, 0, &long(0, 1200));
        let more = if stops_at == 3 {
            2.0 * R + 1.1
        } else {
            R + 1.1
        };
        for n in 0..2 {
            drawn.datagram(more + f64::from(n) * 0.05, 1, &long(2, 1100));
        }
        drawn.datagram(more + 1.0, 0, &long(2, 60));
        drawn.datagram(more + 1.1, 0, &short(120));
        drawn.datagram(more + R + 1.3, 1, &short(900));
        let exchange = drawn.exchange();
        assert_eq!(found(&exchange), expected, "{exchange:#?}");
    }
}

#[test]
fn what_a_slow_uplink_needed_is_not_the_servers() {
    // 1 Mbit/s: a full segment takes 12 ms.
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    let (rtt, needed) = (20.0, 12.0);
    drawn.open(0.0, &mut link, rtt);
    let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 99910\r\n\r\n";
    let body = [head.as_bytes(), &vec![b'x'; 99_910]].concat();
    let mut segments = body.chunks(1460);
    let mut arrivals = Vec::new();
    let (mut at, mut free) = (rtt + 0.1, 0.0_f64);
    let mut place = link.next[0];
    // Ten segments at first, and two for each that is acknowledged.
    let mut allowed = 10;
    loop {
        for segment in segments.by_ref().take(allowed) {
            drawn.send(at, &mut link, 0, ACK, segment);
            free = free.max(at) + needed * segment.len() as f64 / 1460.0;
            arrivals.push((free + rtt, segment.len() as u32));
        }
        if arrivals.is_empty() {
            break;
        }
        let (next, bytes) = arrivals.remove(0);
        at = next;
        place += bytes;
        let acknowledgement = Segment {
            flags: ACK,
            acknowledges: Some(place),
            ..Segment::default()
        };
        drawn.segment(at, &mut link, 1, acknowledgement);
        allowed = 2;
    }
    drawn.send(at + 5.0, &mut link, 1, ACK, &answer(100, ""));
    let exchange = drawn.exchange();
    let (name, ms) = found(&exchange)[0];
    let expected = 100_000.0 / 1460.0 * needed;
    assert_eq!(name, "slow-uplink", "{exchange:#?}");
    assert!((ms / expected - 1.0).abs() < 0.05, "{ms} of {expected}");
}

#[test]
fn a_packet_that_was_captured_twice_was_sent_once() {
    let drawn = |twice: bool| {
        let mut drawn = Drawn::new();
        let mut link = Link::new(50_000, 80);
        for (at, side, flags, payload) in [
            (0.0, 0, SYN, vec![]),
            (R, 1, SYN | ACK, vec![]),
            (R + 0.05, 0, ACK, vec![]),
            (R + 0.1, 0, ACK, request("/")),
            (2.0 * R + 0.2, 1, ACK, answer(1000, "")),
        ] {
            let mut packet = drawn.send(at, &mut link, side, flags, &payload);
            // It has crossed a bridge or a router.
            packet[8] -= u8::from(side == 1);
            if twice {
                drawn.frame(at + 0.03, &packet);
            }
        }
        let exchange = drawn.exchange();
        let tcp = exchange.tcp.clone().unwrap();
        (
            exchange.rtt,
            exchange.total(),
            tcp.retransmits,
            found(&exchange),
        )
    };
    assert_eq!(drawn(true), drawn(false));
    assert_eq!(drawn(true).2, 0);
}

#[test]
fn a_server_without_room_limits_the_client() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.open(0.0, &mut link, 20.0);
    let head = b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n";
    drawn.send(
        20.1,
        &mut link,
        0,
        ACK,
        &[&head[..], &[b'x'; 1400]].concat(),
    );
    link.windows[1] = 0;
    drawn.send(40.2, &mut link, 1, ACK, b"");
    link.windows[1] = 60_000;
    drawn.send(340.2, &mut link, 1, ACK, b"");
    drawn.send(340.3, &mut link, 0, ACK, &[b'x'; 1600]);
    drawn.send(360.4, &mut link, 1, ACK, &answer(10, ""));
    let exchange = drawn.exchange();
    let limited = exchange.tcp.as_ref().unwrap().receiver_limited;
    assert_eq!(limited.as_millis(), 300, "{exchange:#?}");
}

#[test]
fn the_first_small_datagram_after_the_handshake_shows_that_the_request_had_come() {
    let mut drawn = Drawn::new();
    drawn.datagram(0.0, 0, &long(0, 1200));
    drawn.datagram(R, 1, &long(0, 1200));
    drawn.datagram(R + 0.1, 1, &long(2, 1000));
    drawn.datagram(R + 0.3, 0, &short(120));
    // An acknowledgement with a ticket and a token, and the answer 200 ms later.
    drawn.datagram(2.0 * R + 0.4, 1, &short(330));
    drawn.datagram(2.0 * R + 200.4, 1, &short(1100));
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(names, [("server-think-time", 200.0)], "{exchange:#?}");
}

#[test]
fn a_lost_segment_before_one_that_arrived_shows_when_both_are_acknowledged() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.open(0.0, &mut link, R);
    let asked = request(&format!("/{}", "x".repeat(1500)));
    let (first, second) = asked.split_at(1460);
    let at = link.next[0];
    drawn.send(R + 0.1, &mut link, 0, ACK, first);
    drawn.send(R + 0.1, &mut link, 0, ACK, second);
    // The second one came, and the first one once more.
    let acknowledgement = |acknowledges: u32| Segment {
        flags: ACK,
        acknowledges: Some(acknowledges),
        ..Segment::default()
    };
    drawn.segment(2.0 * R + 0.1, &mut link, 1, acknowledgement(at));
    let again = Segment {
        sequence: Some(at),
        flags: ACK,
        payload: first,
        ..Segment::default()
    };
    drawn.segment(2.25 * R + 0.1, &mut link, 0, again);
    let all = at + asked.len() as u32;
    drawn.segment(3.25 * R + 0.2, &mut link, 1, acknowledgement(all));
    drawn.send(3.25 * R + 0.3, &mut link, 1, ACK, &answer(100, ""));
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(
        names.first(),
        Some(&("segment-lost", (1.25 * R).round())),
        "{exchange:#?}"
    );
}

#[test]
fn segments_that_never_were_full_show_a_hole() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 80);
    drawn.open(0.0, &mut link, R);
    drawn.send(R + 0.1, &mut link, 0, ACK, &request("/"));
    let whole = answer(4000, "");
    let first = link.next[1];
    let part = |from: usize, until: usize| Segment {
        sequence: Some(first + from as u32),
        flags: ACK,
        payload: &whole[from..until],
        ..Segment::default()
    };
    // Full segments are lost three times; the last one is short and comes.
    let end = whole.len();
    drawn.segment(2.0 * R + 0.2, &mut link, 1, part(end - 500, end));
    drawn.send(2.0 * R + 0.3, &mut link, 0, ACK, b"");
    let mut at = 2.0 * R + 1500.0;
    for from in (0..end - 500).step_by(500) {
        drawn.segment(at, &mut link, 1, part(from, (from + 500).min(end - 500)));
        at += 0.1;
    }
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(
        names.first().map(|(name, _)| *name),
        Some("mtu-black-hole"),
        "{exchange:#?}"
    );
}
