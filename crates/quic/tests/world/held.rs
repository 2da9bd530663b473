//! Servers that see a hello before TLS does, and servers whose configuration changes or that accept
//! nobody any more.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::{CloseReason, Code, Event, Handle, Retry, ServerConfig, Transport};
use roundtrip_wire::tls::{ClientHello, Handshakes};

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast, server_config};

fn holding(seed: u64, change: impl FnOnce(&mut ServerConfig)) -> Simulation {
    Simulation::with(seed, &fast(), |server| {
        server.holds = true;
        change(server);
    })
}

/// The hello that is held for the server's last client, if it is complete.
fn hello(simulation: &mut Simulation) -> Option<ClientHello> {
    let server = *simulation.nodes[SERVER].accepted.last().unwrap();
    let connection = simulation.nodes[SERVER].connection(server);
    let first = Handshakes::new(connection.hello()?).next()?;
    ClientHello::parse(first.body).ok()
}

/// A client configuration whose hello takes two datagrams.
fn talkative(simulation: &Simulation) -> rustls::ClientConfig {
    let mut tls = (*simulation.client_config.tls).clone();
    let long = (0..8).map(|n| vec![b'a' + n; 200]);
    tls.alpn_protocols.extend(long);
    tls
}

fn proceed(simulation: &mut Simulation) -> Handle {
    let server = *simulation.nodes[SERVER].accepted.last().unwrap();
    let now = simulation.now;
    simulation.nodes[SERVER].connection(server).proceed(now);
    server
}

/// A client that has received an answer and a ticket.
fn acquainted(seed: u64) -> Simulation {
    let mut simulation = holding(seed, |_| {});
    let client = simulation.connect();
    simulation.request(client, 0, 10);
    simulation.run_for(RTT * 3 / 4);
    proceed(&mut simulation);
    simulation.run_until_completed(client, 1);
    simulation
}

#[test]
fn a_hello_of_two_datagrams_is_shown_whole_before_tls_has_it() {
    for disorder in [false, true] {
        let mut simulation = holding(1, |_| {});
        simulation.client_config.tls = Arc::new(talkative(&simulation));
        simulation.up.hold_next = disorder.then_some(RTT / 10);
        let client = simulation.connect();
        simulation.run_for(RTT * 11 / 20);
        // The second half alone shows nothing.
        assert_eq!(hello(&mut simulation).is_none(), disorder);
        simulation.run_for(RTT / 10);
        let whole = hello(&mut simulation).unwrap();
        assert_eq!(whole.alpn.len(), 9);
        simulation.run_for(5 * RTT);
        assert_eq!(simulation.life(client).time_of(&Event::Connected), None);
        let server = proceed(&mut simulation);
        simulation.request(client, 0, 1000);
        simulation.run_until_completed(client, 1);
        let connection = simulation.nodes[SERVER].connection(server);
        assert_eq!(connection.hello(), None);
    }
}

#[test]
fn early_data_waits_with_the_hello() {
    let mut simulation = acquainted(2);
    let client = simulation.connect();
    simulation.request(client, 9000, 3000);
    simulation.run_for(RTT * 3 / 4);
    let known = hello(&mut simulation).unwrap();
    assert!(known.first_identity.is_some());
    let server = *simulation.nodes[SERVER].accepted.last().unwrap();
    let connection = simulation.nodes[SERVER].connection(server);
    assert_eq!(connection.early_accepted(), None);
    assert_eq!(connection.stats().stream_bytes_received, 0);
    proceed(&mut simulation);
    simulation.run_until_completed(client, 1);
    let connection = simulation.nodes[SERVER].connection(server);
    assert_eq!(connection.early_accepted(), Some(true));
    assert_eq!(simulation.stats(CLIENT, client).stream_bytes_resent, 0);
}

/// If a client sends more than a first flight, only that much is kept; it sends the rest again.
#[test]
fn little_is_kept_of_early_data_and_nothing_is_missing_in_the_end() {
    let mut simulation = acquainted(3);
    let client = simulation.connect();
    simulation.request(client, 200_000, 3000);
    simulation.run_for(20 * RTT);
    let server = proceed(&mut simulation);
    let kept = simulation.stats(SERVER, server).stream_bytes_received;
    assert!(kept > 8000 && kept <= 16 << 10, "{kept}");
    simulation.run_until_completed(client, 1);
}

#[test]
fn a_retry_comes_before_the_hello_is_held() {
    let mut simulation = holding(4, |server| server.retry = Retry::Always);
    let client = simulation.connect();
    simulation.run_for(RTT * 7 / 4);
    assert!(hello(&mut simulation).is_some());
    assert_eq!(simulation.nodes[SERVER].accepted.len(), 1);
    proceed(&mut simulation);
    simulation.request(client, 0, 1000);
    simulation.run_until_completed(client, 1);
    assert_eq!(simulation.nodes[SERVER].endpoint.retries_sent(), 1);
}

/// A client whose hello takes two datagrams gets two Retries, but counts as one.
#[test]
fn retries_are_counted_by_the_client() {
    let mut simulation = Simulation::with(11, &fast(), |server| server.retry = Retry::Always);
    simulation.client_config.tls = Arc::new(talkative(&simulation));
    for clients in 1..3 {
        simulation.establish();
        let endpoint = &simulation.nodes[SERVER].endpoint;
        assert_eq!(endpoint.retries_sent(), clients);
    }
}

