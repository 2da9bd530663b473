//! Paths that lose, duplicate, damage and reorder datagrams.

use std::time::Duration;

use super::link::Link;
use super::simulation::{CLIENT, RTT, SERVER, Simulation};

fn spoil(simulation: &mut Simulation, change: impl Fn(&mut Link)) {
    change(&mut simulation.up);
    change(&mut simulation.down);
}

#[test]
fn data_comes_whole_however_much_is_lost() {
    for (loss, size) in [
        (5, 2_000_000),
        (20, 1_000_000),
        (100, 300_000),
        (200, 150_000),
    ] {
        let seeds = if loss < 100 { 4 } else { 16 };
        for seed in 0..seeds {
            let mut simulation = Simulation::new(100 * loss + seed);
            spoil(&mut simulation, |link| link.loss = loss);
            let client = simulation.connect();
            simulation.request(client, size, size);
            simulation.run_until_completed(client, 1);
            let server = simulation.nodes[SERVER].accepted[0];
            let resent = simulation.stats(SERVER, server).stream_bytes_resent;
            assert!(resent > 0 && resent < size, "{resent} of {size}");
        }
    }
}

#[test]
fn handshakes_succeed_when_every_fifth_datagram_is_lost() {
    for seed in 0..60 {
        let mut simulation = Simulation::new(seed);
        spoil(&mut simulation, |link| link.loss = 200);
        simulation.establish();
    }
}

#[test]
fn handshakes_succeed_whichever_of_the_first_datagrams_are_lost() {
    // Each bit says whether that datagram is lost.
    for lost in 0_u32..64 {
        let mut simulation = Simulation::new(u64::from(lost));
        let client = simulation.connect();
        simulation.request(client, 10, 3000);
        let mut sent = 0;
        for _ in 0..60 {
            let up = simulation.up.counts.datagrams;
            let down = simulation.down.counts.datagrams;
            simulation.up.is_down = lost >> (up.min(2)) & 1 == 1 && up < 3;
            simulation.down.is_down = lost >> (3 + down.min(2)) & 1 == 1 && down < 3;
            simulation.run_for(Duration::from_millis(20));
            sent = up;
        }
        assert!(sent > 0);
        simulation.up.is_down = false;
        simulation.down.is_down = false;
        simulation.run_until_completed(client, 1);
    }
}

#[test]
fn copies_change_nothing() {
    let mut simulation = Simulation::new(1);
    spoil(&mut simulation, |link| link.duplicates = 500);
    let (client, server) = simulation.establish();
    simulation.request(client, 500_000, 500_000);
    simulation.run_until_completed(client, 1);
    assert!(simulation.stats(CLIENT, client).duplicates > 50);
    assert_eq!(simulation.stats(SERVER, server).stream_bytes_resent, 0);
}

#[test]
fn damaged_packets_are_dropped() {
    let mut simulation = Simulation::new(2);
    spoil(&mut simulation, |link| link.corrupts = 50);
    let client = simulation.connect();
    simulation.request(client, 300_000, 300_000);
    simulation.run_until_completed(client, 1);
    assert!(simulation.stats(CLIENT, client).undecryptable > 0);
}

#[test]
fn reordered_packets_are_put_in_order() {
    let mut simulation = Simulation::new(3);
    spoil(&mut simulation, |link| link.jitter = RTT / 2);
    let client = simulation.connect();
    simulation.request(client, 500_000, 500_000);
    simulation.run_until_completed(client, 1);
    let server = simulation.nodes[SERVER].accepted[0];
    // Some are declared lost, and later known not to be.
    let stats = simulation.stats(SERVER, server);
    assert!(
        stats.spurious > 0 && stats.spurious <= stats.packets_lost,
        "{stats:?}"
    );
}

#[test]
fn packets_delayed_by_a_round_trip_do_not_count_as_lost_for_ever() {
    for seed in 0..4 {
        let mut simulation = Simulation::new(seed);
        simulation.down.rate = Some(5_000_000);
        simulation.down.queue = 400_000;
        let (client, server) = simulation.establish();
        simulation.request(client, 0, 1_000_000);
        simulation.run_until_completed(client, 1);
        simulation.down.held = (50, RTT);
        let start = simulation.now;
        simulation.request(client, 0, 5_000_000);
        simulation.run_until_completed(client, 2);
        let stats = simulation.stats(SERVER, server);
        let took = simulation.now.since(start).as_secs_f64();
        assert!(stats.spurious > 0);
        // The rate alone takes a second.
        assert!(took < 2.0, "{took} s, {stats:?}");
        assert_eq!(stats.datagram, 1472, "no path is a black hole for that");
    }
}

#[test]
fn everything_at_once_is_survived() {
    for seed in 0..6 {
        let mut simulation = Simulation::new(40 + seed);
        spoil(&mut simulation, |link| {
            link.loss = 50;
            link.duplicates = 50;
            link.corrupts = 50;
            link.jitter = RTT / 4;
            link.rate = Some(1_000_000);
            link.queue = 30_000;
        });
        let client = simulation.connect();
        for _ in 0..20 {
            simulation.request(client, 5_000, 20_000);
        }
        simulation.run_until_completed(client, 20);
    }
}

#[test]
fn a_way_that_was_down_for_seconds_is_used_again() {
    let mut simulation = Simulation::new(4);
    let (client, _) = simulation.establish();
    simulation.request(client, 0, 3_000_000);
    simulation.run_for(3 * RTT);
    spoil(&mut simulation, |link| link.is_down = true);
    simulation.run_for(Duration::from_secs(8));
    assert_eq!(simulation.completed(client), 0);
    spoil(&mut simulation, |link| link.is_down = false);
    let start = simulation.now;
    simulation.run_until_completed(client, 1);
    assert!(simulation.now.since(start) < Duration::from_secs(20));
}
