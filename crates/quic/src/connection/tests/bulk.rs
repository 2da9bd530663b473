//! Bulk data: in both directions, with losses, in full bursts, with key updates, and as early data.

use std::time::Duration;

use bytes::Bytes;

use super::pair::{End, Pair, make_tls};
use crate::{AckPolicy, Dir, Event, Transport};

const LARGE: usize = 3_000_000;

#[test]
fn bulk_arrives_whole_both_ways() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    assert!(pair.carry(End::Client, LARGE));
    assert!(pair.carry(End::Server, LARGE));
    let stats = pair.server().stats();
    assert_eq!(stats.packets_lost, 0);
    assert_eq!(stats.stream_bytes_sent, LARGE as u64);
    assert_eq!(stats.stream_bytes_received, LARGE as u64);
    assert_eq!(stats.stream_bytes_resent, 0);
}

#[test]
fn bulk_leaves_in_full_bursts_of_full_datagrams() {
    let mut pair = Pair::new(&Transport {
        pacing: false,
        ..Transport::default()
    });
    pair.connect();
    pair.bursts[1].clear();
    let before = pair.server().stats();
    assert!(pair.carry(End::Server, LARGE));
    let after = pair.server().stats();
    let longest = pair.bursts[1].iter().max().copied().unwrap();
    assert_eq!(longest, 44);
    let packets = after.packets_sent - before.packets_sent;
    let bytes = after.bytes_sent - before.bytes_sent;
    // Header, frame and tag: about 40 bytes in 1200 or more.
    assert!(bytes < LARGE as u64 * 105 / 100, "{bytes}");
    assert!(
        packets * 1100 < bytes,
        "{packets} packets for {bytes} bytes"
    );
    assert!(
        after.datagram > 1400,
        "the path's limit is found: {}",
        after.datagram
    );
}

#[test]
fn losses_are_made_up_for() {
    for every in [2, 5, 20, 50] {
        let mut pair = Pair::new(&Transport::default());
        pair.connect();
        pair.arrives = Box::new(move |_, count, _| count % every != 1);
        assert!(pair.carry(End::Server, 300_000), "every {every}th lost");
        let stats = pair.server().stats();
        assert!(stats.packets_lost > 0 && stats.stream_bytes_resent > 0);
        assert!(pair.carry(End::Client, 300_000), "every {every}th lost");
    }
}

#[test]
fn the_last_packet_lost_is_sent_again_after_a_probe_timeout() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let lost = pair.sent[0];
    pair.arrives = Box::new(move |end, count, _| end == End::Server || count != lost);
    let start = pair.now;
    assert!(pair.carry(End::Client, 500));
    let stats = pair.client.stats();
    assert_eq!(stats.probe_timeouts, 1);
    assert!(stats.stream_bytes_resent >= 500);
    assert!(pair.now.since(start) < Duration::from_millis(300));
}

#[test]
fn keys_are_updated_while_data_flows() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    assert!(pair.carry(End::Server, 100_000));
    assert!(pair.client.update_keys());
    assert!(pair.carry(End::Server, 500_000));
    assert!(!pair.server().update_keys(), "too soon after the last");
    pair.run_for(Duration::from_secs(1));
    assert!(pair.server().update_keys());
    assert!(pair.carry(End::Client, 500_000));
    assert_eq!(pair.client.stats().key_updates, 2);
    assert_eq!(pair.server().stats().key_updates, 2);
    assert_eq!(pair.client.stats().undecryptable, 0);
}

#[test]
fn the_peer_is_asked_to_acknowledge_rarely() {
    let mut acks = Vec::new();
    for ask_acks in [AckPolicy::Unasked, AckPolicy::EighthOfWindow] {
        let mut pair = Pair::new(&Transport {
            ask_acks,
            ..Transport::default()
        });
        pair.connect();
        pair.answers_each = true;
        assert!(pair.carry(End::Server, LARGE));
        acks.push(pair.client.stats().acks_sent);
    }
    assert!(acks[1] * 3 < acks[0], "{acks:?}");
}

