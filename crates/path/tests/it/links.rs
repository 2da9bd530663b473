//! The effects of links on real datagrams: each kind of trouble, in the requested numbers, and
//! repeatable.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use roundtrip_path::{Builder, Path, PathCounters};

const PORT: u16 = 4000;

/// Sends `count` numbered datagrams up the path, a little apart, and returns those that arrived, in
/// order.
fn send(words: &[(&str, &str)], count: u32, length: usize) -> (Vec<Vec<u8>>, PathCounters) {
    let mut builder = Path::builder();
    for (word, value) in words {
        builder.set(word, value).unwrap();
    }
    send_over(builder, count, length)
}

fn send_over(builder: Builder, count: u32, length: usize) -> (Vec<Vec<u8>>, PathCounters) {
    let path = builder.build().unwrap();
    let server = (path.server().address_v4(), PORT);
    let client = (path.client().address_v4(), PORT);
    let open = |side: &roundtrip_path::Namespace, address| {
        side.run(|| UdpSocket::bind(address)).unwrap().unwrap()
    };
    let (sender, receiver) = (open(path.client(), client), open(path.server(), server));
    for number in 0..count {
        let mut datagram = vec![0; length];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        sender.send_to(&datagram, server).unwrap();
        std::thread::sleep(Duration::from_micros(300));
    }
    settle(&path, count);
    receiver.set_nonblocking(true).unwrap();
    let mut buffer = [0; 2000];
    let arrived = std::iter::from_fn(|| {
        let length = receiver.recv(&mut buffer).ok()?;
        Some(buffer[..length].to_vec())
    });
    (arrived.collect(), path.close().unwrap())
}

/// Waits until all sent datagrams have entered, and none has left or been lost for a while, because
/// some are duplicated.
fn settle(path: &Path, sent: u32) {
    let limit = Instant::now() + Duration::from_secs(20);
    let mut before = None;
    while Instant::now() < limit {
        let up = path.counters().up;
        let now = (up.packets, up.delivered, up.dropped, up.missed);
        let gone = up.delivered + up.dropped + up.missed;
        if up.packets >= sent.into() && gone >= up.packets && before == Some(now) {
            return;
        }
        before = Some(now);
        std::thread::sleep(Duration::from_millis(150));
    }
}

fn number(datagram: &[u8]) -> u32 {
    u32::from_be_bytes(datagram[..4].try_into().unwrap())
}

#[test]
fn a_seed_decides_which_packets_are_lost() {
    let run = |seed: &str| {
        let words = [("loss", "10%"), ("loss", "5%x3"), ("seed", seed)];
        let (arrived, counters) = send(&words, 200, 100);
        assert_eq!(counters.up.dropped + arrived.len() as u64, 200);
        arrived
            .iter()
            .map(|datagram| number(datagram))
            .collect::<Vec<_>>()
    };
    let first = run("7");
    assert!((135..198).contains(&first.len()), "{}", first.len());
    assert_eq!(first, run("7"));
    assert_ne!(first, run("8"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let words = [("duplicate", "10%"), ("loss", "10%"), ("reorder", "5%,2ms")];
    let run = || {
        let (mut arrived, _) = send(&words, 200, 64);
        arrived.sort();
        arrived
    };
    let first = run();
    assert!(
        first.windows(2).any(|pair| pair[0] == pair[1]),
        "some came twice"
    );
    assert!(first == run(), "another seed's bytes");
}

#[test]
fn packets_that_are_held_back_are_overtaken() {
    let (arrived, _) = send(&[("reorder", "10%,5ms")], 200, 64);
    let numbers: Vec<u32> = arrived.iter().map(|datagram| number(datagram)).collect();
    assert_eq!(numbers.len(), 200);
    assert!(!numbers.is_sorted());
}

#[test]
fn a_flipped_bit_is_found_by_the_receivers_checksum() {
    let (arrived, counters) = send(&[("corrupt", "100%")], 50, 400);
    assert_eq!((counters.up.delivered, counters.up.dropped), (50, 0));
    // All except the rare flip in the UDP header's length or ports, which loses the datagram in
    // another way.
    assert!(arrived.is_empty(), "{}", arrived.len());
}

#[test]
fn a_full_queue_loses_the_rest_and_says_so() {
    // A queue of a tenth of a second at 1 Mbit/s holds 12.5 kB: twelve of these.
    let (arrived, counters) = send(&[("rate", "up:1mbit"), ("queue", "100ms")], 60, 972);
    let lost = counters.up.causes.get("queue full").copied().unwrap_or(0);
    assert_eq!(arrived.len() as u64 + lost, 60);
    assert!((30..=48).contains(&lost), "{lost}");
    assert!(
        arrived
            .windows(2)
            .all(|pair| number(&pair[0]) < number(&pair[1]))
    );
}

#[test]
fn an_outage_drops_everything() {
    let (arrived, counters) = send(&[("outage", "0s-1000s")], 20, 64);
    assert_eq!(
        (arrived.len(), counters.up.causes.get("outage")),
        (0, Some(&20))
    );
}

#[test]
fn sections_add_up() {
    let words = [
        ("delay", "2ms"),
        ("then", "delay=3ms loss=up:nth:2"),
        ("then", "delay=5ms loss=nth:2"),
    ];
    let (arrived, counters) = send(&words, 5, 64);
    let numbers: Vec<u32> = arrived.iter().map(|datagram| number(datagram)).collect();
    // The second datagram is lost in the second section, and the second of the remaining ones in
    // the third.
    assert_eq!((numbers, counters.up.dropped), (vec![0, 3, 4], 2));
}
