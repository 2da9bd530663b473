//! Malicious datagrams: nothing panics, nothing grows, and no other connection is harmed.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_quic::{Connection, Endpoint, Handle, Retry, Time};

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast};
use super::tls::Identity;

fn stranger() -> SocketAddr {
    "203.0.113.66:6666".parse().unwrap()
}

#[test]
fn connections_and_endpoints_can_be_sent_to_other_threads() {
    fn is_send<T: Send>() {}
    is_send::<Connection>();
    is_send::<Endpoint>();
}

#[test]
fn noise_begins_nothing_and_gets_little() {
    let mut simulation = Simulation::new(1);
    simulation.seen = Some(Vec::new());
    let mut gave = 0;
    for round in 0_u64..4000 {
        let size = simulation.dice.below(1500) as usize;
        let mut datagram = simulation.dice.bytes(size);
        if let Some(first) = datagram.first_mut() {
            *first = [*first, 0xc0, 0x40, 0xe0][round as usize % 4];
        }
        // Half of those with long headers have a known version and ids of a known length.
        if round % 2 == 1 && datagram.len() > 15 {
            datagram[1..5].copy_from_slice(&[0, 0, 0, 1]);
            datagram[5] = 8;
            datagram[14] = 0;
        }
        gave += datagram.len();
        simulation.inject(SERVER, stranger(), &datagram);
        simulation.inject(CLIENT, stranger(), &datagram);
        simulation.act();
    }
    assert!(simulation.nodes[SERVER].endpoint.is_empty());
    assert!(simulation.nodes[CLIENT].endpoint.is_empty());
    let got: usize = simulation
        .seen
        .unwrap()
        .iter()
        .map(|sent| sent.bytes.len())
        .sum();
    assert!(got > 0 && got < gave, "{got} bytes for {gave}");
}

#[test]
fn an_address_that_is_not_proved_gets_three_times_what_came_from_it() {
    for retry in [Retry::Never, Retry::Always] {
        let identity = Identity::large();
        let mut simulation =
            Simulation::with_identity(identity, 2, &fast(), |server| server.retry = retry);
        // A client that sends only its first flight, as if someone else had sent it in the client's
        // name.
        simulation.seen = Some(Vec::new());
        simulation.connect();
        simulation.act();
        simulation.up.is_down = true;
        let bytes = |simulation: &Simulation, host: usize| -> usize {
            let from = simulation.nodes[host].address;
            let seen = simulation.seen.as_ref().unwrap().iter();
            let sent = seen.filter(|sent| sent.from == from);
            sent.map(|sent| sent.bytes.len()).sum()
        };
        let gave = bytes(&simulation, CLIENT);
        simulation.run_for(Duration::from_secs(40));
        let got = bytes(&simulation, SERVER);
        assert!(got > 0 && got <= 3 * gave, "{got} bytes for {gave}");
        // The server has more to send, and sends nearly all that it may.
        assert_eq!(retry == Retry::Never, got > 2 * gave, "{got} for {gave}");
    }
}

#[test]
fn a_large_certificate_arrives_when_the_address_is_proved() {
    for (loss, seeds) in [(0, 1), (200, 20)] {
        for seed in 0..seeds {
            let mut simulation =
                Simulation::with_identity(Identity::large(), seed, &fast(), |_| {});
            simulation.up.loss = loss;
            simulation.down.loss = loss;
            let client = simulation.connect();
            simulation.request(client, 1000, 1000);
            simulation.run_until_completed(client, 1);
        }
    }
}

/// Ids are ten bytes: an id of another endpoint extremely rarely names one of our connections.
#[test]
fn what_names_another_connection_by_chance_changes_nothing() {
    let mut simulation = Simulation::new(14);
    let pairs = [simulation.establish(), simulation.establish()];
    simulation.run_for(RTT);
    let [one, other] = pairs.map(|(client, _)| {
        simulation.seen = Some(Vec::new());
        simulation.request(client, 500, 10);
        simulation.act();
        let seen = simulation.seen.take().unwrap();
        seen.into_iter().next().unwrap().bytes
    });
    assert_eq!((one[0] & 0x80, other[0] & 0x80), (0, 0));
    assert_ne!(one[1..11], other[1..11]);
    simulation.run_for(2 * RTT);
    let mut mistaken = one;
    mistaken[1..11].copy_from_slice(&other[1..11]);
    let (from, server) = (simulation.nodes[CLIENT].address, pairs[1].1);
    let before = simulation.stats(SERVER, server).undecryptable;
    for from in [from, stranger()] {
        simulation.inject(SERVER, from, &mistaken);
    }
    assert!(simulation.stats(SERVER, server).undecryptable > before);
    for (client, server) in pairs {
        simulation.request(client, 100, 10_000);
        simulation.run_until_completed(client, 2);
        let remote = simulation.nodes[SERVER].connection(server).remote();
        assert_eq!(remote, simulation.nodes[CLIENT].address);
    }
}

/// What both sides sent while a connection was made and used.
fn recording(simulation: &mut Simulation) -> Vec<super::simulation::Flying> {
    simulation.seen = Some(Vec::new());
    let (client, _) = simulation.establish();
    simulation.request(client, 5000, 20_000);
    simulation.run_until_completed(client, 1);
    simulation.seen.take().unwrap()
}

