//! BBR alone on a path in virtual time, with its states visible.

mod path;

use std::time::Duration;

use super::model::UNBOUNDED;
use super::{Bbr, BbrState};
use crate::congestion::{Controller, Lost};
use path::{DATAGRAM, Path, START};

const MEGABIT: u64 = 125_000;
const RTT: Duration = Duration::from_millis(40);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn lost(path: &Path, persistent: bool) -> Lost {
    Lost {
        now: path.now,
        bytes: DATAGRAM,
        sent: path.now,
        in_flight: path.in_flight,
        persistent,
    }
}

#[test]
fn the_states_come_one_after_the_other() {
    let mut path = Path::new(50 * MEGABIT, RTT, 4.0);
    path.run(seconds(9));
    // The queue is empty when Drain ends, so Down ends at once.
    let wanted = [
        BbrState::Startup,
        BbrState::Drain,
        BbrState::Cruise,
        BbrState::Refill,
        BbrState::Up,
        BbrState::Down,
        BbrState::Cruise,
        BbrState::Refill,
        BbrState::Up,
    ];
    assert!(path.seen.starts_with(&wanted), "{:?}", path.seen);
    assert!(!path.seen.contains(&BbrState::ProbeRtt));
    let share = path.bbr.model.max_bandwidth() / path.rate as f64;
    assert!((0.98..1.05).contains(&share), "{share}");
    assert_eq!(path.lost, 0);
}

#[test]
fn a_deep_queue_stays_nearly_empty() {
    let mut path = Path::new(50 * MEGABIT, RTT, 8.0);
    path.run(seconds(2));
    path.watch();
    path.run(seconds(7));
    assert!(path.share() > 0.95, "{}", path.share());
    let waited = path.mean_round_trip().as_secs_f64() / RTT.as_secs_f64();
    assert!(waited < 1.25, "{waited} round trips");
}

#[test]
fn acknowledgements_in_lumps_cost_nothing() {
    for lump in [8, 32] {
        let mut path = Path::new(50 * MEGABIT, RTT, 2.0);
        path.lump = lump;
        path.run(seconds(3));
        path.watch();
        path.run(seconds(6));
        assert!(path.share() > 0.93, "{lump}: {}", path.share());
    }
}

#[test]
fn a_path_that_loses_a_little_is_filled_all_the_same() {
    let mut path = Path::new(50 * MEGABIT, RTT, 2.0);
    path.loses_every = 100;
    path.run(seconds(3));
    path.watch();
    path.run(seconds(6));
    assert!(path.share() > 0.85, "{}", path.share());
}

#[test]
fn a_path_that_loses_much_is_not_pressed() {
    let mut path = Path::new(50 * MEGABIT, RTT, 2.0);
    path.loses_every = 8;
    path.run(seconds(3));
    path.watch();
    path.run(seconds(6));
    let share = path.share();
    assert!((0.01..0.8).contains(&share), "{share}");
}

#[test]
fn a_shallow_queue_is_not_overrun() {
    let mut path = Path::new(50 * MEGABIT, RTT, 0.1);
    path.run(seconds(3));
    path.watch();
    path.run(seconds(6));
    assert!(path.share() > 0.85, "{}", path.share());
    let lost = path.lost as f64 / path.sent as f64;
    assert!(lost < 0.03, "{lost}");
}

#[test]
fn a_path_that_changes_is_followed() {
    let mut path = Path::new(50 * MEGABIT, RTT, 1.0);
    path.run(seconds(4));
    for rate in [20 * MEGABIT, 80 * MEGABIT] {
        path.rate = rate;
        path.run(seconds(8));
        path.watch();
        path.run(seconds(6));
        assert!(path.share() > 0.85, "{rate}: {}", path.share());
        let believed = path.bbr.model.max_bandwidth() / rate as f64;
        assert!((0.9..1.15).contains(&believed), "{rate}: {believed}");
    }
}

