//! Keys that are dropped, flights that are sent again, paths that are left.

use super::*;

#[test]
fn a_space_without_keys_has_nothing_in_flight() {
    let mut rig = Rig::new();
    rig.send_items(Space::Initial, &[SentFrame::Ping], true);
    rig.send(1);
    rig.recovery.discard(Space::Initial);
    assert_eq!(rig.recovery.in_flight(), 1000);
    assert_eq!(rig.recovery.items.len(), 0);
    assert!(!rig.recovery.has_in_flight_eliciting(Space::Initial));
    assert_eq!(rig.notes(), []);
}

#[test]
fn a_refused_flight_is_sent_again_and_blames_nobody() {
    let mut rig = Rig::new();
    rig.send(5);
    rig.send_items(Space::Data, &[SentFrame::MaxData], true);
    rig.feedback.clear();
    rig.recovery.retransmit_all(Space::Data, &mut rig.feedback);
    assert_eq!(rig.feedback.lost, [run(0, 5)]);
    assert_eq!(rig.feedback.lost_items, [(Space::Data, SentFrame::MaxData)]);
    assert_eq!((rig.recovery.in_flight(), rig.notes().len()), (0, 0));
    // Numbers continue; a late acknowledgement of the old ones is harmless.
    rig.send(1);
    rig.ack(&[0..=5]);
    assert_eq!(rig.feedback.acked, []);
    rig.ack(&[0..=6]);
    assert_eq!(
        (rig.feedback.newest, rig.recovery.in_flight()),
        (Some(6), 0)
    );
}

#[test]
fn the_old_path_says_nothing_of_the_new() {
    let config = Transport::default();
    let mut rig = Rig::sampled();
    rig.send(8);
    rig.recovery.on_new_path(&config, rig.now, None, REMOTE);
    let window = rig.recovery.window();
    assert_eq!(rig.recovery.in_flight(), 0);
    assert_eq!(rig.recovery.rtt().smoothed(), config.initial_rtt);
    rig.wait(RTT);
    rig.ack(&[8..=8]);
    assert_eq!((rig.feedback.lost_packets, rig.feedback.lost_bytes), (5, 0));
    assert_eq!(rig.feedback.lost, [run(1, 5)]);
    assert_eq!(
        (rig.recovery.rtt().sampled(), rig.recovery.window()),
        (None, window)
    );
    rig.send(1);
    rig.wait(ms(30));
    rig.ack(&[9..=9]);
    assert_eq!(rig.recovery.rtt().smoothed(), ms(30));
    assert!(rig.recovery.window() > window);
}

#[test]
fn a_client_that_returns_to_an_address_finds_its_window_unchanged() {
    let config = Transport::default();
    let other = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
    let mut rig = Rig::sampled();
    let home = (rig.recovery.window(), rig.recovery.rtt().smoothed());
    let go = |rig: &mut Rig, from, to| {
        rig.recovery.on_new_path(&config, rig.now, Some(from), to);
        rig.recovery.window()
    };
    let fresh = go(&mut rig, REMOTE, other);
    let first = rig.recovery.upcoming(Space::Data);
    rig.send(8);
    rig.wait(RTT);
    rig.ack(&[first + 7..=first + 7]);
    let reduced = rig.recovery.window();
    assert!(reduced < fresh, "{reduced} of {fresh}");
    for _ in 0..3 {
        assert_eq!(go(&mut rig, other, REMOTE), home.0);
        assert_eq!(rig.recovery.rtt().smoothed(), home.1);
        assert_eq!(go(&mut rig, REMOTE, other), reduced);
    }
    // A path that is too old, or belongs to a third address, is unknown.
    rig.wait(Duration::from_mins(2));
    go(&mut rig, other, REMOTE);
    assert_eq!(rig.recovery.rtt().smoothed(), config.initial_rtt);
    assert_eq!(
        go(&mut rig, REMOTE, IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1))),
        fresh
    );
}

#[test]
fn numbers_that_were_taken_and_not_sent_count_as_skipped() {
    let mut rig = Rig::new();
    rig.send(1);
    assert_eq!(rig.recovery.next_number(Space::Data), 1);
    rig.send(1);
    assert!(rig.try_ack(Space::Data, &[0..=2]).is_err());
}