#[test]
fn what_was_heard_before_changes_nothing() {
    let mut simulation = Simulation::new(3);
    let record = recording(&mut simulation);
    let client = *simulation.nodes[CLIENT].lives.keys().next().unwrap();
    for sent in &record {
        let host = simulation.hosts[&sent.to];
        simulation.inject(host, sent.from, &sent.bytes);
        simulation.inject(host, stranger(), &sent.bytes);
        simulation.act();
    }
    simulation.run_for(RTT);
    simulation.request(client, 10, 10_000);
    simulation.run_until_completed(client, 2);
    let server = simulation.nodes[SERVER].accepted[0];
    let remote = simulation.nodes[SERVER].connection(server).remote();
    assert_eq!(remote, simulation.nodes[CLIENT].address);
}

#[test]
fn genuine_datagrams_spoilt_in_any_way_harm_nobody() {
    let mut simulation = Simulation::new(4);
    let record = recording(&mut simulation);
    let client = *simulation.nodes[CLIENT].lives.keys().next().unwrap();
    for round in 0..6000 {
        let sent = &record[simulation.dice.below(record.len() as u64) as usize];
        let (mut bytes, from) = (sent.bytes.clone(), sent.from);
        let host = simulation.hosts[&sent.to];
        for _ in 0..=simulation.dice.below(4) {
            let at = simulation.dice.below((bytes.len() as u64).min(64)) as usize;
            bytes[at] = simulation.dice.roll() as u8;
        }
        if round % 3 == 0 {
            bytes.truncate(simulation.dice.below(bytes.len() as u64) as usize);
        }
        simulation.inject(host, from, &bytes);
        simulation.act();
    }
    simulation.run_for(RTT);
    simulation.request(client, 10, 10_000);
    simulation.run_until_completed(client, 2);
    assert_eq!(simulation.life(client).closed(), None);
}

#[test]
fn a_flood_of_first_packets_costs_no_memory_where_clients_prove_themselves() {
    let mut simulation = Simulation::with(5, &fast(), |server| {
        server.retry = Retry::AboveHandshakes(20);
    });
    // Genuine first packets, all from addresses where nobody answers.
    simulation.down.is_down = true;
    for port in 1..200 {
        simulation.nodes[CLIENT].address = SocketAddr::from(([203, 0, 113, 1], port));
        simulation.connect();
        simulation.act();
    }
    simulation.run_for(RTT);
    assert_eq!(simulation.nodes[SERVER].endpoint.len(), 20);
    assert!(simulation.nodes[SERVER].endpoint.retries_sent() >= 179);
    // They are forgotten, and meanwhile a client that validates its address is served.
    simulation.down.is_down = false;
    simulation.nodes[CLIENT].address = "198.51.100.1:50000".parse().unwrap();
    simulation.establish();
    simulation.run_for(Duration::from_mins(2));
    simulation.nodes[SERVER].endpoint.remove_drained();
    assert!(simulation.nodes[SERVER].endpoint.is_empty());
}

#[test]
fn answers_are_rationed_and_only_ids_of_ours_get_any() {
    let mut simulation = Simulation::new(6);
    let (client, server) = simulation.establish();
    let id = short(&mut simulation, client)[1..11].to_vec();
    simulation.nodes[SERVER].endpoint.remove(server).unwrap();
    let mut answers = 0;
    simulation.now = Time(50_000_000_000);
    for round in 0..10_000 {
        let mut datagram = simulation.dice.bytes(60);
        datagram[0] = 0x41;
        if round % 2 == 0 {
            datagram[1..11].copy_from_slice(&id);
        }
        simulation.inject(SERVER, stranger(), &datagram);
        simulation.seen = Some(Vec::new());
        simulation.act();
        answers += simulation.seen.take().unwrap().len();
    }
    assert_eq!(answers, 1000);
}

/// A packet with a short header from that client.
fn short(simulation: &mut Simulation, client: Handle) -> Vec<u8> {
    simulation.run_for(2 * RTT);
    simulation.seen = Some(Vec::new());
    simulation.nodes[CLIENT].connection(client).ping();
    simulation.act();
    let seen = simulation.seen.take().unwrap();
    assert_eq!(seen[0].bytes[0] & 0x80, 0);
    seen[0].bytes.clone()
}

#[test]
fn a_forged_version_negotiation_is_ignored_once_the_server_has_spoken() {
    let mut simulation = Simulation::new(7);
    let record = recording(&mut simulation);
    let first = &record[0].bytes;
    let destination = &first[6..14];
    let source = &first[15..25];
    let forged = roundtrip_wire::quic::write_version_negotiation(
        source,
        destination,
        &[roundtrip_wire::quic::Version(7)],
        0,
    );
    let server = simulation.nodes[SERVER].address;
    let client = *simulation.nodes[CLIENT].lives.keys().next().unwrap();
    simulation.inject(CLIENT, server, &forged);
    simulation.act();
    assert_eq!(simulation.life(client).closed(), None);
    // Before the handshake, the client accepts it. RFC 9000 §6.2.
    let mut simulation = Simulation::new(7);
    simulation.seen = Some(Vec::new());
    let client = simulation.connect();
    simulation.act();
    let first = simulation.seen.take().unwrap().remove(0).bytes;
    let versions = [roundtrip_wire::quic::Version(7)];
    let forged = roundtrip_wire::quic::write_version_negotiation(
        &first[15..25],
        &first[6..14],
        &versions,
        0,
    );
    simulation.inject(CLIENT, server, &forged);
    simulation.act();
    assert!(simulation.life(client).closed().is_some());
}
