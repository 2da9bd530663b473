//! Acknowledgements: what they settle, what they sample, and those that are false.

use super::*;
use crate::error::Code;
use crate::recovery::Allowance;

#[test]
fn neighbours_are_one_run_and_the_controller_is_told_once() {
    let mut rig = Rig::sampled();
    rig.send(10);
    rig.wait(RTT);
    rig.ack(&[1..=8]);
    assert_eq!(rig.feedback.acked, [run(1, 8)]);
    assert_eq!(rig.feedback.newest, Some(8));
    assert_eq!(
        (rig.feedback.acked_packets, rig.feedback.acked_size),
        (8, SIZE)
    );
    assert_eq!(rig.notes(), [acked(8000)]);
    // The same again changes nothing.
    rig.ack(&[1..=8]);
    assert!(!rig.feedback.newly_acked());
    assert_eq!(rig.feedback.acked, []);
    assert_eq!(rig.notes(), []);
    assert_eq!(rig.recovery.in_flight(), 2000);
    assert_eq!(rig.recovery.largest_acked(Space::Data), Some(8));
}

#[test]
fn runs_end_where_streams_and_fins_do() {
    let mut rig = Rig::sampled();
    rig.recovery.begin_burst(rig.now);
    let chunk = |slot, offset, length, fin| Chunk {
        slot,
        offset,
        length,
        fin,
    };
    for (slot, offset, fin) in [(1, 0, false), (1, 5, true), (2, 10, false), (2, 20, false)] {
        rig.put(Space::Data, Some(chunk(slot, offset, 5, fin)), &[], true);
    }
    rig.ack(&[1..=4]);
    let expected = [
        chunk(1, 0, 10, true),
        chunk(2, 10, 5, false),
        chunk(2, 20, 5, false),
    ];
    assert_eq!(rig.feedback.acked, expected);
}

#[test]
fn items_are_told_with_their_space() {
    let mut rig = Rig::sampled();
    let crypto = SentFrame::Crypto {
        offset: 7,
        length: 9,
    };
    rig.send_items(
        Space::Initial,
        &[SentFrame::Ack { largest: 3 }, crypto],
        true,
    );
    rig.try_ack(Space::Initial, &[0..=0]).unwrap();
    let expected = [SentFrame::Ack { largest: 3 }, crypto].map(|item| (Space::Initial, item));
    assert_eq!(rig.feedback.acked_items, expected);
    assert_eq!(rig.recovery.items.len(), 0);
}

#[test]
fn bursts_are_told_whole() {
    let mut rig = Rig::new();
    rig.send(3);
    rig.send(2);
    let notes = rig.notes.lock().unwrap().clone();
    let sent = |bytes, before| Note::Sent { bytes, before };
    assert_eq!(notes, [sent(3000, 0), sent(2000, 3000)]);
    let counters = rig.recovery.counters();
    assert_eq!((counters.sent, counters.bursts), (5, 2));
}

#[test]
fn a_packet_that_was_never_sent_cannot_be_acknowledged() {
    let mut rig = Rig::sampled();
    rig.send(2);
    for range in [0..=3, 3..=3, 9..=(1 << 62) - 1] {
        let error = rig.try_ack(Space::Data, &[range]).unwrap_err();
        assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
    }
    rig.ack(&[0..=2]);
    assert!(rig.try_ack(Space::Handshake, &[0..=0]).is_err());
}

/// Sends until a number is skipped, and returns that.
fn skip(rig: &mut Rig) -> u64 {
    loop {
        let upcoming = rig.recovery.upcoming(Space::Data);
        rig.send(1);
        if rig.recovery.upcoming(Space::Data) == upcoming + 2 {
            return upcoming;
        }
    }
}