#[test]
fn a_connection_that_its_owner_refuses_is_closed_as_refused() {
    for holds in [true, false] {
        let mut simulation = holding(10, |server| server.holds = holds);
        let client = simulation.connect();
        simulation.act();
        // Before the server has sent anything.
        simulation.down.is_down = true;
        simulation.run_for(RTT * 3 / 4);
        simulation.down.is_down = false;
        let now = simulation.now;
        let server = simulation.nodes[SERVER].accepted[0];
        simulation.nodes[SERVER].connection(server).refuse(now);
        simulation.run_for(RTT);
        let reason = simulation.life(client).closed();
        let refused = Code::CONNECTION_REFUSED;
        assert!(
            matches!(reason, Some(CloseReason::Transport { code, .. }) if *code == refused),
            "{reason:?}"
        );
    }
}

#[test]
fn a_client_that_goes_away_meanwhile_is_forgotten() {
    let mut simulation = holding(5, |_| {});
    let client = simulation.connect();
    simulation.run_for(RTT * 3 / 4);
    let now = simulation.now;
    simulation.nodes[CLIENT]
        .connection(client)
        .close(now, 0, b"");
    simulation.run_for(RTT);
    let server = proceed(&mut simulation);
    let reason = simulation.nodes[SERVER].lives[&server].closed();
    assert!(
        matches!(reason, Some(CloseReason::Transport { .. })),
        "{reason:?}"
    );
    simulation.run_for(Duration::from_secs(5));
    assert_eq!(simulation.nodes[SERVER].endpoint.remove_drained(), 1);
    assert_eq!(simulation.nodes[SERVER].endpoint.deadline(), None);
}

#[test]
fn a_held_client_is_given_up_after_the_idle_timeout() {
    let transport = Transport {
        idle_timeout: Duration::from_secs(5),
        ..fast()
    };
    let mut simulation = Simulation::with(6, &transport, |server| server.holds = true);
    simulation.connect();
    simulation.run_for(Duration::from_secs(30));
    let server = simulation.nodes[SERVER].accepted[0];
    let reason = simulation.nodes[SERVER].lives[&server].closed();
    assert_eq!(reason, Some(&CloseReason::TimedOut));
    assert_eq!(simulation.nodes[SERVER].endpoint.remove_drained(), 1);
}

/// A client that closes at once has still cost a handshake.
#[test]
fn those_who_have_proved_nothing_count_as_unproved_also_when_they_have_gone() {
    let mut simulation = Simulation::with(7, &fast(), |server| {
        server.retry = Retry::AboveHandshakes(1);
    });
    let (first, _) = simulation.establish();
    simulation.run_for(RTT);
    let token = simulation.life(first).events.iter().find_map(|event| {
        let (_, Event::NewToken(token)) = event else {
            return None;
        };
        Some(token.clone())
    });
    // A client with a token, whose handshake is not complete.
    simulation.client_config.token = token;
    simulation.connect();
    simulation.run_for(RTT * 3 / 4);
    assert_eq!(simulation.nodes[SERVER].endpoint.tokens_taken(), 1);
    simulation.client_config.token = None;
    // A client without a token, which is refused.
    simulation.connect();
    simulation.act();
    simulation.up.is_down = true;
    simulation.run_for(RTT * 3 / 4);
    let now = simulation.now;
    let refused = *simulation.nodes[SERVER].accepted.last().unwrap();
    let connection = simulation.nodes[SERVER].connection(refused);
    connection.close(now, 2, b"");
    simulation.act();
    simulation.up.is_down = false;
    assert_eq!(simulation.nodes[SERVER].accepted.len(), 3);
    // It is forgotten at once, and no unvalidated client is left.
    assert_eq!(simulation.nodes[SERVER].endpoint.remove_drained(), 1);
    for (pause, retries) in [(RTT, 1), (Duration::from_secs(1), 1), (Duration::ZERO, 2)] {
        simulation.run_for(pause);
        simulation.connect();
        simulation.run_for(RTT * 3 / 4);
        let endpoint = &simulation.nodes[SERVER].endpoint;
        assert_eq!(endpoint.retries_sent(), retries);
    }
}

#[test]
fn clients_that_come_later_are_taken_as_the_new_configuration_wants_it() {
    let mut simulation = Simulation::new(8);
    let (before, _) = simulation.establish();
    let mut config = server_config(&simulation.identity, &fast());
    config.retry = Retry::Always;
    let endpoint = &mut simulation.nodes[SERVER].endpoint;
    endpoint.set_server(Some(config));
    simulation.establish();
    let endpoint = &simulation.nodes[SERVER].endpoint;
    assert_eq!(endpoint.retries_sent(), 1);
    simulation.request(before, 100, 1000);
    simulation.run_until_completed(before, 1);
}

#[test]
fn a_server_that_accepts_no_more_serves_its_clients_and_resets_former_ones() {
    let mut simulation = Simulation::new(9);
    let (inside, server) = simulation.establish();
    simulation.nodes[SERVER].endpoint.set_server(None);
    let outside = simulation.connect();
    simulation.request(inside, 100, 100_000);
    simulation.run_until_completed(inside, 1);
    simulation.run_for(Duration::from_secs(10));
    assert_eq!(simulation.nodes[SERVER].accepted.len(), 1);
    let got = simulation.stats(CLIENT, outside).datagrams_received;
    assert_eq!(got, 0);
    simulation.nodes[SERVER].endpoint.remove(server).unwrap();
    simulation.request(inside, 100, 100);
    simulation.run_for(2 * RTT);
    let reason = simulation.life(inside).closed();
    assert_eq!(reason, Some(&CloseReason::Reset));
}
