//! What a peer that never acknowledges can make us keep.

use super::*;
use crate::recovery::MAX_PACKETS;

#[test]
fn a_receiver_forgets_its_acknowledgements() {
    let mut rig = Rig::sampled();
    for largest in 0..100_000 {
        rig.send_items(Space::Data, &[SentFrame::Ack { largest }], false);
    }
    let ledger = &rig.recovery.spaces[2];
    assert!(ledger.ring.capacity() <= 512, "{}", ledger.ring.capacity());
    assert!(rig.recovery.items.len() <= 512);
    assert!(
        rig.recovery.bursts.len() <= 513,
        "{}",
        rig.recovery.bursts.len()
    );
    assert!(rig.recovery.needs_ping(Space::Data));
    rig.send_items(Space::Data, &[SentFrame::Ping], true);
    assert!(!rig.recovery.needs_ping(Space::Data));
    let newest = rig.recovery.upcoming(Space::Data) - 1;
    rig.ack(&[newest..=newest]);
    assert!(rig.recovery.spaces[2].len() < 8);
}

#[test]
fn a_peer_that_never_acknowledges_is_not_remembered_for_ever() {
    let mut rig = Rig::sampled();
    rig.send(3);
    for largest in 0..(MAX_PACKETS as u64 * 2) {
        rig.send_items(Space::Data, &[SentFrame::Ack { largest }], false);
    }
    let ledger = &rig.recovery.spaces[2];
    assert_eq!(ledger.ring.capacity(), MAX_PACKETS);
    assert!(rig.recovery.bursts.len() <= MAX_PACKETS + 1);
    assert!(rig.recovery.items.len() <= MAX_PACKETS);
    // Those three were in flight, and are forgotten.
    assert_eq!(rig.recovery.in_flight(), 0);
    assert!(!rig.recovery.has_in_flight_eliciting(Space::Data));
}

#[test]
fn everything_acknowledged_leaves_nothing() {
    let mut rig = Rig::new();
    for _ in 0..2000 {
        rig.send(20);
        rig.wait(ms(1));
        let newest = rig.recovery.upcoming(Space::Data) - 1;
        let skipped = rig.recovery.spaces[2].ring.first();
        let within = (skipped..newest).find(|n| rig.recovery.spaces[2].ring.at(*n).flags == 0);
        match within {
            Some(gap) => rig.ack(&[gap + 1..=newest, 0..=gap - 1]),
            None => rig.ack(&[newest - 19..=newest]),
        }
    }
    assert_eq!(
        (rig.recovery.in_flight(), rig.recovery.spaces[2].len()),
        (0, 0)
    );
    assert_eq!(rig.recovery.spaces[2].ring.capacity(), 32);
    assert_eq!(rig.recovery.bursts.len(), 1);
    rig.wait(ms(1500));
    rig.recovery.begin_burst(rig.now);
    assert_eq!(rig.recovery.spaces[2].ring.capacity(), 0);
}
