//! How connections end: closed, timed out, forgotten.

use std::io::ErrorKind;
use std::time::Duration;

use roundtrip_quic::{CloseReason, Endpoint, Transport};

use super::node::Node;
use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast, server_config};

#[test]
fn what_one_side_says_the_other_hears_and_both_forget() {
    let mut simulation = Simulation::new(1);
    let (client, server) = simulation.establish();
    let now = simulation.now;
    simulation.nodes[CLIENT]
        .connection(client)
        .close(now, 77, b"enough");
    simulation.run_for(RTT);
    let heard = simulation.nodes[SERVER].lives[&server].closed();
    let said = CloseReason::Application {
        code: 77,
        reason: "enough".to_owned(),
    };
    assert_eq!(heard, Some(&said));
    assert_eq!(
        simulation.life(client).closed(),
        Some(&CloseReason::Local { code: 77 })
    );
    simulation.run_for(Duration::from_secs(2));
    for host in [CLIENT, SERVER] {
        assert_eq!(simulation.nodes[host].endpoint.remove_drained(), 1);
        assert_eq!(simulation.nodes[host].endpoint.deadline(), None);
    }
}

#[test]
fn who_hears_nothing_gives_up_after_the_idle_timeout() {
    let transport = Transport {
        idle_timeout: Duration::from_secs(5),
        ..fast()
    };
    let mut simulation = Simulation::with(2, &transport, |_| {});
    let (client, server) = simulation.establish();
    simulation.run_for(Duration::from_secs(4));
    assert_eq!(simulation.life(client).closed(), None);
    simulation.run_for(Duration::from_secs(2));
    assert_eq!(
        simulation.life(client).closed(),
        Some(&CloseReason::TimedOut)
    );
    let closed = simulation.nodes[SERVER].lives[&server].closed();
    assert_eq!(closed, Some(&CloseReason::TimedOut));
    assert_eq!(simulation.nodes[SERVER].endpoint.remove_drained(), 1);
}

#[test]
fn keeping_alive_outlasts_the_idle_timeout() {
    let transport = Transport {
        idle_timeout: Duration::from_secs(5),
        keep_alive: Some(Duration::from_secs(2)),
        ..fast()
    };
    let mut simulation = Simulation::with(3, &transport, |_| {});
    let (client, _) = simulation.establish();
    simulation.run_for(Duration::from_mins(1));
    assert_eq!(simulation.life(client).closed(), None);
    simulation.request(client, 10, 10);
    simulation.run_until_completed(client, 1);
}

#[test]
fn a_server_that_nobody_answers_for_is_given_up() {
    let mut simulation = Simulation::new(4);
    simulation.up.is_down = true;
    let client = simulation.connect();
    simulation.run_for(Duration::from_mins(1));
    assert_eq!(
        simulation.life(client).closed(),
        Some(&CloseReason::TimedOut)
    );
    // Probes become less frequent: RFC 9002 §6.2.1.
    let sent = simulation.up.counts.datagrams;
    assert!((4..=24).contains(&sent), "{sent}");
}

#[test]
fn a_server_that_has_forgotten_says_so() {
    let mut simulation = Simulation::new(5);
    let (client, server) = simulation.establish();
    simulation.run_for(2 * RTT);
    simulation.nodes[SERVER].endpoint.remove(server).unwrap();
    simulation.request(client, 10, 10);
    simulation.run_for(2 * RTT);
    assert_eq!(simulation.life(client).closed(), Some(&CloseReason::Reset));
    // Silence follows: nobody answers a reset.
    let sent = simulation.up.counts.datagrams;
    simulation.run_for(Duration::from_secs(10));
    assert_eq!(simulation.up.counts.datagrams, sent);
}

/// Another process may still have a connection that this one does not know: the token key must not
/// make resets.
#[test]
fn a_server_that_began_anew_resets_nothing_of_before() {
    for key in [Some([7; 32]), None] {
        let mut simulation = Simulation::with(6, &fast(), |server| server.key = key);
        let (client, _) = simulation.establish();
        simulation.run_for(2 * RTT);
        let mut config = server_config(&simulation.identity, &fast());
        config.key = key;
        let (address, seed) = (simulation.nodes[SERVER].address, simulation.seed());
        simulation.nodes[SERVER] = Node::new(Endpoint::new(Some(config), seed), address, true);
        let said = simulation.down.counts.datagrams;
        simulation.request(client, 10, 10);
        simulation.run_for(2 * RTT);
        assert_eq!(simulation.life(client).closed(), None);
        assert_eq!(simulation.down.counts.datagrams, said);
    }
}

#[test]
fn handles_of_connections_that_are_gone_name_nothing() {
    let mut simulation = Simulation::new(7);
    let (client, server) = simulation.establish();
    for (host, handle) in [(CLIENT, client), (SERVER, server)] {
        let endpoint = &mut simulation.nodes[host].endpoint;
        assert!(endpoint.remove(handle).is_some());
        assert!(endpoint.remove(handle).is_none());
        assert!(endpoint.connection(handle).is_none());
        assert!(endpoint.is_empty());
    }
    let (next, _) = simulation.establish();
    assert_ne!(next, client);
    assert!(
        simulation.nodes[CLIENT]
            .endpoint
            .connection(client)
            .is_none()
    );
}

#[test]
fn an_unreachable_peer_is_believed_in_until_it_was_heard() {
    let mut simulation = Simulation::new(5);
    let client = simulation.connect();
    simulation.run_for(RTT / 4);
    let now = simulation.now;
    let connection = simulation.nodes[CLIENT].connection(client);
    connection.on_unreachable(now, ErrorKind::ConnectionRefused);
    simulation.nodes[CLIENT].stir(client);
    simulation.run_for(RTT);
    let refused = CloseReason::Unreachable(ErrorKind::ConnectionRefused);
    assert_eq!(simulation.life(client).closed(), Some(&refused));

    let mut simulation = Simulation::new(6);
    let (client, _) = simulation.establish();
    let now = simulation.now;
    let connection = simulation.nodes[CLIENT].connection(client);
    connection.on_unreachable(now, ErrorKind::ConnectionRefused);
    simulation.nodes[CLIENT].stir(client);
    simulation.run_for(RTT);
    assert_eq!(simulation.life(client).closed(), None);
}
