//! Handshakes: plain, with losses, refused, closed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, Frame, LongKind, Packet, Packets, Parameters, Pen, Side, Version,
    set_length, write_long,
};
use rustls::RootCertStore;

use super::super::Connection;
use super::pair::{End, Pair, make_tls, tls};
use crate::crypto::InitialKeys;
use crate::{CloseReason, Code, Event, HandshakeBytes, HandshakeObserver, RecvMeta, Transport};

#[test]
fn a_handshake_takes_one_round_trip_and_is_confirmed_after_two() {
    let mut pair = Pair::new(&Transport::default());
    let start = pair.now;
    assert!(pair.run(|pair| pair.client_events.contains(&Event::Connected)));
    let round_trip = 2 * super::pair::DELAY;
    assert_eq!(pair.now.since(start), round_trip);
    pair.connect();
    assert_eq!(pair.now.since(start), 2 * round_trip);
    assert_eq!(pair.client.alpn(), Some(&b"test"[..]));
    assert_eq!(pair.server().alpn(), Some(&b"test"[..]));
    assert_eq!(pair.server().server_name(), Some("server.test"));
    assert!(!pair.client.is_handshaking() && !pair.server().is_handshaking());
    pair.run_for(Duration::from_secs(1));
    assert!(
        pair.client_events
            .iter()
            .any(|event| matches!(event, Event::NewToken(token) if token == "come again"))
    );
    assert_eq!(pair.client.stats().probe_timeouts, 0);
    assert_eq!(pair.client.stats().packets_lost, 0);
    assert_eq!(pair.server().stats().packets_lost, 0);
    let sent = [pair.client.stats(), pair.server().stats()].map(|stats| stats.datagrams_sent);
    assert_eq!(sent, pair.sent);
    // Each end measures the round trip.
    assert_eq!(pair.client.stats().min_rtt, Some(round_trip));
    assert_eq!(pair.server().stats().min_rtt, Some(round_trip));
}

#[test]
fn a_server_sends_three_times_what_came_and_no_more_until_it_knows_the_address() {
    let mut pair = Pair::new(&Transport::default());
    // Nothing from the client arrives after its first datagram.
    pair.arrives = Box::new(|end, count, _| end == End::Server || count == 0);
    pair.run_for(Duration::from_secs(20));
    let came = pair.server().stats().bytes_received;
    assert_eq!(came, 1200);
    let sent = pair.bytes[1];
    assert!(sent > 0 && sent <= 3 * came, "{sent} after {came}");
}

/// Whichever probe arrives first begins the connection.
#[test]
fn each_probe_for_a_hello_carries_the_hello() {
    let mut pair = Pair::new(&Transport::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    pair.arrives = Box::new(move |_, _, datagram| {
        told.lock().unwrap().push(datagram.clone());
        false
    });
    pair.run_for(Duration::from_secs(4));
    assert!(pair.client.stats().probe_timeouts >= 2);
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 5, "{}", seen.len());
    for datagram in seen.iter() {
        let Some(Ok(Packet::Long(long))) = Packets::new(datagram).next() else {
            panic!("no long header");
        };
        let keys = roundtrip_wire::quic::InitialKeys::derive(long.version, &long.destination);
        let opened = keys.unwrap().open(Side::Client, &long, None).unwrap();
        let mut stream = CryptoStream::default();
        stream.push_payload(&opened.payload).unwrap();
        assert!(!stream.contiguous().is_empty());
    }
}

#[test]
fn both_sides_say_which_version_they_have_and_would_take() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    let read = |connection: &Connection, from| {
        let bytes = connection.crypto.peer_parameters().unwrap();
        let parameters = Parameters::read(bytes, from).unwrap();
        parameters.version_information.unwrap()
    };
    let client = read(pair.server(), Side::Client);
    assert_eq!(
        (client.chosen, client.available),
        (Version::V1, vec![Version::V1])
    );
    let server = read(&pair.client, Side::Server);
    let both = vec![Version::V1, Version::V2];
    assert_eq!((server.chosen, server.available), (Version::V1, both));
}

