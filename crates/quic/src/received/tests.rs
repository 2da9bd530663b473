//! When acknowledgements are due, what they contain, and what a hostile sender can make us keep.

use super::*;

fn received(space: Space) -> Received {
    Received::new(space, &Transport::default())
}

fn data() -> Received {
    received(Space::Data)
}

fn at(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Passes it eliciting packets and returns after which of them an ACK frame was due and sent.
fn answered(received: &mut Received, numbers: &[u64]) -> Vec<u64> {
    let mut answered = Vec::new();
    for number in numbers {
        received.on_packet(at(1), *number, true, 0);
        if received.is_due(at(1)) {
            received.on_ack_sent();
            answered.push(*number);
        }
    }
    answered
}

fn ranges(received: &Received) -> Vec<RangeInclusive<u64>> {
    received.ranges().collect()
}

#[test]
fn every_other_packet_is_acknowledged() {
    assert_eq!(answered(&mut data(), &[0, 1, 2, 3, 4]), [1, 3]);
    assert_eq!(
        answered(&mut received(Space::Initial), &[0, 1, 2]),
        [0, 1, 2]
    );
    assert_eq!(answered(&mut received(Space::Handshake), &[0, 1]), [0, 1]);
}

#[test]
fn a_lone_packet_is_acknowledged_in_time() {
    let mut received = data();
    assert_eq!(received.deadline(), None);
    received.on_packet(at(5), 0, true, 0);
    assert_eq!(received.deadline(), Some(at(30)));
    assert!(received.has_any_pending() && !received.is_due(at(29)));
    assert!(received.is_due(at(30)));
    assert_eq!(received.delay(at(30)), Duration::from_millis(25));
    received.on_ack_sent();
    assert!(!received.has_any_pending());
    assert_eq!(
        (received.deadline(), received.is_due(at(99))),
        (None, false)
    );
}

#[test]
fn what_elicits_nothing_is_never_a_reason() {
    let mut received = data();
    for number in 0..10 {
        received.on_packet(at(5), number, false, 0b11);
    }
    assert!(!received.is_due(at(9999)) && !received.has_any_pending());
    assert_eq!(ranges(&received), [0..=9]);
}

#[test]
fn a_gap_and_a_late_packet_are_told_at_once() {
    let mut received = data();
    // 2 is missing: 3 reports it. 5 is the second packet since then. 2 comes late and is reported.
    assert_eq!(answered(&mut received, &[0, 1, 3, 4, 5, 2]), [1, 3, 5, 2]);
    // The gap at 7 is reported once.
    assert_eq!(answered(&mut received, &[6, 8, 9, 10, 11]), [8, 10]);
}

#[test]
fn congestion_marks_are_told_at_once() {
    let mut received = data();
    assert_eq!(received.ecn(), None);
    received.on_packet(at(1), 0, true, 0b10);
    assert!(!received.is_due(at(1)));
    received.on_packet(at(1), 1, false, 0b01);
    received.on_packet(at(1), 2, false, 0b11);
    assert!(!received.is_due(at(1)));
    received.on_packet(at(1), 3, true, 0b11);
    assert!(received.is_due(at(1)));
    assert_eq!(received.ecn(), Some([1, 1, 2]));
}

#[test]
fn the_peer_may_ask_for_fewer() {
    let mut received = data();
    received.ask(3, 9, Duration::from_millis(80), 3);
    // Too late: a newer one has come.
    received.ask(2, 0, Duration::ZERO, 0);
    received.ask(3, 0, Duration::ZERO, 0);
    let numbers: Vec<u64> = (0..25).collect();
    assert_eq!(answered(&mut received, &numbers), [9, 19]);
    received.on_ack_sent();
    received.on_packet(at(100), 25, true, 0);
    assert_eq!(received.deadline(), Some(at(180)));
    received.ask_now();
    assert!(received.is_due(at(100)));
}

/// The example of draft-ietf-quic-ack-frequency §6.2.1: a threshold of three.
#[test]
fn reordering_is_told_from_the_threshold_on() {
    let mut received = data();
    received.ask(0, 99, Duration::from_millis(80), 3);
    let numbers = [0, 1, 3, 4, 5, 8, 9, 10];
    assert_eq!(answered(&mut received, &numbers), [5, 9, 10]);
    // Never, if the peer asks for that.
    let mut received = data();
    received.ask(0, 99, Duration::from_millis(80), 0);
    assert!(answered(&mut received, &numbers).is_empty());
}

#[test]
fn a_lower_threshold_holds_for_what_waits_already() {
    let mut received = data();
    received.ask(0, 9, Duration::from_millis(80), 1);
    assert!(answered(&mut received, &[0, 1, 2]).is_empty());
    received.ask(1, 1, Duration::from_millis(80), 1);
    assert!(received.is_due(at(1)));
}

#[test]
fn what_the_peer_knows_is_not_told_again() {
    let mut received = data();
    answered(&mut received, &[0, 1, 3, 4, 6, 7]);
    assert_eq!(ranges(&received), [6..=7, 3..=4, 0..=1]);
    received.on_ack_acked(3);
    assert_eq!(ranges(&received), [6..=7, 4..=4]);
    received.on_ack_acked(99);
    assert_eq!(ranges(&received), [7..=7]);
    // An earlier packet comes late: it has to be reported.
    received.on_packet(at(1), 2, true, 0);
    assert_eq!(ranges(&received), [6..=7, 2..=4]);
}

#[test]
fn packets_are_new_once() {
    let mut received = data();
    assert_eq!(received.expected(), 0);
    for number in [5, 3, 9] {
        assert!(received.is_new(number));
        received.on_packet(at(1), number, true, 0);
        assert!(!received.is_new(number));
    }
    assert!(received.is_new(4) && received.is_new(0));
    received.on_ack_acked(9);
    assert!(!received.is_new(5) && received.is_new(4));
    assert_eq!((received.expected(), received.largest()), (10, Some(9)));
}

#[test]
fn holes_are_bounded_and_nothing_forgotten_is_new() {
    let mut received = data();
    for number in 0..10_000 {
        received.on_packet(at(1), 2 * number + 1, true, 0);
    }
    assert_eq!(received.ranges().count(), MAX_RANGES);
    let lowest = 2 * (10_000 - MAX_RANGES as u64) + 1;
    assert!(!received.is_new(0) && !received.is_new(lowest - 2));
    assert!(received.is_new(lowest + 1));
    // One more range below all that are kept: this one is dropped.
    received.on_packet(at(1), lowest - 1, true, 0);
    assert!(received.ranges().count() <= MAX_RANGES);
}
