//! Our own engine over paths that lose, reorder, shorten and stop: everything arrives, and no burst
//! costs more than it should. `bench/under-fire` compares its speed with TCP.

use std::time::Duration;

use roundtrip_perf::plan::{Amount, EndConfig, Pattern, Pin, Terrain};
use roundtrip_perf::{PerfOutcome, Visit, WireCounters};

use super::{measured, plan};

/// Each arm carries this many bytes over a path with this description.
pub(crate) fn over(words: &[(&str, &str)], arms: &[&str], bytes: u64) -> PerfOutcome {
    let mut plan = plan(arms, Pattern::Down);
    plan.pin = Pin::default();
    plan.work.amount = Amount::Bytes(bytes);
    let words = words
        .iter()
        .map(|(word, value)| ((*word).into(), (*value).into()));
    let ends = EndConfig {
        offload: false,
        mtu: 1500,
    };
    plan.terrain = Terrain::Emulated(words.collect(), ends);
    let outcome = measured(plan);
    for visit in visits(&outcome) {
        assert_eq!((visit.server.sent, visit.client.received), (bytes, bytes));
    }
    outcome
}

fn visits(outcome: &PerfOutcome) -> impl Iterator<Item = &Visit> {
    outcome.arms.iter().flat_map(|arm| &arm.visits)
}

pub(crate) fn senders(outcome: &PerfOutcome) -> impl Iterator<Item = &WireCounters> {
    visits(outcome).map(|visit| &visit.server.wire)
}

#[test]
fn payload_survives_loss_duplication_and_reordering() {
    let words = [
        ("rtt", "10ms"),
        ("rate", "50mbit"),
        ("loss", "5%"),
        ("duplicate", "5%"),
        ("reorder", "5%,5ms"),
    ];
    let outcome = over(&words, &["quic", "quic+reno", "quic+bbr"], 400_000);
    for wire in senders(&outcome) {
        assert!(wire.lost.unwrap() > 0, "{wire:?}");
    }
}

#[test]
fn holes_that_nobody_tells_of_are_found() {
    for (hole, least) in [("1400,silent", 1300), ("1280,silent", 1200)] {
        let words = [("rtt", "10ms"), ("rate", "50mbit"), ("hole", hole)];
        for wire in senders(&over(&words, &["quic", "quic+bbr"], 1_000_000)) {
            let largest = wire.largest.unwrap();
            assert!((least..=1400 - 28).contains(&largest), "{hole}: {wire:?}");
        }
    }
}

#[test]
fn five_packets_of_queue_are_enough() {
    let words = [("rtt", "20ms"), ("rate", "10mbit"), ("queue", "7500B")];
    for wire in senders(&over(&words, &["quic", "quic+bbr"], 500_000)) {
        let (sent, lost) = (wire.packets_sent.unwrap(), wire.lost.unwrap());
        assert!(lost > 0 && lost < sent / 2, "{wire:?}");
    }
}

#[test]
fn a_path_that_was_gone_is_used_again() {
    let words = [
        ("rtt", "20ms"),
        ("rate", "10mbit"),
        ("outage", "300ms-900ms"),
    ];
    let outcome = over(&words, &["quic"], 1_000_000);
    for visit in visits(&outcome) {
        assert!(
            visit.pause > Duration::from_millis(300),
            "{:?}",
            visit.pause
        );
    }
}

#[test]
fn long_bursts_lose_no_more_than_single_datagrams() {
    let words = [("rtt", "20ms"), ("rate", "20mbit"), ("queue", "30kB")];
    let outcome = over(&words, &["quic+gso1", "quic+gso44"], 3_000_000);
    let lost: Vec<u64> = senders(&outcome).map(|wire| wire.lost.unwrap()).collect();
    // A single slow start that goes too far may cause all of it, and chance decides how far it
    // goes.
    assert!(lost[1] <= lost[0] * 3 / 2 + 100, "{lost:?}");
}

/// What this process has in memory, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn carry(connections: u32, bytes: u64) {
    let mut plan = plan(&["quic"], Pattern::Down);
    plan.work.connections = connections;
    plan.work.amount = Amount::Bytes(bytes);
    for visit in visits(&measured(plan)) {
        assert_eq!(visit.client.received, bytes);
    }
}

#[test]
#[ignore = "it measures the memory of the whole process: alone, or not at all"]
fn memory_stays_as_it_is() {
    carry(1, 50_000_000);
    let before = resident();
    carry(1, 500_000_000);
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more");
    let before = resident();
    carry(500, 50_000_000);
    // This includes both ends of a connection, and memory that the allocator keeps.
    let each = resident().saturating_sub(before) / 500;
    assert!(each < 400 << 10, "{each} bytes for each connection");
}
