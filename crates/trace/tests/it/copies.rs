//! What was sent again, and what the echo of a clock shows about it; and where a connection was
//! seen from when its first packets were late.

use roundtrip_trace::VantagePoint;

use crate::packets::{
    ACK, Drawn, FIN, Link, SYN, Segment, answer, client_hello, found, record, request, server_hello,
};

const R: f64 = 20.0;

/// A segment of one side with its clock and the echo of its peer's clock, in milliseconds; again
/// from this number, or up to this acknowledgement.
pub(crate) fn stamped(
    drawn: &mut Drawn,
    link: &mut Link,
    (at, side): (f64, usize),
    (clock, echo): (u32, u32),
    segment: Segment<'_>,
) {
    let stamps = [clock.to_be_bytes(), echo.to_be_bytes()].concat();
    let options = [&[1, 1, 8, 10][..], &stamps].concat();
    let segment = Segment {
        options: &options,
        ..segment
    };
    drawn.segment(at, link, side, segment);
}

/// A part of the ClientHello was lost and came soon; the server then took long.
#[test]
fn what_was_acknowledged_is_no_longer_lost() {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 443));
    drawn.open(0.0, &mut link, R);
    let hello = client_hello(&["http/1.1"], false);
    drawn.send(R + 0.2, &mut link, 0, ACK, &hello);
    link.next[0] -= hello.len() as u32;
    drawn.send(R + 33.0, &mut link, 0, ACK, &hello);
    drawn.send(2.0 * R + 33.0, &mut link, 1, ACK, b"");
    let flight = [server_hello(false), record(20, 6), record(23, 1200)].concat();
    let came = 2.0 * R + 800.0;
    drawn.send(came, &mut link, 1, ACK, &flight);
    let finished = [record(20, 6), record(23, 58), record(23, 200)].concat();
    drawn.send(came + 0.3, &mut link, 0, ACK, &finished);
    drawn.send(came + R + 0.5, &mut link, 1, ACK, &record(23, 900));
    let exchange = drawn.exchange();
    let names = found(&exchange);
    assert_eq!(names[0].0, "slow-tls-server", "{exchange:#?}");
    assert!((names[0].1 - 767.0).abs() < 5.0, "{names:?}");
    assert_eq!(names[1].0, "segment-lost", "{names:?}");
    assert!((names[1].1 - 32.8).abs() < 5.0, "{names:?}");
}

/// At the server's end. The client was slow to acknowledge the SYN-ACK, so that the acknowledgement
/// of the copy came sooner than the shortest round trip that was seen before; its echo shows that
/// it belongs to the copy.
#[test]
fn an_echo_tells_the_copy_from_the_original() {
    lost_segment(0, 0.1);
}

/// The client took 5 ms before it acknowledged each of two segments: that does not show a line that
/// needs as long for each.
#[test]
fn a_busy_client_is_not_a_slow_line() {
    lost_segment(2, 5.0);
}

/// The response loses the segment after the first `came`, and the client is late by `busy`.
fn lost_segment(came: usize, busy: f64) {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
    let open = 1.6 * R;
    let plain = |flags| Segment {
        flags,
        ..Segment::default()
    };
    stamped(&mut drawn, &mut link, (0.0, 0), (5_000, 0), plain(SYN));
    let answered = plain(SYN | ACK);
    stamped(&mut drawn, &mut link, (0.05, 1), (7_000, 5_000), answered);
    stamped(&mut drawn, &mut link, (open, 0), (5_032, 7_000), plain(ACK));
    let asked = request("/");
    let ask = Segment {
        payload: &asked,
        ..plain(ACK)
    };
    stamped(&mut drawn, &mut link, (open + 0.1, 0), (5_032, 7_000), ask);
    let missing = 1448 * came;
    let whole = answer(5_000, "");
    for segment in whole.chunks(1448) {
        let data = Segment {
            payload: segment,
            ..plain(ACK)
        };
        stamped(&mut drawn, &mut link, (open + 0.2, 1), (7_032, 5_032), data);
    }
    let until = |bytes: usize| Segment {
        acknowledges: Some(9_001 + bytes as u32),
        ..plain(ACK)
    };
    let heard = open + 0.2 + R + busy;
    for n in 1..=came {
        let at = heard + 0.06 * (n as f64 - came as f64);
        let upto = until(1448 * n);
        stamped(&mut drawn, &mut link, (at, 0), (5_064, 7_032), upto);
    }
    for n in 0..3 {
        let at = heard + 0.01 * f64::from(n);
        let echo = if came == 0 { 7_000 } else { 7_032 };
        stamped(
            &mut drawn,
            &mut link,
            (at, 0),
            (5_064, echo),
            until(missing),
        );
    }
    let again = Segment {
        sequence: Some(9_001 + missing as u32),
        payload: &whole[missing..missing + 1448],
        ..plain(ACK)
    };
    let copied = heard + 0.1;
    stamped(&mut drawn, &mut link, (copied, 1), (7_060, 5_064), again);
    let all = until(whole.len());
    stamped(&mut drawn, &mut link, (copied + R, 0), (5_084, 7_060), all);
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let rtt = all[0].exchanges[0].rtt.unwrap().as_secs_f64() * 1e3;
    assert!((rtt - R).abs() < 0.2, "{rtt}");
    let names = found(&all[0].exchanges[0]);
    assert_eq!(names[0].0, "response-segment-lost", "{names:?}");
    assert!((names[0].1 - R - busy).abs() < 2.0, "{names:?}");
}

