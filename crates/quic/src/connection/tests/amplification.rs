//! A peer that has the keys and sends its datagrams from other hosts' addresses. RFC 9000 §8.
//! `Pair` checks, for each datagram of each test, that no address gets more than three times what
//! came from it.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_wire::quic::Frame;

use super::pair::{End, Pair};
use crate::Transport;

fn victim() -> SocketAddr {
    "203.0.113.66:6666".parse().unwrap()
}

/// A connection at rest, whose client's address is validated.
fn connected() -> Pair {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    pair
}

fn challenges(count: u8) -> Vec<Frame<'static>> {
    (0..count)
        .map(|byte| Frame::PathChallenge([byte; 8]))
        .collect()
}

#[test]
fn a_datagram_is_answered_once_however_many_challenges_it_brings() {
    let mut pair = connected();
    for padding in [1, 1100] {
        let mut frames = challenges(4);
        frames.push(Frame::Padding(padding));
        for _ in 0..20 {
            pair.forge(victim(), &frames);
            pair.send_of(&[End::Server]);
        }
    }
    assert_eq!(pair.exchanged[&victim()][2], 40);
}

#[test]
fn an_address_that_the_connection_has_left_again_has_no_second_credit() {
    let mut pair = connected();
    let home = pair.client_address;
    for _ in 0..20 {
        let mut moving = challenges(3);
        moving.insert(0, Frame::Ping);
        pair.forge(victim(), &moving);
        pair.forge(home, &[Frame::Ping]);
        pair.send_of(&[End::Server]);
        pair.now = pair.now.after(Duration::from_secs(2));
    }
    assert!(pair.exchanged[&victim()][1] > 0);
}

#[test]
fn a_challenge_in_a_full_datagram_is_answered_in_full() {
    let mut pair = connected();
    let mut frames = challenges(1);
    frames.push(Frame::Padding(1150));
    pair.forge(victim(), &frames);
    pair.send_of(&[End::Server]);
    assert_eq!(pair.exchanged[&victim()][1], 1200);
}
