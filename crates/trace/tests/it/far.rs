//! Connections that were captured at the server's end, with slow lines on short paths: the time
//! that a line needs does not count for the client.

use roundtrip_model::Exchange;
use roundtrip_trace::VantagePoint;

use crate::packets::{ACK, Drawn, Link, SYN, Segment, client_hello, found, record, server_hello};

const R: f64 = 100.0;
/// In milliseconds: what a line of 500 kbit/s needs for a byte.
const PACE: f64 = 0.016;

/// A segment with timestamps: the sender's clock in milliseconds.
fn stamped(
    drawn: &mut Drawn,
    (at, side, clock): (f64, usize, f64),
    link: &mut Link,
    flags: u8,
    payload: &[u8],
) {
    let mut options = vec![1, 1, 8, 10];
    options.extend((clock as u32).to_be_bytes());
    options.extend(7_u32.to_be_bytes());
    let segment = Segment {
        flags,
        options: &options,
        payload,
        ..Segment::default()
    };
    drawn.segment(at, link, side, segment);
}

fn client_waits(exchange: &Exchange) -> f64 {
    let phases = exchange.phases();
    phases.iter().map(|phase| phase.waited.client).sum()
}

/// What a client sends arrives half a round trip later, and after the line has carried it.
fn up(left: f64, bytes: usize) -> f64 {
    left + R / 2.0 + PACE * bytes as f64
}

#[test]
fn a_slow_line_to_a_client_is_not_its_own_delay() {
    let mut drawn = Drawn::new();
    let mut link = Link::new(50_000, 443);
    // The client's clock, by the server's time.
    let clock = |left: f64| 5_000.0 + left;
    let client = |drawn: &mut Drawn, link: &mut Link, left: f64, flags, payload: &[u8]| {
        let at = up(left, payload.len());
        stamped(drawn, (at, 0, clock(left)), link, flags, payload);
    };
    client(&mut drawn, &mut link, -R / 2.0, SYN, b"");
    stamped(&mut drawn, (0.05, 1, 0.0), &mut link, SYN | ACK, b"");
    let open = R / 2.0 + 0.1;
    client(&mut drawn, &mut link, open, ACK, b"");
    let hello = client_hello(&["http/1.1"], false);
    client(&mut drawn, &mut link, open + 0.1, ACK, &hello);
    let sent = up(open + 0.1, hello.len()) + 0.1;
    let flight = [server_hello(false), record(20, 6), record(23, 4_200)].concat();
    let mut came = Vec::new();
    for segment in flight.chunks(1448) {
        stamped(&mut drawn, (sent, 1, sent), &mut link, ACK, segment);
        let before = came.last().copied().unwrap_or(sent + R / 2.0);
        came.push(before + PACE * (segment.len() + 52) as f64);
    }
    // The first two are acknowledged at once, and the last one by the Finished.
    let half = Segment {
        flags: ACK,
        acknowledges: Some(9_001 + 2 * 1448),
        ..Segment::default()
    };
    drawn.segment(up(came[1], 0), &mut link, 0, half);
    let finished = [record(20, 6), record(23, 58)].concat();
    let last = *came.last().unwrap();
    client(&mut drawn, &mut link, last + 0.3, ACK, &finished);
    client(&mut drawn, &mut link, last + 0.4, ACK, &record(23, 200));
    let asked = up(last + 0.4, 200 + finished.len()) + 0.1;
    stamped(
        &mut drawn,
        (asked, 1, asked),
        &mut link,
        ACK,
        &record(23, 900),
    );
    client(&mut drawn, &mut link, asked + R / 2.0 + 16.0, ACK, b"");
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let exchange = &all[0].exchanges[0];
    let client = client_waits(exchange);
    assert!(client < 5.0, "{client}: {exchange:#?}");
    let names = found(exchange);
    let of_client = ["late-request", "slow-client-library"];
    assert!(
        names.iter().all(|(name, _)| !of_client.contains(name)),
        "{names:?}"
    );
}