#[test]
fn an_initial_packet_in_a_small_datagram_is_discarded() {
    for cut in [false, true] {
        let mut pair = Pair::new(&Transport::default());
        // Only the Initial packet of the client's second datagram arrives, as it was sealed.
        pair.arrives = Box::new(move |end, count, datagram| {
            if end == End::Client && count == 1 && cut {
                let Some(Ok(Packet::Long(initial))) = Packets::new(datagram).next() else {
                    panic!("a long header");
                };
                assert_eq!(initial.kind, LongKind::Initial);
                let length = initial.bytes.len();
                assert!(length < 1200, "{length}");
                datagram.truncate(length);
            }
            end == End::Server || count < 2
        });
        pair.run_for(Duration::from_millis(100));
        let received = pair.server().stats().packets_received;
        assert_eq!(received == 1, cut, "{received}");
    }
}

#[test]
fn a_client_takes_no_initial_packet_with_a_token() {
    for token in [&b""[..], b"token"] {
        let mut pair = Pair::new(&Transport::default());
        let (first, own) = ([0x55; 8], [0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0]);
        let [first, own] = [first, own].map(|id| ConnectionId::new(&id).unwrap());
        let mut keys = InitialKeys::new(&first, Version::V1, Side::Server).unwrap();
        let mut datagram = vec![0; 1200];
        let mut pen = Pen::new(&mut datagram);
        let kind = LongKind::Initial;
        let at = write_long(&mut pen, kind, Version::V1, &own, &first, token, 0, 1).unwrap();
        assert!(Frame::Ping.write(&mut pen));
        assert!(set_length(&mut datagram, at.length_at, 1200 - at.number_at));
        keys.seal(0, &mut datagram, at.number_at, 1).unwrap();
        let way = RecvMeta {
            remote: pair.server_address,
            local: None,
            ecn: 0,
        };
        pair.client.receive(pair.now, &way, &mut datagram);
        let received = pair.client.stats().packets_received;
        assert_eq!(received, u64::from(token.is_empty()));
    }
}

#[test]
fn any_lost_datagram_of_a_handshake_is_made_up_for() {
    for end in [End::Client, End::Server] {
        for lost in 0..6 {
            let mut pair = Pair::new(&Transport::default());
            pair.arrives = Box::new(move |sender, count, _| sender != end || count != lost);
            pair.connect();
            assert!(pair.carry(End::Client, 10_000), "{end:?} {lost}");
        }
    }
}

#[test]
fn handshakes_survive_the_loss_of_every_third_datagram() {
    for phase in 0..3 {
        let mut pair = Pair::new(&Transport::default());
        pair.arrives = Box::new(move |_, count, _| count % 3 != phase);
        pair.connect();
    }
}

#[test]
fn damaged_datagrams_are_as_good_as_lost() {
    let mut pair = Pair::new(&Transport::default());
    pair.arrives = Box::new(|_, count, datagram| {
        if count % 4 == 1 {
            let at = datagram.len() / 2;
            datagram[at] ^= 0x10;
        }
        true
    });
    pair.connect();
    assert!(pair.carry(End::Server, 100_000));
    assert!(pair.client.stats().undecryptable > 0);
}

#[derive(Debug, Default, Clone)]
struct Overheard(Arc<Mutex<(Vec<u8>, usize)>>);

impl HandshakeObserver for Overheard {
    fn on_handshake_bytes(&mut self, reading: &mut HandshakeBytes<'_>) {
        let mut heard = self.0.lock().unwrap();
        heard.0.extend_from_slice(reading.bytes());
        // TLS also reads what the observer does not let it read.
        if reading.bytes().first() != Some(&4) {
            reading.read();
            reading.read();
        }
        heard.1 = reading.certificates().map_or(0, <[_]>::len);
    }
}

