//! When the server's data left it, by its clock: a pause before it left was not made by the path.

use roundtrip_model::Exchange;

use crate::copies::stamped;
use crate::packets::{ACK, Drawn, FIN, Link, SYN, Segment, answer, found, request};

const R: f64 = 20.0;
const MSS: usize = 1448;

/// At the client's end. The SYN-ACK came 100 ms late. The server answered with a head and 600 bytes
/// at once; the rest left it `left` ms later, and arrived `came` ms later.
fn answered(left: f64, came: f64, has_clock: bool) -> Exchange {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
    let plain = |flags| Segment {
        flags,
        ..Segment::default()
    };
    let mut send = |at: f64, side: usize, clock: f64, segment: Segment<'_>| {
        if has_clock {
            let clock = (7_000.0 + clock) as u32;
            stamped(&mut drawn, &mut link, (at, side), (clock, 1), segment);
        } else {
            drawn.segment(at, &mut link, side, segment);
        }
    };
    let open = R + 100.0;
    send(0.0, 0, 0.0, plain(SYN));
    send(open, 1, R / 2.0, plain(SYN | ACK));
    send(open + 0.05, 0, open, plain(ACK));
    let asked = request("/");
    let ask = Segment {
        payload: &asked,
        ..plain(ACK)
    };
    send(open + 0.1, 0, open, ask);
    let whole = answer(600 + 8 * MSS, "");
    let (first, rest) = whole.split_at(whole.len() - 8 * MSS);
    let data = |payload| Segment {
        payload,
        ..plain(ACK)
    };
    let began = open + 0.2 + R;
    send(began, 1, open + R / 2.0, data(first));
    send(began + 40.0, 0, began + 40.0, plain(ACK));
    for (n, segment) in rest.chunks(MSS).enumerate() {
        let at = began + came + 0.05 * n as f64;
        send(at, 1, open + R / 2.0 + left, data(segment));
    }
    let end = began + came + 1.0;
    send(end, 0, end, plain(ACK | FIN));
    send(end + R, 1, end + R / 2.0, plain(ACK | FIN));
    send(end + R, 0, end + R, plain(ACK));
    drawn.exchange()
}

#[test]
fn a_pause_before_data_left_is_the_servers_however_late_the_syn_ack_was() {
    let exchange = answered(300.0, 300.0, true);
    let names = found(&exchange);
    assert_eq!(names[0], ("body-stalls", 300.0), "{exchange:#?}");
    // Without a clock, the path may have paused.
    let names = found(&answered(300.0, 300.0, false));
    assert!(
        names.iter().all(|(name, _)| *name != "body-stalls"),
        "{names:?}"
    );
}

#[test]
fn what_left_at_once_was_held_back_by_the_path() {
    let exchange = answered(1.0, 300.0, true);
    let names = found(&exchange);
    assert_eq!(names[0].0, "path-varies", "{exchange:#?}");
    assert!(
        names.iter().all(|(name, _)| *name != "body-stalls"),
        "{names:?}"
    );
    // A part of the pause.
    let names = found(&answered(280.0, 320.0, true));
    assert_eq!(names[0].0, "body-stalls", "{names:?}");
    assert!((names[0].1 - 281.0).abs() < 2.0, "{names:?}");
}

/// At the client's end, the second request on a connection. Its acknowledgement left the server
/// `left` ms after the request had arrived, and came `came` ms later than in a round trip; the
/// answer came 300 ms late.
fn acknowledged(left: f64, came: f64) -> Exchange {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
    let plain = |flags| Segment {
        flags,
        ..Segment::default()
    };
    let mut send = |at: f64, side: usize, clock: f64, segment: Segment<'_>| {
        let clock = (7_000.0 + clock) as u32;
        stamped(&mut drawn, &mut link, (at, side), (clock, 1), segment);
    };
    send(0.0, 0, 0.0, plain(SYN));
    send(R, 1, R / 2.0, plain(SYN | ACK));
    send(R + 0.05, 0, R, plain(ACK));
    let asked = request("/");
    let answered = answer(300, "");
    let data = |payload| Segment {
        payload,
        ..plain(ACK)
    };
    for asks in [R + 0.1, 200.0] {
        let is_second = asks > 100.0;
        let arrived = asks + R / 2.0;
        send(asks, 0, asks, data(&asked));
        if is_second {
            send(asks + R + came, 1, arrived + left, plain(ACK));
        }
        let late = if is_second { 300.0 } else { 0.5 };
        send(asks + R + late, 1, arrived + late, data(&answered));
        send(asks + R + late + 0.1, 0, asks + R + late, plain(ACK));
    }
    drawn.exchanges().remove(1)
}

#[test]
fn an_acknowledgement_that_left_late_was_not_delayed_by_the_path() {
    let exchange = acknowledged(85.0, 85.0);
    let names = found(&exchange);
    // The server may have delayed it on purpose, or have had the request that late.
    assert_eq!(names[0].0, "server-think-time", "{exchange:#?}");
    assert!(
        names.iter().all(|(name, _)| *name != "path-varies"),
        "{names:?}"
    );
    // It left at once: the path was slow.
    let server = |exchange: &Exchange| -> f64 {
        let phases = exchange.phases();
        phases.iter().map(|phase| phase.waited.server).sum()
    };
    let slow = server(&acknowledged(0.0, 85.0));
    assert!((slow - 215.0).abs() < 2.0, "{slow}");
}

/// The SYN-ACK came 100 ms late, so that this path may make an answer late as well; but the answer
/// left 300 ms after the acknowledgement of the request.
#[test]
fn an_answer_that_left_late_is_the_servers_however_late_the_syn_ack_was() {
    let thought = |clocked: bool| {
        let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
        let mut send = |at: f64, side: usize, clock: f64, flags: u8, payload: &[u8]| {
            let segment = Segment {
                flags,
                payload,
                ..Segment::default()
            };
            let clock = (7_000.0 + clock) as u32;
            if clocked {
                stamped(&mut drawn, &mut link, (at, side), (clock, 1), segment);
            } else {
                drawn.segment(at, &mut link, side, segment);
            }
        };
        let open = R + 100.0;
        send(0.0, 0, 0.0, SYN, b"");
        send(open, 1, R / 2.0, SYN | ACK, b"");
        send(open + 0.05, 0, open, ACK, b"");
        send(open + 0.1, 0, open, ACK, &request("/"));
        let arrived = open + R / 2.0;
        send(open + 0.1 + R, 1, arrived, ACK, b"");
        let late = 300.0;
        send(
            open + 0.1 + R + late,
            1,
            arrived + late,
            ACK,
            &answer(300, ""),
        );
        send(open + 0.2 + R + late, 0, open + R + late, ACK, b"");
        found(&drawn.exchange())
    };
    let names = thought(true);
    assert_eq!(names[0].0, "server-think-time", "{names:?}");
    assert!((names[0].1 - 300.0).abs() < 2.0, "{names:?}");
    assert!(
        thought(false)
            .iter()
            .all(|(name, _)| *name != "server-think-time")
    );
}