#[test]
fn a_skipped_number_cannot_be_acknowledged() {
    let mut rig = Rig::new();
    let skipped = skip(&mut rig);
    let error = rig.try_ack(Space::Data, &[0..=skipped + 1]).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn a_skipped_number_is_watched_until_a_later_one_is_acknowledged() {
    let mut rig = Rig::new();
    let skipped = skip(&mut rig);
    rig.ack(&[0..=skipped - 1]);
    assert!(rig.try_ack(Space::Data, &[0..=skipped + 1]).is_err());

    let mut rig = Rig::new();
    let skipped = skip(&mut rig);
    assert_eq!(rig.recovery.counters().sent, skipped + 1);
    rig.ack(&[skipped + 1..=skipped + 1, 0..=skipped - 1]);
    assert_eq!(
        (rig.recovery.in_flight(), rig.feedback.lost_packets),
        (0, 0)
    );
    assert_eq!(rig.recovery.spaces[2].len(), 0);
}

#[test]
fn only_a_new_largest_that_elicits_is_a_sample() {
    let mut rig = Rig::sampled();
    rig.send(3);
    rig.wait(ms(50));
    rig.ack(&[3..=3]);
    assert_eq!(rig.recovery.rtt().latest(), ms(50));
    rig.wait(ms(500));
    rig.ack(&[2..=3]);
    assert_eq!(rig.recovery.rtt().latest(), ms(50));
    rig.send_items(Space::Data, &[], false);
    rig.wait(ms(70));
    rig.ack(&[4..=4]);
    assert_eq!(rig.recovery.rtt().latest(), ms(50));
}

#[test]
fn the_peers_delay_is_believed_up_to_what_it_promised() {
    for (confirmed, smoothed) in [(true, 100_000 + 75_000 / 8), (false, 100_000)] {
        let mut rig = Rig::sampled();
        rig.progress.is_confirmed = confirmed;
        rig.send(1);
        rig.wait(ms(200));
        let context = rig.context(Space::Data, ms(100));
        let feedback = &mut rig.feedback;
        rig.recovery
            .on_ranges(&context, [1..=1], None, feedback)
            .unwrap();
        let expected = Duration::from_micros(smoothed);
        assert_eq!(rig.recovery.rtt().smoothed(), expected);
    }
}

#[test]
fn a_sender_with_too_little_to_send_earns_no_window() {
    let mut rig = Rig::sampled();
    rig.send(2);
    rig.recovery.set_app_limited(SIZE);
    rig.wait(RTT);
    rig.ack(&[1..=2]);
    let limited = Note::Acked {
        bytes: 2000,
        app_limited: true,
    };
    assert_eq!(rig.notes(), [limited]);
    // The data ran out, but only after it had used nearly all of the window.
    rig.send(18);
    rig.recovery.set_app_limited(SIZE);
    rig.ack(&[3..=20]);
    assert_eq!(rig.notes(), [acked(18_000)]);
    // The window itself was the limit.
    rig.send(20);
    rig.recovery.set_app_limited(SIZE);
    rig.ack(&[21..=40]);
    assert_eq!(rig.notes(), [acked(20_000)]);
}

#[test]
fn the_window_limits_what_may_leave() {
    let mut rig = Rig::sampled();
    rig.send(17);
    let now = rig.now;
    assert_eq!(rig.recovery.allowance(now, SIZE, 64), Allowance::Packets(3));
    rig.send(3);
    assert_eq!(rig.recovery.allowance(now, SIZE, 64), Allowance::Window);
}

#[test]
fn marks_are_obeyed_once_the_path_is_known_to_carry_them() {
    let mut rig = Rig::with(&Transport::default());
    rig.send(6);
    assert!(rig.recovery.ecn_mark());
    rig.send(6);
    rig.recovery.begin_burst(rig.now);
    assert!(!rig.recovery.ecn_mark());
    rig.wait(RTT);
    let mut ack = |range: RangeInclusive<u64>, counts| {
        let context = rig.context(Space::Data, Duration::ZERO);
        let feedback = &mut rig.feedback;
        rig.recovery
            .on_ranges(&context, [range], Some(counts), feedback)
            .unwrap();
        std::mem::take(&mut *rig.notes.lock().unwrap())
    };
    assert!(!ack(0..=7, [8, 0, 0]).contains(&Note::Marked));
    assert!(ack(0..=9, [8, 0, 2]).contains(&Note::Marked));
    // An older frame overtaken by a newer one is ignored.
    assert!(!ack(0..=9, [0, 0, 0]).contains(&Note::Marked));
    assert_eq!(rig.recovery.counters().congestion_marks, 2);
    rig.recovery.begin_burst(rig.now);
    assert!(rig.recovery.ecn_mark() && rig.recovery.is_ecn_capable());
}