#[test]
fn who_listens_hears_each_byte_that_tls_reads_once() {
    let (client, server) = make_tls();
    let transport = Transport::default();
    let mut pair = Pair::with(&transport, &transport, client, server);
    let heard = Overheard::default();
    pair.client.set_observer(Box::new(heard.clone()));
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    let heard = heard.0.lock().unwrap();
    let mut kinds = Vec::new();
    let mut rest = heard.0.as_slice();
    while let Some(([kind, a, b, c], body)) = rest.split_first_chunk() {
        kinds.push(*kind);
        rest = &body[u32::from_be_bytes([0, *a, *b, *c]) as usize..];
    }
    assert!(rest.is_empty());
    // Hello, extensions, certificate, its verification, Finished; tickets. RFC 8446 §4.
    assert_eq!(kinds[..5], [2, 8, 11, 15, 20]);
    assert!(kinds.len() > 5 && kinds[5..].iter().all(|kind| *kind == 4));
    assert_eq!(heard.1, 1);
}

#[test]
fn who_does_not_trust_the_server_says_so() {
    let (_, server) = tls();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    client.alpn_protocols = vec![b"test".to_vec()];
    let transport = Transport::default();
    let mut pair = Pair::with(&transport, &transport, client.into(), server);
    pair.run_for(Duration::from_secs(5));
    let closed = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Closed(why) => Some(why.clone()),
            _ => None,
        })
    };
    // unknown_ca. RFC 8446 §6.
    let unknown_ca = Code::alert(48);
    assert!(matches!(
        closed(&pair.client_events),
        Some(CloseReason::Handshake { code, why })
            if code == unknown_ca && why.contains("UnknownIssuer")
    ));
    assert!(matches!(
        closed(&pair.server_events),
        Some(CloseReason::Transport { code, .. }) if code == unknown_ca
    ));
    assert!(pair.client.is_drained() && pair.server().is_drained());
}

#[test]
fn a_close_reaches_the_peer_and_both_ends_rest() {
    let mut pair = Pair::new(&Transport::default());
    pair.connect();
    let now = pair.now;
    pair.client.close(now, 7, b"enough");
    pair.run_for(Duration::from_secs(5));
    assert!(
        pair.client_events
            .contains(&Event::Closed(CloseReason::Local { code: 7 }))
    );
    assert!(
        pair.server_events
            .contains(&Event::Closed(CloseReason::Application {
                code: 7,
                reason: "enough".to_owned()
            }))
    );
    assert!(pair.client.is_drained() && pair.server().is_drained());
    assert_eq!(pair.client.deadline(), None);
}

#[test]
fn a_close_before_the_handshake_is_over_hides_what_the_application_says() {
    let mut pair = Pair::new(&Transport::default());
    let now = pair.now;
    pair.run(|pair| pair.server.is_some());
    pair.client.close(now, 7, b"enough");
    pair.run_for(Duration::from_secs(5));
    assert!(pair.server_events.iter().any(|event| matches!(
        event,
        Event::Closed(CloseReason::Transport { code, reason })
            if *code == Code::APPLICATION_ERROR && reason.is_empty()
    )));
}

#[test]
fn who_hears_nothing_for_the_idle_timeout_is_alone() {
    let short = Transport {
        idle_timeout: Duration::from_secs(3),
        ..Transport::default()
    };
    let (client, server) = tls();
    // The shorter of the two applies to both.
    let mut pair = Pair::with(&Transport::default(), &short, client, server);
    pair.connect();
    let quiet = pair.now;
    assert!(pair.run(|pair| pair.client.is_closed() && pair.server().is_closed()));
    let span = pair.now.since(quiet);
    assert!(span >= Duration::from_secs(3) && span < Duration::from_secs(4));
    let timed_out = Event::Closed(CloseReason::TimedOut);
    assert!(pair.client_events.contains(&timed_out));
    assert!(pair.server_events.contains(&timed_out));
}

#[test]
fn pings_keep_a_connection_alive() {
    let lively = Transport {
        idle_timeout: Duration::from_secs(3),
        keep_alive: Some(Duration::from_secs(1)),
        ..Transport::default()
    };
    let mut pair = Pair::new(&lively);
    pair.connect();
    pair.run_for(Duration::from_secs(30));
    assert!(!pair.client.is_closed() && !pair.server().is_closed());
}
