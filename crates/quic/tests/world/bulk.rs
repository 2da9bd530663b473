//! Bulk data: that it arrives completely, how many datagrams and acknowledgements it takes, how
//! well it fills its path.

use std::time::Duration;

use roundtrip_quic::{AckPolicy, CongestionControl, DatagramSize, Transport};

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast};

const MEGABYTE: u64 = 1_000_000;

#[test]
fn downloads_and_uploads_come_whole() {
    for (brought, wanted) in [
        (0, 5 * MEGABYTE),
        (5 * MEGABYTE, 0),
        (2 * MEGABYTE, 2 * MEGABYTE),
    ] {
        let mut simulation = Simulation::new(1);
        let (client, server) = simulation.establish();
        simulation.request(client, brought, wanted);
        simulation.run_until_completed(client, 1);
        for (host, handle) in [(CLIENT, client), (SERVER, server)] {
            let stats = simulation.stats(host, handle);
            assert_eq!((stats.packets_lost, stats.stream_bytes_resent), (0, 0));
        }
    }
}

#[test]
fn a_hundred_streams_share_a_connection() {
    let mut simulation = Simulation::new(2);
    let (client, _) = simulation.establish();
    // More streams than may be open at once.
    for size in 0..250 {
        simulation.request(client, size * 7, size * 211);
    }
    simulation.run_until_completed(client, 250);
}

#[test]
fn the_largest_datagrams_that_arrive_are_found() {
    let mut simulation = Simulation::new(3);
    simulation.down.largest = 1400;
    let (client, server) = simulation.establish();
    simulation.request(client, 0, 3 * MEGABYTE);
    simulation.run_until_completed(client, 1);
    let stats = simulation.stats(SERVER, server);
    let found = stats.datagram;
    assert!((1350..=1400).contains(&found), "{found}");
    // Too large does not count as lost.
    assert_eq!(stats.packets_lost, 0);
    assert!(simulation.down.counts.largest >= 1350);
}

#[test]
fn datagrams_of_a_fixed_size_have_it() {
    let transport = Transport {
        datagram: DatagramSize::Fixed(1400),
        ..fast()
    };
    let mut simulation = Simulation::with(4, &transport, |_| {});
    let (client, server) = simulation.establish();
    simulation.request(client, 0, MEGABYTE);
    simulation.run_until_completed(client, 1);
    assert_eq!(simulation.stats(SERVER, server).datagram, 1400);
    assert_eq!(simulation.down.counts.largest, 1400);
}

#[test]
fn a_way_that_stops_taking_large_datagrams_is_survived() {
    let mut simulation = Simulation::new(5);
    let (client, server) = simulation.establish();
    simulation.request(client, 0, 2 * MEGABYTE);
    simulation.run_until_completed(client, 1);
    assert!(simulation.stats(SERVER, server).datagram > 1400);
    simulation.down.largest = 1250;
    simulation.request(client, 0, 2 * MEGABYTE);
    simulation.run_until_completed(client, 2);
    let left = simulation.stats(SERVER, server).datagram;
    assert!((1200..=1250).contains(&left), "{left}");
}

#[test]
fn bursts_are_long_and_acknowledgements_few() {
    let mut simulation = Simulation::new(6);
    let (client, server) = simulation.establish();
    simulation.nodes[SERVER].bursts.clear();
    simulation.request(client, 0, 10 * MEGABYTE);
    simulation.run_until_completed(client, 1);
    let asked = simulation.stats(CLIENT, client).acks_sent;
    let packets = simulation.stats(SERVER, server).packets_sent;
    assert!(asked * 10 < packets, "{asked} ACKs for {packets} packets");
    let bursts = &simulation.nodes[SERVER].bursts;
    let mean = bursts.iter().sum::<usize>() / bursts.len();
    assert!(mean >= 8, "{mean} datagrams a burst");

    let transport = Transport {
        ask_acks: AckPolicy::Unasked,
        ..fast()
    };
    let mut simulation = Simulation::with(6, &transport, |_| {});
    let (client, _) = simulation.establish();
    simulation.request(client, 0, 10 * MEGABYTE);
    simulation.run_until_completed(client, 1);
    let unasked = simulation.stats(CLIENT, client).acks_sent;
    assert!(unasked > 2 * asked, "{unasked} against {asked}");
}

#[test]
fn a_narrow_way_is_filled_by_every_controller() {
    let controllers = [
        CongestionControl::Cubic,
        CongestionControl::Reno,
        CongestionControl::Bbr,
    ];
    for congestion in controllers {
        let transport = Transport {
            congestion,
            ..fast()
        };
        let mut simulation = Simulation::with(7, &transport, |_| {});
        // 16 Mbit/s, a queue of one bandwidth-delay product.
        simulation.down.rate = Some(2 * MEGABYTE);
        simulation.down.queue = 80_000;
        let (client, _) = simulation.establish();
        let start = simulation.now;
        simulation.request(client, 0, 10 * MEGABYTE);
        simulation.run_until_completed(client, 1);
        let took = simulation.now.since(start).as_secs_f64();
        assert!((5.0..7.5).contains(&took), "{congestion:?}: {took} s");
    }
}

#[test]
fn congestion_marks_spare_losses() {
    let mut simulation = Simulation::new(8);
    simulation.down.rate = Some(2 * MEGABYTE);
    simulation.down.queue = 200_000;
    simulation.down.marks_above = Some(40_000);
    let (client, server) = simulation.establish();
    let start = simulation.now;
    simulation.request(client, 0, 6 * MEGABYTE);
    simulation.run_until_completed(client, 1);
    let took = simulation.now.since(start);
    assert!(simulation.down.counts.marked > 0);
    let stats = simulation.stats(SERVER, server);
    assert!(stats.ecn);
    assert_eq!(stats.packets_lost, 0);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn three_hundred_connections_share_an_endpoint() {
    let transport = Transport {
        window: 1 << 20,
        ..fast()
    };
    let mut simulation = Simulation::with(9, &transport, |_| {});
    let clients: Vec<_> = (0..300).map(|_| simulation.connect()).collect();
    for client in &clients {
        simulation.request(*client, 500, 5000);
    }
    simulation.run_until("all answers", |simulation| {
        clients
            .iter()
            .all(|client| simulation.completed(*client) == 1)
    });
    assert_eq!(simulation.nodes[SERVER].endpoint.len(), 300);
    let now = simulation.now;
    for client in clients {
        simulation.nodes[CLIENT]
            .connection(client)
            .close(now, 0, b"");
    }
    simulation.run_for(RTT * 60);
    assert_eq!(simulation.nodes[SERVER].endpoint.remove_drained(), 300);
    assert_eq!(simulation.nodes[CLIENT].endpoint.remove_drained(), 300);
    assert_eq!(simulation.nodes[CLIENT].endpoint.deadline(), None);
    assert!(simulation.nodes[SERVER].endpoint.is_empty());
}
