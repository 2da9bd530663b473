//! Connections with very many requests, and captures that should exhaust the memory of their
//! reader.

use roundtrip_model::Exchange;
use roundtrip_trace::{Conversation, Options, Trace};
use roundtrip_wire::capture::CaptureItem;

use crate::clear::PREFACE;
use crate::packets::{ACK, Drawn, FIN, Link, answer, found, request};

const R: f64 = 20.0;

fn frame(kind: u8, flags: u8, stream: usize, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let stream = (stream as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream, payload].concat()
}

/// GET / of example.org with HTTP/2, and its answer.
fn asks(n: usize) -> Vec<u8> {
    let fields = [&[0x82, 0x84, 0x86, 0x41, 11][..], b"example.org"].concat();
    frame(1, 5, 2 * n + 1, &fields)
}

fn answers(n: usize) -> Vec<u8> {
    [
        frame(1, 4, 2 * n + 1, &[0x88]),
        frame(0, 1, 2 * n + 1, b"hello"),
    ]
    .concat()
}

/// One request after the other on a single connection. The answer to the `slow` one takes 300 ms
/// more. Returns what was finished before the connection had ended, and the rest.
fn one_by_one(
    count: usize,
    slow: usize,
    asks: &dyn Fn(usize) -> Vec<u8>,
    answers: &dyn Fn(usize) -> Vec<u8>,
) -> (Vec<Conversation>, Vec<Conversation>) {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 8080));
    drawn.open(0.0, &mut link, R);
    let (mut at, mut before) = (R + 0.1, Vec::new());
    for n in 0..count {
        drawn.send(at, &mut link, 0, ACK, &asks(n));
        at += R;
        if n == slow {
            drawn.send(at, &mut link, 1, ACK, b"");
            at += 300.0;
        }
        drawn.send(at, &mut link, 1, ACK, &answers(n));
        drawn.send(at + 0.01, &mut link, 0, ACK, b"");
        at += 1.0;
        before.extend(drawn.finished());
    }
    drawn.send(at, &mut link, 0, ACK | FIN, b"");
    drawn.send(at + R, &mut link, 1, ACK | FIN, b"");
    (before, drawn.read().0)
}

#[test]
fn requests_are_reported_before_their_connection_ends_if_there_are_many() {
    type Said<'a> = &'a dyn Fn(usize) -> Vec<u8>;
    let begins = |n: usize| match n {
        0 => [PREFACE, &frame(4, 0, 0, b""), &asks(0)].concat(),
        n => asks(n),
    };
    let replies = |n: usize| match n {
        0 => [frame(4, 0, 0, b""), answers(0)].concat(),
        n => answers(n),
    };
    let http1: (Said<'_>, Said<'_>) = (&|n| request(&format!("/{n}")), &|_| answer(10, ""));
    for (asks, answers) in [http1, (&begins, &replies)] {
        let (before, after) = one_by_one(2500, 1600, asks, answers);
        let count = |all: &[Conversation]| all.iter().map(|c| c.exchanges.len()).sum::<usize>();
        assert!(count(&before) >= 1000, "{}", count(&before));
        let all: Vec<&Conversation> = before.iter().chain(&after).collect();
        assert!(
            all.iter()
                .all(|c| c.number == 1 && c.undecidable == all[0].undecidable)
        );
        let places: Vec<_> = all.iter().map(|c| &c.vantage).collect();
        assert!(places.iter().all(|place| *place == places[0]));
        assert_eq!(
            all.iter().map(|c| c.packets).sum::<u64>(),
            3 + 3 * 2500 + 1 + 2
        );
        assert!(all.iter().all(|c| c.sent_again == [0, 0]));
        let exchanges: Vec<&Exchange> = all.iter().flat_map(|c| &c.exchanges).collect();
        assert_eq!(exchanges.len(), 2500);
        for (n, exchange) in exchanges.iter().enumerate() {
            assert_eq!(exchange.reused, n > 0, "{n}");
            assert_eq!(exchange.kept.is_some(), n > 0, "{n}");
            let expected: &[_] = match n {
                1600 => &[("server-think-time", 300.0)],
                _ => &[],
            };
            assert_eq!(found(exchange), expected, "{n}");
        }
    }
}

#[test]
fn requests_under_way_at_the_same_time_are_left_out_beyond_a_limit() {
    let (mut drawn, mut link) = (Drawn::new(), Link::new(50_000, 8080));
    drawn.open(0.0, &mut link, R);
    let all: Vec<u8> = (0..3000).flat_map(asks).collect();
    let begins = [PREFACE, &frame(4, 0, 0, b""), &all].concat();
    for (n, part) in begins.chunks(20_000).enumerate() {
        drawn.send(R + 0.1 + n as f64 / 100.0, &mut link, 0, ACK, part);
    }
    let begun: Vec<u8> = (0..3000)
        .flat_map(|n| frame(1, 4, 2 * n + 1, &[0x88]))
        .collect();
    drawn.send(
        3.0 * R,
        &mut link,
        1,
        ACK,
        &[frame(4, 0, 0, b""), begun].concat(),
    );
    for n in 0..3000 {
        let at = 4.0 * R + n as f64;
        drawn.send(at, &mut link, 1, ACK, &frame(0, 0, 2 * n + 1, b"hello"));
    }
    for n in 0..3000 {
        let at = 4.0 * R + 3000.0 + n as f64;
        drawn.send(at, &mut link, 1, ACK, &frame(0, 1, 2 * n + 1, b""));
    }
    let (all, counts) = drawn.read();
    let explained = all[0].exchanges.len() as u64;
    assert_eq!(explained + counts.left_out, 3000);
    assert!(explained >= 100 && counts.left_out >= 100, "{counts:?}");
}

/// What a message that does not end holds is memory of its connection.
#[test]
fn unfinished_messages_are_bounded() {
    let head = [&b"GET / HTTP/1.1\r\nx: "[..], &vec![b'x'; 60_000]].concat();
    let block = [PREFACE, &frame(1, 0, 1, &vec![0; 500_000])[..60_000]].concat();
    for begun in [head, block] {
        let mut drawn = Drawn::within(4 << 20);
        for port in 0..400 {
            let mut link = Link::new(50_000 + port, 8080);
            let at = f64::from(port);
            drawn.open(at, &mut link, 0.1);
            drawn.send(at + 0.2, &mut link, 0, ACK, &begun);
        }
        let (_, counts) = drawn.read();
        assert!(counts.given_up > 100, "{counts:?}");
    }
}

#[test]
fn secrets_are_bounded() {
    let mut trace = Trace::new(Options {
        memory: 1 << 20,
        ..Options::default()
    });
    for n in 0..10_000 {
        let line = format!("CLIENT_TRAFFIC_SECRET_0 {n:064x} {n:064x}\n");
        trace.take(CaptureItem::Secrets(line.as_bytes()));
    }
    let counts = trace.counts();
    let kept = 10_000 - counts.forgotten_keys;
    assert!((500..5_000).contains(&kept), "{counts:?}");
    assert_eq!(counts.damaged_keys, 0);
}
