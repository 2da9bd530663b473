//! How connections begin: round trips, tokens, early data, versions, refusals.

use std::time::Duration;

use roundtrip_quic::{CloseReason, Code, ConnectError, Event, Retry, Time};
use roundtrip_wire::quic::{Packet, Packets, Version};
use rustls::HandshakeKind;

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast};
use super::tls::{Identity, NAME};

/// In whole round trips, without the short delays of packets.
fn round_trips(span: Duration) -> u32 {
    ((span.as_nanos() + RTT.as_nanos() / 4) / RTT.as_nanos()) as u32
}

fn connected(simulation: &Simulation, handle: roundtrip_quic::Handle, start: Time) -> u32 {
    let life = simulation.life(handle);
    let time = life.time_of(&Event::Connected).unwrap();
    round_trips(time.since(start))
}

#[test]
fn a_connection_takes_one_round_trip_and_an_answer_another() {
    let mut simulation = Simulation::new(1);
    let start = simulation.now;
    let client = simulation.connect();
    simulation.request(client, 100, 1000);
    simulation.run_until_completed(client, 1);
    assert_eq!(round_trips(simulation.now.since(start)), 2);
    assert_eq!(connected(&simulation, client, start), 1);
    let server = simulation.nodes[SERVER].accepted[0];
    let connection = simulation.nodes[SERVER].connection(server);
    assert_eq!(connection.alpn(), Some(&b"test"[..]));
    assert_eq!(connection.server_name(), Some(NAME));
    // Nothing was lost, so nothing was sent twice.
    let (up, down) = (
        simulation.stats(CLIENT, client),
        simulation.stats(SERVER, server),
    );
    assert_eq!((up.packets_lost, down.packets_lost), (0, 0));
    assert_eq!((up.stream_bytes_resent, down.stream_bytes_resent), (0, 0));
    assert_eq!(simulation.nodes[SERVER].endpoint.len(), 1);
}

#[test]
fn both_versions_are_spoken() {
    for version in [Version::V1, Version::V2] {
        let mut simulation = Simulation::new(2);
        simulation.client_config.version = version;
        let (client, server) = simulation.establish();
        assert_eq!(
            simulation.nodes[SERVER].connection(server).version(),
            version
        );
        simulation.request(client, 0, 10_000);
        simulation.run_until_completed(client, 1);
    }
}

