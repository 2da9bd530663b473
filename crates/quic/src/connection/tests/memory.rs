//! What a peer with the keys can make us keep.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_wire::quic::Frame;

use super::pair::{End, Pair};
use crate::{CloseReason, Code, Dir, Event, Transport};

/// How many bytes an end accepts on a new stream before it blocks.
fn written(pair: &mut Pair, end: End) -> usize {
    let connection = pair.connection(end);
    let id = connection.open(Dir::Uni).unwrap();
    let mut written = 0;
    while let count @ 1.. = connection.write(id, vec![0; 60_000].into()).unwrap() {
        written += count;
    }
    written
}

#[test]
fn the_send_buffer_follows_the_congestion_window() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    // It asks for much and reads nothing.
    let silent = written(&mut pair, End::Server);
    assert!((100_000..600_000).contains(&silent), "{silent}");
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    assert!(pair.carry(End::Server, 8_000_000));
    let used = written(&mut pair, End::Server);
    assert!(used > 4 * silent, "{used} and {silent}");
}

#[test]
fn a_peer_that_pings_and_acknowledges_nothing_costs_little_and_is_closed() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let home = pair.client_address;
    pair.arrives = Box::new(|end, _, _| end == End::Client);
    let before = pair.sent[1];
    // Within one probe timeout.
    for _ in 0..30_000 {
        pair.forge(home, &[Frame::Ping]);
        pair.send_of(&[End::Server]);
    }
    let prompt = pair.sent[1] - before;
    assert!((4000..9000).contains(&prompt), "{prompt}");
    // Acknowledgements wait now, and the PINGs among them get no answer.
    for _ in 0..2000 {
        pair.now = pair.now.after(Duration::from_millis(1));
        pair.forge(home, &[Frame::Ping]);
        let now = pair.now;
        let server = pair.server();
        if server.deadline().is_some_and(|deadline| deadline <= now) {
            server.on_timeout(now);
        }
        pair.send_of(&[End::Server]);
    }
    let more = pair.sent[1] - before - prompt;
    assert!(more < 120, "{more}");
    pair.run_for(Duration::from_secs(1));
    assert!(pair.server_events.iter().any(|event| matches!(
        event,
        Event::Closed(CloseReason::Violated { code, .. }) if *code == Code::PROTOCOL_VIOLATION
    )));
}

/// Probes of paths and their answers leave although the window is full, but not without end. RFC
/// 9000 §8.2.2: congestion control may delay them.
#[test]
fn a_peer_that_probes_and_acknowledges_nothing_gets_two_windows() {
    const PACKETS: u16 = 40_000;
    let probes: [fn(u16) -> (u16, Frame<'static>); 2] = [
        |at| (4000, Frame::PathChallenge([at as u8; 8])),
        // Each comes from another port, where the client then has to be.
        |at| (at, Frame::Ping),
    ];
    for probe in probes {
        let mut pair = Pair::new(&Transport::default());
        pair.connect();
        pair.run_for(Duration::from_secs(1));
        let home = pair.client_address;
        pair.arrives = Box::new(|end, _, _| end == End::Client);
        let window = pair.server().stats().window;
        let mut total = 0;
        for at in 1..PACKETS {
            let (port, frame) = probe(at);
            pair.forge(SocketAddr::new(home.ip(), port), &[frame]);
            let before = pair.bytes[1];
            pair.send_of(&[End::Server]);
            // Acknowledgements, which are small, have their own limit.
            let sent = pair.bytes[1] - before;
            total += if sent > 64 { sent } else { 0 };
        }
        let most = 3 * window.max(64 << 10);
        assert!((1200..most).contains(&total), "{total} of {most}");
        let memory = pair.server().memory();
        // Most of it are the acknowledgements.
        assert!(memory < 3 << 20, "{memory}");
        assert!(!pair.server().is_closed());
    }
}

/// They are sent once the peer has acknowledged what it got before.
#[test]
fn an_answer_that_waits_for_the_window_is_sent() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let home = pair.client_address;
    for at in 0..200 {
        pair.forge(home, &[Frame::PathChallenge([at; 8])]);
        pair.send_of(&[End::Server]);
    }
    let before = pair.bytes[1];
    pair.forge(home, &[Frame::PathChallenge([200; 8])]);
    pair.send_of(&[End::Server]);
    assert!(pair.bytes[1] < before + 1200);
    pair.run_for(Duration::from_secs(1));
    // Four wait.
    assert!(pair.bytes[1] >= before + 4 * 1200);
    assert!(pair.carry(End::Server, 100_000));
}
