//! Clients that move, or are moved.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roundtrip_wire::quic::Frame;

use super::pair::{DELAY, End, Pair};
use crate::connection::Random;
use crate::connection::paths::{Path, Paths};
use crate::{Dir, Event, Time, Transport};

#[test]
fn a_client_moves_and_the_server_follows() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert!(pair.carry(End::Server, 200_000));
    let now = pair.now;
    assert!(pair.client.migrate(now, None));
    pair.client_address = "198.51.100.9:5000".parse().unwrap();
    assert!(pair.carry(End::Server, 200_000));
    assert!(pair.carry(End::Client, 200_000));
    let there = pair.client_address;
    assert_eq!(pair.server().remote(), there);
    assert!(pair.server_events.contains(&Event::PathChanged(there)));
    assert!(
        pair.client_events
            .iter()
            .any(|event| matches!(event, Event::PathChanged(_)))
    );
}

#[test]
fn a_nat_that_forgets_is_followed_and_keeps_the_window() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    assert!(pair.carry(End::Server, 1_000_000));
    let before = pair.server().stats().window;
    pair.client_address.set_port(4001);
    pair.client.ping();
    pair.run_for(Duration::from_millis(200));
    assert!(pair.carry(End::Server, 200_000));
    let there = pair.client_address;
    assert_eq!(pair.server().remote(), there);
    assert!(pair.server().stats().window >= before);
}

#[test]
fn an_address_that_does_not_answer_is_left_again() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let home = pair.client_address;
    // An attacker on the path forwards one packet of the client from elsewhere.
    pair.client_address = "203.0.113.66:1".parse().unwrap();
    pair.client.ping();
    let sent = pair.sent[0];
    pair.run(|pair| pair.sent[0] > sent);
    pair.client_address = home;
    pair.run_for(Duration::from_secs(3));
    assert!(pair.server().stats().migrations > 0);
    assert_eq!(pair.server().remote(), home);
    assert!(pair.carry(End::Server, 100_000));
}

#[test]
fn an_address_that_changes_with_each_packet_is_not_followed_each_time() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let home = pair.client_address;
    for port in 1..200 {
        pair.forge(SocketAddr::from(([203, 0, 113, 66], port)), &[Frame::Ping]);
    }
    // Meanwhile the first is waiting for its validation.
    assert_eq!(pair.server().stats().migrations, 1);
    assert_eq!(pair.server().remote(), "203.0.113.66:1".parse().unwrap());
    // A peer that moves back and away again may move away once in each probe timeout.
    for port in 1..200 {
        pair.forge(home, &[Frame::Ping]);
        assert_eq!(pair.server().remote(), home);
        pair.forge(SocketAddr::from(([203, 0, 113, 66], port)), &[Frame::Ping]);
    }
    assert_eq!(pair.server().stats().migrations, 2);
    pair.run_for(Duration::from_secs(1));
    pair.forge("203.0.113.66:7".parse().unwrap(), &[Frame::Ping]);
    assert_eq!(pair.server().stats().migrations, 3);
}

#[test]
fn an_address_that_is_returned_to_has_the_window_that_it_had() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    assert!(pair.carry(End::Server, 1_000_000));
    pair.run_for(10 * DELAY);
    let home = pair.client_address;
    let window = pair.server().stats().window;
    pair.forge("203.0.113.66:7".parse().unwrap(), &[Frame::Ping]);
    assert!(pair.server().stats().window < window);
    pair.forge(home, &[Frame::Ping]);
    assert_eq!(pair.server().stats().window, window);
}

