//! Packet and time thresholds, persistent congestion, spurious losses. RFC 9002 §6.1, §7.6.

use super::*;
use crate::recovery::Timeout;

#[test]
fn three_packets_later_it_is_lost() {
    let mut rig = Rig::sampled();
    rig.send(6);
    rig.wait(RTT);
    rig.ack(&[3..=3]);
    assert_eq!(rig.feedback.lost, []);
    assert_eq!(rig.feedback.acked, [run(3, 1)]);
    rig.ack(&[5..=5, 3..=3]);
    // 1 and 2 by their numbers; 4 only later, by time.
    assert_eq!(rig.feedback.lost, [run(1, 2)]);
    assert_eq!(
        (rig.feedback.lost_packets, rig.feedback.lost_bytes),
        (2, 2000)
    );
    assert_eq!(rig.feedback.lost_size, Some(SIZE));
    assert_eq!(rig.notes(), [acked(1000), lost(2000), acked(1000)]);
    assert_eq!(rig.recovery.in_flight(), 2000);
}

/// The socket did not accept one burst, but accepted those before and after it.
#[test]
fn what_did_not_leave_is_sent_again_and_says_nothing_about_the_path() {
    let mut rig = Rig::sampled();
    rig.send(1);
    rig.send(3);
    rig.recovery.on_unsent();
    rig.wait(ms(1));
    rig.send(4);
    rig.wait(RTT);
    rig.ack(&[5..=8, 1..=1]);
    assert_eq!(rig.feedback.lost, [run(2, 3)]);
    assert_eq!(rig.feedback.lost_size, None);
    let told = rig.notes();
    let is_lost = |note: &Note| matches!(note, Note::Lost { .. });
    assert!(!told.iter().any(is_lost), "{told:?}");
    assert_eq!(rig.recovery.in_flight(), 0);
    // The next loss is one of the path again.
    rig.send(1);
    rig.send(4);
    rig.wait(RTT);
    rig.ack(&[10..=13]);
    assert!(rig.notes().iter().any(is_lost));
}

#[test]
fn an_eighth_of_a_round_trip_later_it_is_lost() {
    let mut rig = Rig::sampled();
    let sent = rig.now;
    rig.send(2);
    rig.wait(RTT);
    rig.ack(&[2..=2]);
    assert_eq!(rig.feedback.lost, []);
    let due = sent.after(RTT + RTT / 8);
    assert_eq!(rig.deadline(), Some(due));
    rig.now = Time(due.0 - 1);
    assert_eq!(rig.time_out(), Timeout::None);
    rig.now = due;
    assert_eq!(rig.time_out(), Timeout::Lost);
    assert_eq!(rig.feedback.lost, [run(1, 1)]);
    assert_eq!(rig.deadline(), None);
    assert_eq!(rig.recovery.in_flight(), 0);
    assert_eq!(rig.notes(), [acked(1000), lost(1000)]);
}

#[test]
fn packets_newer_than_any_acknowledged_one_are_not_lost() {
    let mut rig = Rig::sampled();
    rig.send(1);
    rig.wait(ms(60_000));
    assert!(matches!(rig.time_out(), Timeout::Probe { .. }));
    assert_eq!(rig.recovery.in_flight(), 1000);
    assert_eq!(rig.notes(), []);
}

/// Sends one packet every 200 ms and acknowledges some. Returns what the controller learns about
/// the losses.
fn sparse(acked: &[u64]) -> Vec<bool> {
    let mut rig = Rig::sampled();
    for number in 1..=10 {
        rig.send(1);
        rig.wait(ms(200));
        if acked.contains(&number) {
            rig.ack(&[number..=number]);
        }
    }
    let told = rig.notes().into_iter();
    told.filter_map(|note| match note {
        Note::Lost { persistent, .. } => Some(persistent),
        _ => None,
    })
    .collect()
}

#[test]
fn congestion_is_persistent_when_nothing_arrives_for_three_probe_timeouts() {
    // 3 × (100 ms + 4 × 50 ms + 25 ms) = 975 ms: 1 to 9 span 1.6 s.
    assert_eq!(sparse(&[10]), [true]);
    // 1 to 4 span 0.6 s, and so do 6 to 9.
    assert_eq!(sparse(&[5, 10]), [false, false]);
}

#[test]
fn packets_before_the_first_sample_show_no_persistent_congestion() {
    let mut rig = Rig::new();
    for _ in 0..10 {
        rig.send(1);
        rig.wait(ms(1000));
    }
    rig.ack(&[9..=9]);
    assert_eq!(rig.notes(), [lost(9000), acked(1000)]);
}

#[test]
fn a_loss_that_was_none_is_undone() {
    let mut rig = Rig::sampled();
    rig.send(8);
    rig.wait(RTT);
    rig.ack(&[5..=5]);
    assert_eq!(rig.feedback.lost, [run(1, 2)]);
    rig.ack(&[5..=5, 1..=1]);
    assert_eq!(rig.feedback.acked, [run(1, 1)]);
    assert_eq!((rig.feedback.spurious, rig.feedback.newest), (1, None));
    assert_eq!(rig.notes(), [lost(2000), acked(1000)]);
    rig.ack(&[5..=5, 1..=2]);
    assert_eq!(rig.notes(), [Note::Spurious]);
    assert_eq!(rig.recovery.counters().spurious, 2);
    // The path reorders by four, so that is no longer a loss.
    rig.ack(&[7..=7, 5..=5, 1..=2]);
    assert_eq!(rig.feedback.lost, []);
    assert_eq!(rig.recovery.in_flight(), 4000);
}

#[test]
fn one_true_loss_keeps_the_reduction() {
    let mut rig = Rig::sampled();
    rig.send(8);
    rig.wait(RTT);
    rig.ack(&[6..=6]);
    rig.notes();
    rig.ack(&[6..=6, 2..=3]);
    assert_eq!(rig.feedback.spurious, 2);
    assert_eq!(rig.notes(), []);
}

#[test]
fn a_lost_probe_of_the_paths_limit_is_not_congestion() {
    let mut rig = Rig::sampled();
    let probe = SentFrame::MtuProbe(1472);
    rig.send_items(Space::Data, &[SentFrame::Ping, probe], true);
    rig.send(4);
    rig.wait(RTT);
    rig.ack(&[2..=5]);
    let lost_items = [(Space::Data, SentFrame::Ping), (Space::Data, probe)];
    assert_eq!(rig.feedback.lost_items, lost_items);
    assert_eq!(rig.feedback.lost_size, None);
    assert_eq!(rig.notes(), [acked(4000)]);
    assert_eq!(rig.recovery.in_flight(), 0);
}
