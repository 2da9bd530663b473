//! Connections that were captured at the server's end, with lines that are slower than the path is
//! long: what a line takes is not the client's time.

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