#[test]
fn early_data_arrives_with_the_first_flight() {
    let (client, server) = make_tls();
    let transport = Transport::default();
    let mut first = Pair::with(&transport, &transport, client.clone(), server.clone());
    assert!(!first.client.is_early());
    first.connect();
    first.run_for(Duration::from_secs(1));
    let mut pair = Pair::with(&transport, &transport, client, server);
    assert!(pair.client.is_early());
    let id = pair
        .client
        .open(Dir::Uni)
        .expect("the limits are remembered");
    pair.client.write(id, Bytes::from(vec![9; 3000])).unwrap();
    pair.client.finish(id).unwrap();
    let start = pair.now;
    let mut scratch = vec![0; 4096];
    let mut got = 0;
    assert!(pair.run(|pair| {
        let Some(server) = pair.server.as_mut() else {
            return false;
        };
        while server.accept(Dir::Uni).is_some() {}
        while let Ok(crate::Read::Bytes(count)) = server.read(id, &mut scratch) {
            got += count;
        }
        got == 3000
    }));
    assert_eq!(pair.now.since(start), super::pair::DELAY);
    pair.connect();
    assert!(!pair.client.is_early());
    assert_eq!(pair.client.early_accepted(), Some(true));
    assert!(!pair.client_events.contains(&Event::EarlyRefused));
}

#[test]
fn refused_early_data_is_sent_again() {
    let (client, server) = make_tls();
    let transport = Transport::default();
    let mut first = Pair::with(&transport, &transport, client.clone(), server.clone());
    first.connect();
    first.run_for(Duration::from_secs(1));
    // Another server, which has the certificate but not the tickets.
    let mut stranger = (*server).clone();
    stranger.ticketer = std::sync::Arc::new(NoTickets);
    stranger.session_storage = std::sync::Arc::new(rustls::server::NoServerSessionStorage {});
    let mut pair = Pair::with(&transport, &transport, client, stranger.into());
    let id = pair.client.open(Dir::Uni).unwrap();
    pair.client.write(id, Bytes::from(vec![9; 3000])).unwrap();
    pair.client.finish(id).unwrap();
    let mut scratch = vec![0; 4096];
    let mut got = 0;
    assert!(pair.run(|pair| {
        let Some(server) = pair.server.as_mut() else {
            return false;
        };
        while server.accept(Dir::Uni).is_some() {}
        while let Ok(crate::Read::Bytes(count)) = server.read(id, &mut scratch) {
            got += count;
        }
        got == 3000
    }));
    assert_eq!(pair.client.early_accepted(), Some(false));
    assert!(pair.client_events.contains(&Event::EarlyRefused));
}

#[test]
fn early_data_is_refused_where_a_limit_was_lowered_since_the_ticket() {
    let larger = Transport {
        bidi_streams: 200,
        ..Transport::default()
    };
    let lower: [fn(&mut Transport); 5] = [
        |transport| transport.bidi_streams -= 1,
        |transport| transport.uni_streams -= 1,
        |transport| transport.window -= 1,
        |transport| transport.stream_window -= 1,
        |transport| transport.application_limit = 999,
    ];
    let mut transports = vec![(larger, true)];
    transports.extend(lower.map(|lower| {
        let mut transport = Transport {
            application_limit: 1000,
            ..Transport::default()
        };
        lower(&mut transport);
        (transport, false)
    }));
    for (transport, is_taken) in transports {
        let (client, server) = make_tls();
        let before = Transport {
            application_limit: if is_taken { 0 } else { 1000 },
            ..Transport::default()
        };
        let mut first = Pair::with(&before, &before, client.clone(), server.clone());
        first.connect();
        first.run_for(Duration::from_secs(1));
        let mut pair = Pair::with(&before, &transport, client, server);
        assert!(pair.client.is_early());
        pair.client.open(Dir::Bidi).unwrap();
        pair.connect();
        assert_eq!(
            pair.client.early_accepted(),
            Some(is_taken),
            "{transport:?}"
        );
        assert!(!pair.client.is_closed() && pair.carry(End::Client, 1000));
    }
}

#[derive(Debug)]
struct NoTickets;

impl rustls::server::ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _plain: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _cipher: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