#[test]
fn a_clients_clock_tells_its_own_delay_from_that_of_its_line() {
    // The request leaves after 120 ms; a large one needs 23 ms more on the line.
    for (waits, bytes) in [(120.0, 200), (0.0, 1400)] {
        let mut drawn = Drawn::new();
        let mut link = Link::new(50_000, 80);
        let client = |drawn: &mut Drawn, link: &mut Link, left: f64, flags, payload: &[u8]| {
            let at = up(left, payload.len());
            stamped(drawn, (at, 0, 5_000.0 + left), link, flags, payload);
        };
        client(&mut drawn, &mut link, -R / 2.0, SYN, b"");
        stamped(&mut drawn, (0.05, 1, 0.0), &mut link, SYN | ACK, b"");
        let open = R / 2.0 + 0.1;
        client(&mut drawn, &mut link, open, ACK, b"");
        let path = format!("/{}", "x".repeat(bytes - 60));
        let request = crate::packets::request(&path);
        let left = open + 0.1 + waits;
        client(&mut drawn, &mut link, left, ACK, &request);
        let asked = up(left, request.len()) + 0.1;
        let answer = crate::packets::answer(100, "");
        stamped(&mut drawn, (asked, 1, asked), &mut link, ACK, &answer);
        client(&mut drawn, &mut link, asked + R / 2.0 + 3.0, ACK, b"");
        let exchange = drawn.exchange();
        let names = found(&exchange);
        let late = names.iter().find(|(name, _)| *name == "late-request");
        match late {
            Some((_, ms)) => assert!((ms - waits).abs() < 3.0, "{names:?}"),
            None => assert!(waits < 1.0, "{names:?}: {exchange:#?}"),
        }
    }
}

/// Two connected ends, 20 ms apart, with timestamps, seen at the server; and the client's clock.
fn near() -> (Drawn, Link, impl Fn(f64) -> f64) {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
    let clock = |left: f64| 5_000.0 + left;
    stamped(&mut drawn, (0.0, 0, clock(-10.0)), &mut link, SYN, b"");
    stamped(&mut drawn, (0.05, 1, 0.0), &mut link, SYN | ACK, b"");
    stamped(&mut drawn, (20.1, 0, clock(10.1)), &mut link, ACK, b"");
    (drawn, link, clock)
}

/// The line is busy when the capture ends, so that the whole capture lasts longer than the client's
/// clock says.
#[test]
fn a_slow_line_from_a_client_shows_in_its_clock_before_anything_waited() {
    let (mut drawn, mut link, clock) = near();
    let head = "POST /up HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 59000\r\n\r\n";
    let request = [head.as_bytes(), &vec![b'x'; 59_000]].concat();
    let carries = PACE * 1500.0;
    let (mut free, mut left) = (20.1, vec![10.2; 10]);
    let mut events: Vec<(f64, f64, Option<&[u8]>)> = Vec::new();
    for (n, segment) in request.chunks(1448).enumerate() {
        // Each acknowledgement of two makes room for four.
        let at = left[n];
        free = f64::max(free, at + 10.0) + carries;
        events.push((free, at, Some(segment)));
        if n % 2 == 1 {
            left.extend([free + 10.1; 4]);
            events.push((free + 0.05, 0.0, None));
        }
    }
    for (at, sent, segment) in events {
        match segment {
            Some(segment) => stamped(&mut drawn, (at, 0, clock(sent)), &mut link, ACK, segment),
            None => stamped(&mut drawn, (at, 1, at), &mut link, ACK, b""),
        }
    }
    let answer = crate::packets::answer(100, "");
    stamped(&mut drawn, (free + 0.1, 1, free), &mut link, ACK, &answer);
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let names = found(&all[0].exchanges[0]);
    assert_eq!(names[0].0, "slow-uplink", "{names:?}");
    assert!(
        (names[0].1 - (free - 40.0)).abs() < 60.0,
        "{names:?} {free}"
    );
}