#[test]
fn a_path_that_answered_a_small_challenge_is_asked_with_a_full_one() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = sizes.clone();
    pair.arrives = Box::new(move |end, _, datagram| {
        if end == End::Server {
            seen.lock().unwrap().push(datagram.len());
        }
        true
    });
    pair.client_address.set_port(4001);
    let id = pair.client.open(Dir::Uni).unwrap();
    pair.client.write(id, vec![0; 60].into()).unwrap();
    pair.run_for(Duration::from_millis(200));
    let there = pair.client_address;
    let proofs = pair.server_events.iter();
    let proofs = proofs.filter(|event| **event == Event::PathChanged(there));
    assert_eq!(proofs.count(), 1);
    let sizes = sizes.lock().unwrap();
    let small = sizes.iter().position(|size| (100..1000).contains(size));
    let full = sizes.iter().rposition(|size| *size == 1200);
    // The old path was probed with a full one before.
    assert!(small.is_some() && full > small, "{sizes:?}");
}

/// The client sends only that PING, because it waits for data.
#[test]
fn one_ping_from_elsewhere_is_enough_for_a_challenge() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let away = "203.0.113.66:7".parse().unwrap();
    pair.forge(away, &[Frame::Ping]);
    assert_eq!(pair.server().remote(), away);
    let (mut buffer, now) = (vec![0; 1 << 16], pair.now);
    let mut sizes = Vec::new();
    while let Some(sent) = pair.server().transmit(now, &mut buffer) {
        sizes.extend((sent.to == away).then_some(sent.length));
    }
    // Three times 31 bytes at most.
    assert!(matches!(sizes[..], [50..=93]), "{sizes:?}");
}

#[test]
fn who_moves_to_another_port_with_another_id_gets_another_id() {
    for moves in [false, true] {
        let mut pair = Pair::new(&Transport::default());
        pair.connect();
        pair.run_for(Duration::from_secs(1));
        let before = *pair.server().remote_ids.current();
        pair.client_address.set_port(4001);
        if moves {
            let now = pair.now;
            assert!(pair.client.migrate(now, None));
        } else {
            pair.client.ping();
        }
        pair.run_for(Duration::from_secs(1));
        let there = pair.client_address;
        assert_eq!(pair.server().remote(), there);
        assert_eq!(*pair.server().remote_ids.current() != before, moves);
    }
}

/// RFC 9000 §9.5: an observer of two addresses does not learn that they belong together.
#[test]
fn an_answer_off_the_path_carries_an_id_of_its_own() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let ids = |pair: &mut Pair, to: SocketAddr| {
        let (mut buffer, now) = (vec![0; 1 << 16], pair.now);
        let mut ids = Vec::new();
        while let Some(sent) = pair.server().transmit(now, &mut buffer) {
            ids.extend((sent.to == to).then(|| buffer[1..9].to_vec()));
        }
        ids
    };
    let home = pair.client_address;
    let in_use = pair.server().remote_ids.current().as_slice().to_vec();
    let away = "203.0.113.66:7".parse().unwrap();
    pair.forge(away, &[Frame::PathChallenge([1; 8])]);
    let first = ids(&mut pair, away);
    pair.forge(away, &[Frame::PathChallenge([2; 8])]);
    let second = ids(&mut pair, away);
    assert_eq!((first.len(), &first), (1, &second));
    assert_ne!(first[0], in_use);
    // At its new address, the client goes on with that id; the challenge to the old address has the
    // old id.
    pair.forge(away, &[Frame::Ping]);
    assert_eq!(*pair.server().remote_ids.current().as_slice(), first[0][..]);
    assert_eq!(ids(&mut pair, home), [in_use]);
}

/// RFC 9000 §8.2.1: a peer that has seen challenges cannot guess others.
#[test]
fn challenges_differ_each_time_and_on_each_connection() {
    let mut seen = HashSet::new();
    for seed in 0..20 {
        let path = Path::new("192.0.2.1:443".parse().unwrap(), None, true);
        let mut paths = Paths::new(path, DELAY, Random::new(&[seed; 32]));
        paths.migrate(Time::ZERO, None, DELAY);
        for _ in 0..100 {
            let (_, data) = paths.poll_challenge().unwrap();
            assert!(seen.insert(data));
            paths.on_challenge_lost(data);
        }
    }
}
