//! Probe timeouts: how long, in which space, and with what. RFC 9002 §6.2.

use super::*;
use crate::recovery::Timeout;

const PROBE: Timeout = Timeout::Probe {
    space: Space::Data,
    count: 2,
};

#[test]
fn a_probe_is_due_after_the_estimate_and_then_twice_as_late() {
    let mut rig = Rig::sampled();
    assert_eq!(rig.deadline(), None);
    rig.send(1);
    let sent = rig.now;
    // 100 ms + 4 × 50 ms + 25 ms.
    for (timeouts, span) in [(1, 325), (2, 650), (3, 1300)] {
        assert_eq!(rig.deadline(), Some(sent.after(ms(span))));
        rig.now = Time(sent.after(ms(span)).0 - 1);
        assert_eq!(rig.time_out(), Timeout::None);
        rig.now = sent.after(ms(span));
        assert_eq!(rig.time_out(), PROBE);
        assert_eq!(rig.recovery.ptos_in_a_row(), timeouts);
    }
    rig.ack(&[1..=1]);
    assert_eq!(rig.recovery.ptos_in_a_row(), 0);
    assert_eq!((rig.deadline(), rig.recovery.counters().ptos), (None, 3));
}

#[test]
fn packets_that_elicit_no_acknowledgement_set_no_timer() {
    let mut rig = Rig::sampled();
    rig.send_items(Space::Data, &[SentFrame::Ack { largest: 9 }], false);
    assert_eq!(rig.deadline(), None);
    assert_eq!(rig.recovery.in_flight(), 0);
    assert!(!rig.recovery.has_in_flight_eliciting(Space::Data));
}

#[test]
fn the_handshake_is_probed_first() {
    let mut rig = Rig::new();
    let mut handshake = HandshakeProgress {
        is_confirmed: false,
        ..CONFIRMED
    };
    rig.progress = handshake;
    // Data waits for the handshake to be confirmed.
    let sent = rig.now;
    rig.send_items(Space::Handshake, &[SentFrame::Ping], true);
    rig.send(1);
    // 333 ms + 4 × 166.5 ms; the peer does not delay here.
    assert_eq!(rig.deadline(), Some(sent.after(ms(999))));
    handshake.is_confirmed = true;
    rig.progress = handshake;
    rig.recovery.discard(Space::Handshake);
    assert_eq!(rig.deadline(), Some(sent.after(ms(999 + 25))));
}

/// The peer may have the keys of only one space: those of the other may not be there yet, or
/// dropped already.
#[test]
fn what_is_in_flight_in_other_spaces_is_probed_for_with_the_handshake() {
    let mut rig = Rig::new();
    rig.progress = HandshakeProgress {
        is_confirmed: false,
        ..CONFIRMED
    };
    rig.send_items(Space::Handshake, &[SentFrame::Ping], true);
    rig.send(3);
    for again in [run(0, 2), run(2, 1)] {
        rig.now = rig.deadline().unwrap();
        let space = Space::Handshake;
        assert_eq!(rig.time_out(), Timeout::Probe { space, count: 2 });
        let probes = Space::ALL.map(|space| rig.recovery.probes(space));
        assert_eq!(probes, [0, 2, 1]);
        assert_eq!(rig.feedback.lost, [again]);
    }
}

#[test]
fn a_client_probes_with_nothing_in_flight_until_the_server_can_send() {
    let mut rig = Rig::new();
    let mut handshake = HandshakeProgress::default();
    rig.progress = handshake;
    rig.send_items(Space::Initial, &[SentFrame::Ping], true);
    rig.wait(RTT);
    rig.try_ack(Space::Initial, &[0..=0]).unwrap();
    assert_eq!(rig.deadline(), Some(rig.now.after(ms(300))));
    for space in [Space::Initial, Space::Handshake] {
        handshake.has_handshake_keys = space == Space::Handshake;
        rig.progress = handshake;
        rig.now = rig.deadline().unwrap();
        assert_eq!(rig.time_out(), Timeout::Probe { space, count: 1 });
    }
    // Early data in flight must not make it wait for ever.
    rig.send(1);
    assert!(rig.deadline().is_some());
}

#[test]
fn what_is_left_of_the_handshake_is_probed_for_behind_data() {
    let mut rig = Rig::new();
    let mut handshake = HandshakeProgress {
        is_confirmed: false,
        ..CONFIRMED
    };
    rig.progress = handshake;
    assert_eq!(rig.deadline(), None);
    // The window is full of data that cannot be acknowledged before the handshake is complete.
    rig.send(20);
    rig.now = rig.deadline().unwrap();
    let probe = Timeout::Probe {
        space: Space::Handshake,
        count: 1,
    };
    assert_eq!(rig.time_out(), probe);
    handshake.is_confirmed = true;
    rig.progress = handshake;
    rig.now = rig.deadline().unwrap();
    assert_eq!(rig.time_out(), PROBE);
}

#[test]
fn a_client_keeps_its_distance_until_the_server_knows_its_address() {
    let mut rig = Rig::new();
    rig.progress = HandshakeProgress::default();
    for _ in 0..2 {
        rig.send_items(Space::Initial, &[SentFrame::Ping], true);
    }
    rig.now = rig.deadline().unwrap();
    rig.time_out();
    rig.try_ack(Space::Initial, &[0..=0]).unwrap();
    assert_eq!(rig.recovery.ptos_in_a_row(), 1);
}

#[test]
fn a_server_that_may_not_send_does_not_probe() {
    let mut rig = Rig::sampled();
    rig.send(1);
    rig.recovery.set_blocked(true);
    assert_eq!(rig.deadline(), None);
    rig.wait(ms(9999));
    assert_eq!(rig.time_out(), Timeout::None);
    rig.recovery.set_blocked(false);
    assert_eq!(rig.time_out(), PROBE);
}

#[test]
fn probes_carry_the_oldest_content_once() {
    let mut rig = Rig::sampled();
    rig.send_items(Space::Data, &[SentFrame::MaxData], true);
    rig.send(4);
    rig.wait(ms(325));
    assert_eq!(rig.time_out(), PROBE);
    assert_eq!(rig.feedback.lost_items, [(Space::Data, SentFrame::MaxData)]);
    assert_eq!(rig.feedback.lost, [run(1, 1)]);
    assert_eq!(
        (rig.feedback.lost_packets, rig.recovery.in_flight()),
        (0, 5000)
    );
    rig.wait(ms(325));
    assert_eq!(rig.time_out(), PROBE);
    assert_eq!(rig.feedback.lost, [run(2, 2)]);
    // The last is acknowledged: the others are lost, and all but one are being sent again.
    rig.send(1);
    rig.wait(RTT);
    rig.ack(&[6..=6]);
    assert_eq!(
        (rig.feedback.lost_packets, rig.recovery.in_flight()),
        (5, 0)
    );
    assert_eq!(rig.feedback.lost, [run(4, 1)]);
    assert_eq!(rig.feedback.lost_items, []);
    assert_eq!(rig.recovery.items.len(), 0);
}