/// The server sends what acknowledgements allow: the line is never idle, and its queue does not
/// grow with the data that it has carried.
#[test]
fn a_slow_line_to_a_client_shows_in_the_pace_of_acknowledgements() {
    downlink(2, false);
}

/// Each acknowledgement of one segment follows the one before sooner than it would have been
/// delayed.
#[test]
fn a_slow_line_to_a_client_shows_also_in_acknowledgements_of_each_segment() {
    downlink(1, false);
}

/// The server's time-out is shorter than the line takes for the first segments.
#[test]
fn a_slow_line_to_a_client_shows_although_something_was_sent_again_in_vain() {
    downlink(2, true);
}

/// An answer over a slow line. Every `each` segments are acknowledged together; the first one is
/// sent again if `again`.
fn downlink(each: usize, again: bool) {
    let (mut drawn, mut link, clock) = near();
    let request = crate::packets::request("/down");
    stamped(&mut drawn, (20.2, 0, clock(10.2)), &mut link, ACK, &request);
    let answer = crate::packets::answer(90_000, "");
    let carries = PACE * 1500.0;
    let segments: Vec<&[u8]> = answer.chunks(1448).collect();
    let (mut free, mut left) = (0.0, vec![20.4; 10]);
    let mut events: Vec<(f64, Option<&[u8]>, u32)> = Vec::new();
    let mut came = 0;
    for (n, segment) in segments.iter().enumerate() {
        if again && n == 10 {
            free += carries;
        }
        free = f64::max(free, left[n] + 10.0) + carries;
        events.push((left[n], Some(segment), 0));
        came += segment.len() as u32;
        if (n + 1) % each == 0 || n + 1 == segments.len() {
            left.extend(vec![free + 10.1; each + 1]);
            events.push((free + 10.1, None, 9_001 + came));
        }
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    // The clock in the first flight is 20.
    let [copied_at, acknowledged] = [30_u32, 20].map(|stamp| {
        let mut options = vec![1, 1, 8, 10];
        options.extend(stamp.to_be_bytes());
        options.extend(20_u32.to_be_bytes());
        options
    });
    let copied = Segment {
        sequence: Some(9_001),
        payload: segments[0],
        flags: ACK,
        options: &copied_at,
        ..Segment::default()
    };
    for (n, (at, segment, acknowledges)) in events.into_iter().enumerate() {
        if again && n == 10 {
            drawn.segment(30.4, &mut link, 1, copied);
        }
        match segment {
            Some(segment) => stamped(&mut drawn, (at, 1, at), &mut link, ACK, segment),
            None => {
                let half = Segment {
                    flags: ACK,
                    acknowledges: Some(acknowledges),
                    options: if again { &acknowledged } else { &[] },
                    ..Segment::default()
                };
                drawn.segment(at, &mut link, 0, half);
            }
        }
    }
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let names = found(&all[0].exchanges[0]);
    assert_eq!(names[0].0, "slow-downlink", "{names:?}");
    let whole = carries * segments.len() as f64;
    assert!(
        (names[0].1 - whole).abs() < 0.1 * whole,
        "{names:?} {whole}"
    );
}

/// A capture in the middle of the line: each segment has crossed half of it.
#[test]
fn a_slow_line_is_steady_also_if_half_of_it_is_behind_the_capture() {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 80));
    let send = |drawn: &mut Drawn, link: &mut Link, at: f64, side, flags, payload: &[u8]| {
        stamped(drawn, (at, side, at), link, flags, payload);
    };
    send(&mut drawn, &mut link, 0.0, 0, SYN, b"");
    send(&mut drawn, &mut link, 10.0, 1, SYN | ACK, b"");
    send(&mut drawn, &mut link, 20.0, 0, ACK, b"");
    send(
        &mut drawn,
        &mut link,
        20.1,
        0,
        ACK,
        &crate::packets::request("/down"),
    );
    let answer = crate::packets::answer(50_000, "");
    let carries = PACE * 1500.0;
    let mut events: Vec<(f64, Option<&[u8]>, u32)> = Vec::new();
    let mut came = 0;
    for (n, segment) in answer.chunks(1448).enumerate() {
        let at = 30.2 + (n + 1) as f64 * carries / 2.0;
        events.push((at, Some(segment), 0));
        came += segment.len() as u32;
        if n % 2 == 1 {
            let arrived = 35.2 + (n + 1) as f64 * carries;
            events.push((arrived + 5.1, None, 9_001 + came));
        }
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, segment, acknowledges) in events {
        match segment {
            Some(segment) => send(&mut drawn, &mut link, at, 1, ACK, segment),
            None => {
                let half = Segment {
                    flags: ACK,
                    acknowledges: Some(acknowledges),
                    ..Segment::default()
                };
                drawn.segment(at, &mut link, 0, half);
            }
        }
    }
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Middle);
    let names = found(&all[0].exchanges[0]);
    assert_eq!(names[0].0, "slow-downlink", "{names:?}");
    let whole = carries * answer.len().div_ceil(1448) as f64;
    assert!(
        (names[0].1 - whole).abs() < 0.1 * whole,
        "{names:?} {whole}"
    );
}