#[test]
fn a_late_syn_ack_does_not_move_a_server_that_answers_sooner() {
    let seen = |answered: f64| {
        let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
        drawn.send(0.0, &mut link, 0, SYN, b"");
        drawn.send(7.0, &mut link, 1, SYN | ACK, b"");
        drawn.send(7.25, &mut link, 0, ACK, b"");
        drawn.send(7.3, &mut link, 0, ACK, &request("/"));
        drawn.send(7.55, &mut link, 1, ACK, b"");
        drawn.send(7.3 + answered, &mut link, 1, ACK, &answer(100, ""));
        drawn.send(7.6 + answered, &mut link, 0, ACK, b"");
        drawn.read().0.remove(0).vantage.place
    };
    assert_eq!(seen(0.6), VantagePoint::Middle);
    // Something near acknowledged the request, and the server is as far as its SYN-ACK was.
    assert_eq!(seen(7.2), VantagePoint::Client);
}

#[test]
fn a_connection_that_shows_no_place_was_seen_from_where_the_one_before_was() {
    let mut drawn = Drawn::new();
    for (n, port) in [50_000, 50_001].into_iter().enumerate() {
        let at = 1_000.0 * n as f64;
        let mut link = Link::new(port, 80);
        drawn.send(at, &mut link, 0, SYN, b"");
        drawn.send(at + 8.0, &mut link, 1, SYN | ACK, b"");
        if n > 0 {
            // The capture ends before the client says more.
            continue;
        }
        drawn.send(at + 20.0, &mut link, 0, ACK, b"");
        drawn.send(at + 20.1, &mut link, 0, ACK, &request("/"));
        drawn.send(at + 28.2, &mut link, 1, ACK, &answer(100, ""));
        drawn.send(at + 40.2, &mut link, 0, ACK, b"");
    }
    let (all, _) = drawn.read();
    let seen: Vec<_> = all
        .iter()
        .map(|one| {
            (
                one.vantage.place,
                one.vantage.to_client.unwrap().as_millis(),
            )
        })
        .collect();
    assert_eq!(seen, [(VantagePoint::Middle, 12); 2]);
}

/// At the client's end, a segment fills a hole: once too soon for a copy, and once as late as a
/// copy.
#[test]
fn what_was_overtaken_was_not_sent_again() {
    for (late, copies) in [(8.0, 0), (R + 2.0, 1)] {
        let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
        drawn.open(0.0, &mut link, R);
        drawn.send(R + 0.1, &mut link, 0, ACK, &request("/"));
        let answer = answer(7_000, "");
        let at = 2.0 * R + 0.2;
        for (n, segment) in answer.chunks(1460).enumerate() {
            let start = link.next[1];
            if n == 2 {
                link.next[1] += segment.len() as u32;
                continue;
            }
            drawn.send(at, &mut link, 1, ACK, segment);
            if n == 4 {
                let overtaken = Segment {
                    sequence: Some(start - 2 * 1460),
                    flags: ACK,
                    payload: answer.chunks(1460).nth(2).unwrap(),
                    ..Segment::default()
                };
                drawn.segment(at + late, &mut link, 1, overtaken);
            }
        }
        drawn.send(at + late + 0.1, &mut link, 0, ACK, b"");
        let (all, _) = drawn.read();
        assert_eq!(all[0].sent_again, [0, copies], "{late}");
        let names = found(&all[0].exchanges[0]);
        let is_lost = names
            .iter()
            .any(|(name, _)| *name == "response-segment-lost");
        assert_eq!(is_lost, copies > 0, "{names:?}");
    }
}

#[test]
fn a_keep_alive_repeats_nothing_and_a_second_fin_does() {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
    drawn.open(0.0, &mut link, R);
    drawn.send(R + 0.1, &mut link, 0, ACK, &request("/"));
    drawn.send(2.0 * R + 0.1, &mut link, 1, ACK, &answer(500, ""));
    drawn.send(2.0 * R + 0.2, &mut link, 0, ACK, b"");
    for (at, side) in [(15_000.0, 0), (30_000.0, 1), (45_000.0, 0)] {
        let last = Segment {
            sequence: Some(link.next[side] - 1),
            flags: ACK,
            payload: b"x",
            ..Segment::default()
        };
        drawn.segment(at, &mut link, side, last);
        drawn.send(at + R, &mut link, 1 - side, ACK, b"");
    }
    drawn.send(46_000.0, &mut link, 0, ACK | FIN, b"");
    link.next[0] -= 1;
    drawn.send(46_300.0, &mut link, 0, ACK | FIN, b"");
    let (all, _) = drawn.read();
    assert_eq!(all[0].sent_again, [1, 0]);
    let exchange = &all[0].exchanges[0];
    assert_eq!(exchange.tcp.as_ref().unwrap().retransmits, 0);
}