#[test]
fn the_shortest_round_trip_is_looked_for_when_it_is_old() {
    let mut path = Path::new(50 * MEGABIT, RTT, 4.0);
    path.run(Duration::from_millis(10_800));
    let times = |path: &Path| {
        let probes = path
            .seen
            .iter()
            .filter(|state| **state == BbrState::ProbeRtt);
        probes.count()
    };
    assert_eq!(times(&path), 1);
    let product = path.rate as f64 * RTT.as_secs_f64();
    let least = path.least_window_in_probe as f64 / product;
    assert!((0.4..0.6).contains(&least), "{least}");
    assert_ne!(path.bbr.state, BbrState::ProbeRtt);
    // A longer path is believed after ten seconds, not before.
    path.delay = 2 * RTT;
    path.run(seconds(5));
    assert!(path.bbr.model.min_rtt < Some(RTT * 3 / 2));
    path.run(seconds(12));
    assert!(path.bbr.model.min_rtt > Some(RTT * 3 / 2));
    path.watch();
    path.run(seconds(5));
    assert!(path.share() > 0.85, "{}", path.share());
}

#[test]
fn the_estimate_of_a_sender_that_sends_little_does_not_fall() {
    let mut path = Path::new(50 * MEGABIT, RTT, 2.0);
    path.has = 4;
    path.run(seconds(4));
    assert!(path.bbr.is_slow_start());
    assert_eq!(path.seen, [BbrState::Startup]);
    path.has = usize::MAX;
    path.run(seconds(2));
    assert!(!path.bbr.is_slow_start());
    let known = path.bbr.model.max_bandwidth();
    path.has = 4;
    path.run(seconds(3));
    assert!(path.bbr.model.max_bandwidth() > known * 0.95);
}

#[test]
fn a_sender_that_was_idle_continues_at_the_rate_of_the_path() {
    let mut path = Path::new(50 * MEGABIT, RTT, 2.0);
    path.run(seconds(2));
    path.has = 0;
    path.run(seconds(12));
    assert_eq!(path.in_flight, 0);
    path.has = usize::MAX;
    path.run(Duration::from_millis(1));
    let rate = path.bbr.pacing_rate(RTT) as f64 / path.rate as f64;
    assert!((0.9..1.01).contains(&rate), "{rate}");
    path.run(RTT * 3);
    // The idle time was probe enough.
    assert!(!path.seen.contains(&BbrState::ProbeRtt));
}

#[test]
fn startup_is_taken_up_again_when_nothing_was_lost() {
    let mut path = Path::new(50 * MEGABIT, RTT, 4.0);
    path.loses_every = 10;
    while path.bbr.is_slow_start() {
        path.run(Duration::from_millis(1));
        assert!(path.now.since(START) < seconds(5));
    }
    path.bbr.on_spurious();
    assert!(path.bbr.is_slow_start());
    assert_eq!(path.bbr.model.inflight_long, UNBOUNDED);
    path.loses_every = u64::MAX;
    path.run(seconds(3));
    path.watch();
    path.run(seconds(4));
    assert!(path.share() > 0.9, "{}", path.share());
}

#[test]
fn persistent_congestion_leaves_two_datagrams_and_is_survived() {
    let mut path = Path::new(50 * MEGABIT, RTT, 2.0);
    path.run(seconds(2));
    let told = lost(&path, true);
    path.bbr.on_lost(&told);
    assert!(path.bbr.window() <= 2 * DATAGRAM);
    path.run(seconds(2));
    path.watch();
    path.run(seconds(4));
    assert!(path.share() > 0.85, "{}", path.share());
}

#[test]
fn marks_are_heeded_without_losses() {
    let mut path = Path::new(50 * MEGABIT, RTT, 8.0);
    path.marks_above = Some(0.05);
    path.run(seconds(3));
    assert_ne!(path.bbr.model.inflight_long, UNBOUNDED);
    path.watch();
    path.run(seconds(6));
    assert!(path.share() > 0.75, "{}", path.share());
    let waited = path.mean_round_trip().as_secs_f64() / RTT.as_secs_f64();
    assert!(waited < 1.1, "{waited} round trips");
    assert_eq!(path.lost, 0);
}

#[test]
fn the_window_never_falls_below_what_keeps_a_path_busy() {
    let mut bbr = Bbr::new(DATAGRAM as u16);
    assert_eq!(bbr.window(), 10 * DATAGRAM);
    let first = bbr.pacing_rate(RTT) as f64;
    let wanted = 2.77 * 10.0 * DATAGRAM as f64 / RTT.as_secs_f64();
    assert!((first / wanted - 1.0).abs() < 0.01);
    bbr.set_datagram(9000);
    assert_eq!(bbr.window(), 36_000);
}