#[test]
fn a_retry_costs_a_round_trip_and_each_token_saves_one() {
    let mut simulation = Simulation::with(3, &fast(), |server| {
        server.retry = Retry::Always;
        server.tokens = 2;
    });
    let start = simulation.now;
    let (client, _) = simulation.establish();
    assert_eq!(connected(&simulation, client, start), 2);
    simulation.run_for(RTT);
    let tokens: Vec<_> = simulation
        .life(client)
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::NewToken(token) => Some(token.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(tokens.len(), 2);
    assert_eq!(simulation.nodes[SERVER].endpoint.retries_sent(), 1);
    for (token, trips, taken) in [(0, 1, 1), (0, 2, 1), (1, 1, 2)] {
        simulation.client_config.token = Some(tokens[token].clone());
        let start = simulation.now;
        let (client, _) = simulation.establish();
        assert_eq!(connected(&simulation, client, start), trips);
        let endpoint = &simulation.nodes[SERVER].endpoint;
        assert_eq!(endpoint.tokens_taken(), taken);
    }
}

#[test]
fn clients_prove_their_address_while_many_are_new() {
    let mut simulation = Simulation::with(4, &fast(), |server| {
        server.retry = Retry::AboveHandshakes(2);
    });
    let start = simulation.now;
    let clients: Vec<_> = (0..5).map(|_| simulation.connect()).collect();
    simulation.run_for(3 * RTT);
    let trips: Vec<_> = clients
        .iter()
        .map(|client| connected(&simulation, *client, start))
        .collect();
    assert_eq!(trips.iter().filter(|trips| **trips == 1).count(), 2);
    assert_eq!(trips.iter().filter(|trips| **trips == 2).count(), 3);
    let start = simulation.now;
    let (later, _) = simulation.establish();
    assert_eq!(connected(&simulation, later, start), 1);
}

#[test]
fn early_data_is_answered_after_one_round_trip() {
    let mut simulation = Simulation::new(5);
    let (first, _) = simulation.establish();
    simulation.request(first, 0, 10);
    simulation.run_until_completed(first, 1);
    let start = simulation.now;
    let client = simulation.connect();
    simulation.request(client, 2000, 3000);
    simulation.run_until_completed(client, 1);
    assert_eq!(round_trips(simulation.now.since(start)), 1);
    let connection = simulation.nodes[CLIENT].connection(client);
    assert_eq!(connection.early_accepted(), Some(true));
}

#[test]
fn early_data_that_overtakes_its_hello_is_not_lost() {
    let mut simulation = Simulation::new(5);
    let (first, _) = simulation.establish();
    simulation.request(first, 0, 10);
    simulation.run_until_completed(first, 1);
    let start = simulation.now;
    simulation.up.hold_next = Some(RTT / 10);
    let client = simulation.connect();
    simulation.request(client, 4000, 3000);
    simulation.run_until_completed(client, 1);
    assert_eq!(round_trips(simulation.now.since(start)), 1);
    assert_eq!(simulation.stats(CLIENT, client).stream_bytes_resent, 0);
}

#[test]
fn early_data_that_is_refused_is_sent_again() {
    let mut simulation = Simulation::new(6);
    let (first, _) = simulation.establish();
    simulation.request(first, 0, 10);
    simulation.run_until_completed(first, 1);
    // Another server replaces the first: it knows no TLS session.
    simulation.identity.forget_sessions();
    let config = super::simulation::server_config(&simulation.identity, &fast());
    let address = simulation.nodes[SERVER].address;
    let seed = simulation.seed();
    let endpoint = roundtrip_quic::Endpoint::new(Some(config), seed);
    simulation.nodes[SERVER] = super::node::Node::new(endpoint, address, true);
    let client = simulation.connect();
    simulation.request(client, 20_000, 30_000);
    simulation.run_until_completed(client, 1);
    let connection = simulation.nodes[CLIENT].connection(client);
    assert_eq!(connection.early_accepted(), Some(false));
    assert!(
        simulation
            .life(client)
            .time_of(&Event::EarlyRefused)
            .is_some()
    );
}

#[test]
fn early_data_comes_with_a_retry_too() {
    let mut simulation = Simulation::with(7, &fast(), |server| server.retry = Retry::Always);
    let (first, _) = simulation.establish();
    simulation.request(first, 0, 10);
    simulation.run_until_completed(first, 1);
    let start = simulation.now;
    let client = simulation.connect();
    simulation.request(client, 2000, 3000);
    simulation.run_until_completed(client, 1);
    assert_eq!(round_trips(simulation.now.since(start)), 2);
}

#[test]
fn unknown_versions_are_told_the_known_ones() {
    let mut simulation = Simulation::new(8);
    let from = simulation.nodes[CLIENT].address;
    for size in [1199, 1200] {
        let mut datagram = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 3, 1, 2, 3, 2, 8, 9];
        datagram.resize(size, 0);
        simulation.inject(SERVER, from, &datagram);
    }
    simulation.seen = Some(Vec::new());
    simulation.act();
    let seen = simulation.seen.take().unwrap();
    assert_eq!(seen.len(), 1);
    let Some(Ok(Packet::VersionNegotiation {
        destination,
        source,
        versions,
    })) = Packets::new(&seen[0].bytes).next()
    else {
        panic!("{seen:?}");
    };
    assert_eq!((destination, source), (&[8, 9][..], &[1, 2, 3][..]));
    assert_eq!(versions[..2], [Version::V1, Version::V2]);
    assert!(versions[2].is_grease());
    // A version negotiation is never answered itself.
    let from = simulation.nodes[CLIENT].address;
    let mut echo = seen[0].bytes.clone();
    echo.resize(1300, 0);
    simulation.inject(SERVER, from, &echo);
    simulation.seen = Some(Vec::new());
    simulation.act();
    assert_eq!(simulation.seen.take().unwrap().len(), 0);
}

#[test]
fn an_endpoint_says_why_a_connection_cannot_begin() {
    let mut simulation = Simulation::new(9);
    let remote = simulation.nodes[SERVER].address;
    let now = simulation.now;
    let mut config = simulation.client_config.clone();
    let endpoint = &mut simulation.nodes[CLIENT].endpoint;
    let made = endpoint.connect(now, &config, remote, "no name");
    assert!(matches!(made, Err(ConnectError::Name(_))), "{made:?}");
    config.version = Version(5);
    let made = endpoint.connect(now, &config, remote, NAME);
    assert!(matches!(made, Err(ConnectError::Version(_))), "{made:?}");
    assert!(endpoint.is_empty());
}

