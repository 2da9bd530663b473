//! Near and far, fast and slow, alone and with other connections.

use std::time::Duration;

use roundtrip_quic::{CongestionControl, DatagramSize, Retry, Transport};

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast};

fn set_delay(simulation: &mut Simulation, round_trip: Duration) {
    simulation.up.delay = round_trip / 2;
    simulation.down.delay = round_trip / 2;
}

#[test]
fn data_flows_over_any_distance() {
    let controllers = [
        CongestionControl::Cubic,
        CongestionControl::Reno,
        CongestionControl::Bbr,
    ];
    for congestion in controllers {
        for micros in [50, 1000, 600_000] {
            let transport = Transport {
                congestion,
                ..fast()
            };
            let mut simulation = Simulation::with(micros, &transport, |_| {});
            set_delay(&mut simulation, Duration::from_micros(micros));
            let (client, server) = simulation.establish();
            let start = simulation.now;
            simulation.request(client, 0, 4_000_000);
            simulation.run_until_completed(client, 1);
            let trips = simulation.now.since(start).as_nanos() / 1000 / u128::from(micros);
            // Ten packets at first, twice as many in each round trip: 2^9 · 10 are enough, and half
            // a millisecond of delayed acknowledgements is a lot when a round trip is short.
            let most = if micros < 1000 { 400 } else { 24 };
            assert!(
                trips <= most,
                "{congestion:?} {micros} µs: {trips} round trips"
            );
            assert_eq!(simulation.stats(SERVER, server).packets_lost, 0);
        }
    }
}

#[test]
fn two_downloads_share_a_bottleneck() {
    for congestion in [CongestionControl::Cubic, CongestionControl::Reno] {
        let transport = Transport {
            congestion,
            ..fast()
        };
        let mut simulation = Simulation::with(2, &transport, |_| {});
        simulation.down.rate = Some(2_000_000);
        simulation.down.queue = 80_000;
        let (first, _) = simulation.establish();
        let (second, _) = simulation.establish();
        simulation.request(first, 0, 20_000_000);
        simulation.request(second, 0, 20_000_000);
        simulation.run_until("one of two", |simulation| {
            simulation.completed(first) + simulation.completed(second) > 0
        });
        for client in [first, second] {
            let got = simulation.life(client).traffic.received();
            assert!(got > 20_000_000 / 4, "{congestion:?}: {got}");
        }
    }
}

#[test]
fn a_lossy_way_does_not_stop_early_data_behind_a_retry() {
    for seed in 0..20 {
        let mut simulation = Simulation::with(seed, &fast(), |server| server.retry = Retry::Always);
        let (first, _) = simulation.establish();
        simulation.request(first, 0, 10);
        simulation.run_until_completed(first, 1);
        simulation.up.loss = 150;
        simulation.down.loss = 150;
        let client = simulation.connect();
        simulation.request(client, 20_000, 20_000);
        simulation.run_until_completed(client, 1);
    }
}

#[test]
fn a_client_that_vanishes_is_forgotten_cheaply() {
    let mut simulation = Simulation::new(3);
    let (client, server) = simulation.establish();
    simulation.request(client, 0, 50_000_000);
    simulation.run_for(4 * RTT);
    simulation.hosts.clear();
    let before = simulation.stats(SERVER, server).packets_sent;
    simulation.run_for(Duration::from_mins(1));
    let after = simulation.stats(SERVER, server).packets_sent;
    let window = simulation.stats(SERVER, server).window / 1200;
    assert!(after - before < 100 + window, "{} packets", after - before);
    assert_eq!(simulation.nodes[SERVER].endpoint.remove_drained(), 1);
}

#[test]
fn a_server_mirrors_the_size_of_its_clients_first_datagram() {
    let mirror = Transport {
        datagram: DatagramSize::Mirror,
        ..fast()
    };
    for size in [1200, 1337] {
        let mut simulation = Simulation::with(4, &mirror, |_| {});
        let fixed = Transport {
            datagram: DatagramSize::Fixed(size),
            ..fast()
        };
        simulation.client_config.transport = std::sync::Arc::new(fixed);
        let (client, server) = simulation.establish();
        simulation.request(client, 0, 100_000);
        simulation.run_until_completed(client, 1);
        assert_eq!(simulation.stats(SERVER, server).datagram, size);
        assert_eq!(simulation.down.counts.largest, usize::from(size));
    }
}

#[test]
fn a_search_begins_with_the_size_of_the_clients_first_datagram() {
    let large = Transport {
        datagram: DatagramSize::Fixed(1337),
        ..fast()
    };
    // In the second case, the path back carries less than the client's first datagram.
    for (largest, expected) in [(1400, 1337..=1400), (1250, 1200..=1250)] {
        let mut simulation = Simulation::with(4, &fast(), |_| {});
        simulation.client_config.transport = std::sync::Arc::new(large.clone());
        simulation.down.largest = largest;
        let client = simulation.connect();
        simulation.request(client, 0, 8000);
        simulation.run_until_completed(client, 1);
        let seen = simulation.down.counts.largest;
        assert!(expected.contains(&seen), "{seen} of {largest}");
        let server = simulation.nodes[SERVER].accepted[0];
        let stats = simulation.stats(SERVER, server);
        assert!(stats.probe_timeouts <= 3, "{stats:?}");
    }
}

#[test]
fn pacing_spreads_what_a_window_holds() {
    let mut most = Vec::new();
    for pacing in [true, false] {
        let transport = Transport { pacing, ..fast() };
        let mut simulation = Simulation::with(5, &transport, |_| {});
        simulation.down.rate = Some(5_000_000);
        simulation.down.queue = 200_000;
        let (client, _) = simulation.establish();
        simulation.request(client, 0, 5_000_000);
        simulation.run_until_completed(client, 1);
        most.push(simulation.most_at_once);
    }
    assert!(most[0] * 2 <= most[1], "{most:?} datagrams at once");
}

#[test]
fn an_answer_that_trickles_is_not_held_back() {
    let mut simulation = Simulation::new(6);
    let (client, server) = simulation.establish();
    for round in 1..20 {
        let start = simulation.now;
        simulation.request(client, 1, 1);
        simulation.run_until_completed(client, round);
        let took = simulation.now.since(start);
        assert!(took < RTT * 5 / 4, "{took:?}");
        simulation.run_for(Duration::from_millis(7));
    }
    let _ = (CLIENT, server);
}
