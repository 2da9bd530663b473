//! Several endpoints behind one address; the client's address chooses one of them. A datagram that
//! reaches the wrong one is handed over, and no endpoint resets a connection that may exist
//! elsewhere. RFC 9000 §21.11.

use std::net::SocketAddr;

use roundtrip_quic::{Endpoint, Event, Handle, ServerConfig};

use super::node::Node;
use super::paths::rebind;
use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast, server_config};

const REBINDINGS: u16 = 100;
/// RFC 9000 §10.3: the size of a reset token.
const TOKEN: usize = 16;

fn config(simulation: &Simulation) -> ServerConfig {
    let mut config = server_config(&simulation.identity, &fast());
    config.key = Some([7; 32]);
    config
}

fn among(seed: u64, count: u16) -> Simulation {
    let mut simulation = Simulation::new(seed);
    let config = config(&simulation);
    simulation.multiply_server(&config, count);
    simulation
}

fn establish(simulation: &mut Simulation) -> Handle {
    let client = simulation.connect();
    simulation.run_until("a handshake", |simulation| {
        let life = simulation.nodes[CLIENT].lives.get(&client);
        life.is_some_and(|life| life.time_of(&Event::HandshakeConfirmed).is_some())
    });
    simulation.run_for(2 * RTT);
    client
}

/// A packet that begins with the short header of a client, and is damaged after it.
fn short_packet(simulation: &mut Simulation, client: Handle) -> Vec<u8> {
    simulation.seen = Some(Vec::new());
    simulation.nodes[CLIENT].connection(client).ping();
    simulation.act();
    let seen = simulation.seen.take().unwrap();
    let mut packet = seen[0].bytes.clone();
    assert_eq!(packet[0] & 0x80, 0);
    packet.resize(80, 0x55);
    for byte in packet.iter_mut().skip(11) {
        *byte ^= 0x3c;
    }
    packet
}

/// The answers of all endpoints to that packet, sent by strangers.
fn answers(simulation: &mut Simulation, packet: &[u8]) -> Vec<Vec<u8>> {
    simulation.seen = Some(Vec::new());
    for port in 2000..2032 {
        let stranger = SocketAddr::from(([203, 0, 113, 66], port));
        simulation.inject(SERVER, stranger, packet);
        simulation.act();
    }
    let seen = simulation.seen.take().unwrap();
    let answers = seen.into_iter().filter(|sent| sent.to.port() >= 2000);
    let answers = answers.filter(|sent| sent.to.port() < 2032);
    answers.map(|sent| sent.bytes).collect()
}

#[test]
fn a_client_goes_on_whatever_its_port() {
    for count in [2, 4, 16] {
        let mut simulation = among(1, count);
        let client = establish(&mut simulation);
        for round in 0..REBINDINGS {
            let port = 30_000 + 7 * round;
            rebind(&mut simulation, &format!("198.51.100.1:{port}"));
            simulation.request(client, 100, 3000);
            let done = usize::from(round) + 1;
            simulation.run_until_completed(client, done);
        }
        assert_eq!(simulation.life(client).closed(), None);
        let accepted = simulation.siblings.iter();
        let accepted = accepted.map(|at| simulation.nodes[*at].accepted.len());
        assert_eq!(accepted.sum::<usize>(), 1, "{count} endpoints");
    }
}

/// Each client's second datagram carries the id that the server has chosen.
#[test]
fn a_client_whose_port_changes_within_the_handshake_reaches_its_owner() {
    let mut simulation = among(2, 4);
    let client = simulation.connect();
    simulation.run_for(RTT * 3 / 4);
    rebind(&mut simulation, "198.51.100.1:50001");
    simulation.run_for(4 * RTT);
    let accepted = simulation.siblings.iter();
    let accepted = accepted.map(|at| simulation.nodes[*at].accepted.len());
    assert_eq!(accepted.sum::<usize>(), 1);
    assert_eq!(simulation.life(client).closed(), None);
}

#[test]
fn nobody_is_told_the_reset_token_of_a_living_connection() {
    for count in [1, 2, 16] {
        let mut simulation = among(3, count);
        let client = establish(&mut simulation);
        let packet = short_packet(&mut simulation, client);
        assert_eq!(answers(&mut simulation, &packet), Vec::<Vec<u8>>::new());
        simulation.request(client, 100, 1000);
        simulation.run_until_completed(client, 1);
    }
}

#[test]
fn packets_of_a_forgotten_connection_are_reset_whatever_the_port() {
    let mut simulation = among(4, 4);
    let client = establish(&mut simulation);
    let packet = short_packet(&mut simulation, client);
    for at in simulation.siblings.clone() {
        for handle in simulation.nodes[at].accepted.clone() {
            simulation.nodes[at].endpoint.remove(handle).unwrap();
        }
    }
    let answers = answers(&mut simulation, &packet);
    assert_eq!(answers.len(), 32);
    let server = simulation.nodes[SERVER].address;
    for answer in &answers {
        assert!(answer.ends_with(answers[0].last_chunk::<TOKEN>().unwrap()));
    }
    simulation.inject(CLIENT, server, &answers[0]);
    simulation.act();
    assert!(simulation.life(client).closed().is_some());
}

/// They share the token key, as do two processes with one seed, or a process and its successor.
#[test]
fn another_group_resets_nothing_of_this_one() {
    let mut simulation = among(5, 4);
    let client = establish(&mut simulation);
    let packet = short_packet(&mut simulation, client);
    let (config, nodes) = (config(&simulation), simulation.nodes.len());
    let owners = std::mem::take(&mut simulation.siblings);
    // The server's node is kept beside those that replace it.
    let nobody = Node::new(
        Endpoint::new(None, [0; 32]),
        simulation.nodes[SERVER].address,
        true,
    );
    let first = std::mem::replace(&mut simulation.nodes[SERVER], nobody);
    simulation.multiply_server(&config, 4);
    assert_eq!(answers(&mut simulation, &packet), Vec::<Vec<u8>>::new());
    simulation.nodes[SERVER] = first;
    simulation.nodes.truncate(nodes);
    simulation.siblings = owners;
    simulation.request(client, 100, 1000);
    simulation.run_until_completed(client, 1);
}
