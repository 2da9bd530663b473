//! Clients that move, and keys that change, while data flows.

use std::net::SocketAddr;
use std::sync::Arc;

use roundtrip_quic::{Event, Transport};

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast};

const SIZE: u64 = 3_000_000;

pub(crate) fn rebind(simulation: &mut Simulation, address: &str) -> SocketAddr {
    let old = simulation.nodes[CLIENT].address;
    let address = address.parse().unwrap();
    simulation.hosts.remove(&old);
    simulation.hosts.insert(address, CLIENT);
    simulation.nodes[CLIENT].address = address;
    address
}

#[test]
fn a_client_whose_address_is_translated_anew_goes_on() {
    for address in ["198.51.100.1:50999", "203.0.113.5:50000"] {
        let mut simulation = Simulation::new(1);
        let (client, server) = simulation.establish();
        simulation.request(client, SIZE, SIZE);
        simulation.run_for(3 * RTT);
        let moved = rebind(&mut simulation, address);
        simulation.run_until_completed(client, 1);
        let life = &simulation.nodes[SERVER].lives[&server];
        assert!(life.time_of(&Event::PathChanged(moved)).is_some());
        assert_eq!(simulation.nodes[SERVER].connection(server).remote(), moved);
        assert_eq!(simulation.stats(SERVER, server).migrations, 1);
    }
}

#[test]
fn a_client_that_moves_takes_another_id() {
    let mut simulation = Simulation::new(2);
    let (client, server) = simulation.establish();
    simulation.run_for(2 * RTT);
    simulation.request(client, SIZE, SIZE);
    simulation.run_for(3 * RTT);
    simulation.seen = Some(Vec::new());
    simulation.run_for(RTT / 4);
    let moved: SocketAddr = "203.0.113.9:50000".parse().unwrap();
    simulation.hosts.insert(moved, CLIENT);
    let now = simulation.now;
    simulation.nodes[CLIENT]
        .connection(client)
        .migrate(now, Some(moved.ip()));
    simulation.run_until_completed(client, 1);
    assert_eq!(simulation.nodes[SERVER].connection(server).remote(), moved);
    // An observer of both paths sees no id on both. RFC 9000 §9.5.
    let seen = simulation.seen.take().unwrap();
    let server_address = simulation.nodes[SERVER].address;
    let ids = |of: SocketAddr| {
        let sent = seen
            .iter()
            .filter(move |sent| sent.from == of && sent.to == server_address);
        sent.map(|sent| sent.bytes[1..11].to_vec())
            .collect::<std::collections::HashSet<_>>()
    };
    let (before, after) = (ids("198.51.100.1:50000".parse().unwrap()), ids(moved));
    assert!(!before.is_empty() && !after.is_empty());
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
}

#[test]
fn a_server_that_forbids_moving_is_left_in_peace() {
    let transport = Transport {
        migration: false,
        ..fast()
    };
    let mut simulation = Simulation::with(3, &transport, |_| {});
    // The client would be allowed to move.
    simulation.client_config.transport = Arc::new(fast());
    let (client, server) = simulation.establish();
    simulation.run_for(2 * RTT);
    let (now, before) = (simulation.now, simulation.nodes[CLIENT].address);
    let elsewhere = "203.0.113.9".parse().unwrap();
    let connection = simulation.nodes[CLIENT].connection(client);
    assert!(!connection.migrate(now, Some(elsewhere)));
    simulation.request(client, 1000, 1000);
    simulation.run_until_completed(client, 1);
    assert_eq!(simulation.nodes[SERVER].connection(server).remote(), before);
}

#[test]
fn a_spoofed_address_gets_little() {
    let mut simulation = Simulation::new(4);
    let (client, server) = simulation.establish();
    simulation.request(client, 0, SIZE);
    simulation.run_for(3 * RTT);
    // Someone forwards one genuine packet from another address, before it arrives itself.
    simulation.seen = Some(Vec::new());
    simulation.run_for(RTT);
    let seen = simulation.seen.take().unwrap();
    let server_address = simulation.nodes[SERVER].address;
    simulation.nodes[CLIENT].connection(client).ping();
    simulation.up.is_down = true;
    simulation.seen = Some(Vec::new());
    simulation.act();
    let captured = simulation.seen.take().unwrap();
    let captured: Vec<_> = captured
        .into_iter()
        .filter(|sent| sent.to == server_address)
        .collect();
    simulation.up.is_down = false;
    assert!(!seen.is_empty() && !captured.is_empty());
    let spoofed: SocketAddr = "203.0.113.66:7".parse().unwrap();
    simulation.seen = Some(Vec::new());
    for sent in &captured {
        simulation.inject(SERVER, spoofed, &sent.bytes);
    }
    simulation.run_until_completed(client, 1);
    let seen = simulation.seen.take().unwrap();
    let got: usize = seen
        .iter()
        .filter(|sent| sent.to == spoofed)
        .map(|sent| sent.bytes.len())
        .sum();
    let gave: usize = captured.iter().map(|sent| sent.bytes.len()).sum();
    assert!(got <= 3 * gave, "{got} bytes for {gave}");
    let back = simulation.nodes[CLIENT].address;
    assert_eq!(simulation.nodes[SERVER].connection(server).remote(), back);
}

#[test]
fn keys_change_while_data_flows() {
    let mut simulation = Simulation::new(5);
    let (client, server) = simulation.establish();
    simulation.request(client, SIZE, SIZE);
    let mut updates = 0;
    for turn in 0..12 {
        // The two sides do not update at the same time, which would count as one update.
        simulation.run_for(RTT * 3 / 2);
        let (host, handle) = if turn % 2 == 0 {
            (CLIENT, client)
        } else {
            (SERVER, server)
        };
        let connection = simulation.nodes[host].connection(handle);
        updates += u64::from(connection.update_keys());
        connection.ping();
    }
    simulation.run_for(2 * RTT);
    simulation.run_until_completed(client, 1);
    assert!(updates >= 2);
    for (host, handle) in [(CLIENT, client), (SERVER, server)] {
        let stats = simulation.stats(host, handle);
        assert_eq!((stats.key_updates, stats.undecryptable), (updates, 0));
        assert_eq!(stats.packets_lost, 0);
    }
}

#[test]
fn keys_change_while_packets_are_lost_and_reordered() {
    for seed in 0..5 {
        let mut simulation = Simulation::new(60 + seed);
        let (client, server) = simulation.establish();
        for link in [&mut simulation.up, &mut simulation.down] {
            link.loss = 20;
            link.jitter = RTT / 4;
        }
        simulation.request(client, 500_000, 500_000);
        for turn in 0..20 {
            simulation.run_for(RTT);
            let (host, handle) = if turn % 2 == 0 {
                (CLIENT, client)
            } else {
                (SERVER, server)
            };
            simulation.nodes[host].connection(handle).update_keys();
        }
        simulation.run_until_completed(client, 1);
        assert!(simulation.stats(CLIENT, client).key_updates > 1);
    }
}