#[test]
fn more_clients_than_wanted_are_refused() {
    let mut simulation = Simulation::with(10, &fast(), |server| server.most_connections = 1);
    let (_, server) = simulation.establish();
    let refused = simulation.connect();
    simulation.run_for(2 * RTT);
    let reason = simulation.life(refused).closed();
    let code = Code::CONNECTION_REFUSED;
    assert!(
        matches!(reason, Some(CloseReason::Transport { code: told, .. }) if *told == code),
        "{reason:?}"
    );
    simulation.nodes[SERVER].endpoint.remove(server).unwrap();
    simulation.establish();
}

#[test]
fn a_retry_token_is_refused_to_everyone_else() {
    let mut simulation = Simulation::with(11, &fast(), |server| server.retry = Retry::Always);
    let client = simulation.connect();
    simulation.run_for(RTT * 3 / 4);
    simulation.up.is_down = true;
    simulation.seen = Some(Vec::new());
    simulation.run_for(RTT / 2);
    let answers = simulation.seen.take().unwrap();
    // The client's datagrams with the token now come from another address.
    let stranger = "203.0.113.66:6666".parse().unwrap();
    simulation.seen = Some(Vec::new());
    for answer in &answers {
        assert_eq!(answer.from, simulation.nodes[CLIENT].address);
        simulation.inject(SERVER, stranger, &answer.bytes);
    }
    simulation.act();
    assert!(simulation.nodes[SERVER].endpoint.is_empty());
    let refusals = simulation.seen.take().unwrap();
    assert!(!refusals.is_empty());
    let server = simulation.nodes[SERVER].address;
    for refusal in refusals {
        assert_eq!(refusal.to, stranger);
        assert!(refusal.bytes.len() < 200);
        simulation.inject(CLIENT, server, &refusal.bytes);
    }
    simulation.act();
    let reason = simulation.life(client).closed();
    let code = Code::INVALID_TOKEN;
    assert!(
        matches!(reason, Some(CloseReason::Transport { code: told, .. }) if *told == code),
        "{reason:?}"
    );
}

#[test]
fn peers_without_a_protocol_in_common_part() {
    let identity = Identity::speaking(b"this", b"that");
    let mut simulation = Simulation::with_identity(identity, 12, &fast(), |_| {});
    let client = simulation.connect();
    simulation.run_for(3 * RTT);
    // RFC 7301 §3.2: no_application_protocol.
    let reason = simulation.life(client).closed();
    assert!(
        matches!(reason, Some(CloseReason::Transport { code, .. }) if *code == Code::alert(120)),
        "{reason:?}"
    );
}

/// Nothing was sent yet that could be lost, whatever the owner's clock says.
#[test]
fn a_client_does_not_begin_with_a_timeout() {
    let mut simulation = Simulation::new(13);
    simulation.run_for(Duration::from_hours(1));
    simulation.connect();
    let deadline = simulation.nodes[CLIENT].endpoint.deadline().unwrap();
    assert!(deadline.since(simulation.now) > Duration::from_millis(300));
}

#[test]
fn a_ticket_of_one_version_is_not_taken_in_the_other() {
    let mut simulation = Simulation::new(31);
    for (version, expected) in [
        (Version::V1, HandshakeKind::Full),
        (Version::V1, HandshakeKind::Resumed),
        (Version::V2, HandshakeKind::Full),
        (Version::V2, HandshakeKind::Resumed),
    ] {
        simulation.client_config.version = version;
        let (client, _) = simulation.establish();
        simulation.run_for(2 * RTT);
        let connection = simulation.nodes[CLIENT].connection(client);
        assert_eq!(connection.handshake_kind(), Some(expected), "{version}");
    }
}

/// RFC 9287: neither side permits packets without the bit, so none is sent.
#[test]
fn no_packet_leaves_with_its_fixed_bit_cleared() {
    let mut simulation = Simulation::with(119, &fast(), |server| server.retry = Retry::Always);
    simulation.seen = Some(Vec::new());
    let (client, _) = simulation.establish();
    simulation.request(client, 10_000, 100_000);
    simulation.run_until_completed(client, 1);
    let seen = simulation.seen.take().unwrap();
    let packets = seen.iter().flat_map(|sent| Packets::new(&sent.bytes));
    // A packet whose bit is cleared cannot be read.
    assert!(packets.map(Result::unwrap).count() > 100);
}