/// The copy of a lost segment came 7 ms after it had left, and what followed took 13 ms.
#[test]
fn what_a_client_sends_follows_the_copy_of_what_was_lost() {
    let (mut drawn, mut link, clock) = {
        let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 443));
        let clock = |left: f64| 5_000.0 + left;
        stamped(&mut drawn, (0.0, 0, clock(-10.0)), &mut link, SYN, b"");
        stamped(&mut drawn, (0.05, 1, 0.0), &mut link, SYN | ACK, b"");
        stamped(&mut drawn, (20.1, 0, clock(10.1)), &mut link, ACK, b"");
        (drawn, link, clock)
    };
    let hello = client_hello(&["http/1.1"], false);
    stamped(&mut drawn, (20.3, 0, clock(10.3)), &mut link, ACK, &hello);
    let flight = [server_hello(false), record(20, 6), record(23, 2_200)].concat();
    let (first, second) = flight.split_at(1448);
    stamped(&mut drawn, (20.5, 1, 20.5), &mut link, ACK, first);
    let lost = link.next[1];
    stamped(&mut drawn, (20.6, 1, 20.6), &mut link, ACK, second);
    let first_came = Segment {
        acknowledges: Some(lost),
        flags: ACK,
        ..Segment::default()
    };
    drawn.segment(80.9, &mut link, 0, first_came);
    let again = Segment {
        sequence: Some(lost),
        flags: ACK,
        payload: second,
        ..Segment::default()
    };
    drawn.segment(262.0, &mut link, 1, again);
    let finished = record(23, 58);
    stamped(
        &mut drawn,
        (282.2, 0, clock(269.2)),
        &mut link,
        ACK,
        &finished,
    );
    stamped(
        &mut drawn,
        (282.5, 0, clock(269.5)),
        &mut link,
        ACK,
        &record(23, 200),
    );
    for bytes in [900, 900] {
        stamped(
            &mut drawn,
            (283.0, 1, 283.0),
            &mut link,
            ACK,
            &record(23, bytes),
        );
    }
    stamped(&mut drawn, (303.2, 0, clock(293.2)), &mut link, ACK, b"");
    let (all, _) = drawn.read();
    assert_eq!(all[0].vantage.place, VantagePoint::Server);
    let exchange = &all[0].exchanges[0];
    let names = found(exchange);
    assert_eq!(
        names[0].0, "response-segment-lost",
        "{names:?} {exchange:#?}"
    );
    assert_eq!(exchange.round_trips(), 3, "{exchange:#?}");
}
