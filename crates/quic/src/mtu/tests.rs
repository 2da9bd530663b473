//! The search on paths of every size, and on paths that no longer carry what they carried.

use super::*;

const ETHERNET: u16 = 1472;

fn discover(ceiling: u16) -> Mtu {
    Mtu::with(DatagramSize::Discover, None, 65_527, ceiling)
}

fn at(seconds: u64) -> Time {
    Time(seconds * 1_000_000_000)
}

/// Searches on a path that carries datagrams up to `carried`; returns how many probes that took.
fn search(mtu: &mut Mtu, now: Time, carried: u16) -> usize {
    let mut probes = 0;
    while let Some(size) = mtu.probe(now) {
        probes += 1;
        assert!(probes < 100);
        mtu.on_probe_sent(size);
        assert_eq!(mtu.probe(now), None, "one at a time");
        if size <= carried {
            assert!(mtu.on_probe_acked(size));
        } else {
            mtu.on_probe_lost(size);
        }
    }
    probes
}

#[test]
fn on_ethernet_one_probe_is_enough() {
    let mut mtu = discover(ETHERNET);
    assert_eq!(mtu.current(), BASE);
    assert_eq!(search(&mut mtu, at(1), ETHERNET), 1);
    assert_eq!(mtu.current(), ETHERNET);
}

#[test]
fn every_path_is_filled_but_for_a_little() {
    for carried in BASE..=ETHERNET {
        let mut mtu = discover(ETHERNET);
        let probes = search(&mut mtu, at(1), carried);
        assert!(mtu.current() <= carried);
        assert!(
            carried - mtu.current() < GAIN,
            "{carried}: {}",
            mtu.current()
        );
        assert!(probes < 25, "{carried}: {probes}");
    }
    let mut mtu = discover(65_507);
    search(&mut mtu, at(1), 8_972);
    assert!(
        (8_956..=8_972).contains(&mtu.current()),
        "{}",
        mtu.current()
    );
}

#[test]
fn a_probe_may_be_lost_by_chance() {
    let mut mtu = discover(ETHERNET);
    for _ in 0..MAX_PROBES - 1 {
        mtu.on_probe_sent(mtu.candidate());
        mtu.on_probe_lost(ETHERNET);
    }
    assert_eq!(mtu.probe(at(1)), Some(ETHERNET));
}

#[test]
fn larger_sizes_are_tried_again_after_a_while() {
    let mut mtu = discover(ETHERNET);
    search(&mut mtu, at(1), 1400);
    assert_eq!(mtu.probe(at(600)), None);
    assert_eq!(mtu.probe(at(601)), Some(ETHERNET));
    search(&mut mtu, at(601), ETHERNET);
    assert_eq!(mtu.current(), ETHERNET);
}

#[test]
fn nobody_sends_more_than_the_peer_or_the_interface_takes() {
    let mut mtu = Mtu::with(DatagramSize::Discover, None, 1350, ETHERNET);
    search(&mut mtu, at(1), u16::MAX);
    assert_eq!(mtu.current(), 1350);
    let current = |kind, first_seen, peer_max, ceiling| {
        Mtu::with(kind, first_seen, peer_max, ceiling).current()
    };
    assert_eq!(current(DatagramSize::Fixed(1400), None, 65_527, 1472), 1400);
    assert_eq!(current(DatagramSize::Fixed(9000), None, 65_527, 1472), 1472);
    assert_eq!(current(DatagramSize::Fixed(9000), None, 1200, 1472), 1200);
    assert_eq!(current(DatagramSize::Fixed(100), None, 65_527, 1472), 1200);
    assert_eq!(
        current(DatagramSize::Mirror, Some(1440), 65_527, 1472),
        1440
    );
    assert_eq!(current(DatagramSize::Mirror, Some(1440), 1300, 1472), 1300);
    assert_eq!(current(DatagramSize::Mirror, None, 65_527, 1472), 1200);
    assert_eq!(
        current(DatagramSize::Discover, Some(1440), 65_527, 1472),
        1440
    );
    assert_eq!(
        current(DatagramSize::Discover, Some(9000), 1300, 1472),
        1300
    );
    // Hostile limits.
    assert_eq!(current(DatagramSize::Discover, None, 0, 0), 1200);
}

#[test]
fn fixed_and_mirrored_sizes_are_not_searched() {
    for kind in [DatagramSize::Fixed(1300), DatagramSize::Mirror] {
        let mut mtu = Mtu::with(kind, Some(1300), 65_527, ETHERNET);
        assert_eq!(mtu.probe(at(1)), None);
        assert_eq!(mtu.probe(at(100_000)), None);
    }
}

#[test]
fn a_black_hole_is_left_and_the_search_rests() {
    let mut mtu = discover(ETHERNET);
    search(&mut mtu, at(1), ETHERNET);
    assert!(!mtu.on_lost(ETHERNET));
    assert!(!mtu.on_lost(ETHERNET));
    assert!(mtu.on_lost(ETHERNET));
    assert_eq!(mtu.current(), BASE);
    // What was sent before is lost as well, which changes nothing.
    for _ in 0..9 {
        assert!(!mtu.on_lost(ETHERNET));
    }
    assert_eq!(mtu.probe(at(10)), None);
    assert_eq!(mtu.probe(at(69)), None);
    search(&mut mtu, at(70), 1400);
    assert!((1385..=1400).contains(&mtu.current()));
}

#[test]
fn congestion_is_not_taken_for_a_black_hole() {
    let mut mtu = discover(ETHERNET);
    search(&mut mtu, at(1), ETHERNET);
    for _ in 0..100 {
        // Small ones are lost too, or a large one arrives now and then.
        assert!(!mtu.on_lost(300));
        assert!(!mtu.on_lost(ETHERNET));
        assert!(!mtu.on_lost(ETHERNET));
        mtu.on_acked(ETHERNET);
    }
    assert_eq!(mtu.current(), ETHERNET);
}

#[test]
fn what_a_search_begins_with_is_given_up_at_the_first_silence_of_a_handshake() {
    let mut mtu = Mtu::with(DatagramSize::Discover, Some(1440), 65_527, ETHERNET);
    assert!(mtu.on_handshake_timeout(1));
    assert_eq!(mtu.current(), BASE);
    assert!(!mtu.on_handshake_timeout(2));
    search(&mut mtu, at(1), ETHERNET);
    assert_eq!(mtu.current(), ETHERNET);
    let mut fixed = Mtu::with(DatagramSize::Fixed(1440), None, 65_527, ETHERNET);
    assert!(!fixed.on_handshake_timeout(1), "one loss proves nothing");
}

#[test]
fn silence_may_be_for_the_size() {
    for kind in [DatagramSize::Fixed(1452), DatagramSize::Mirror] {
        let mut mtu = Mtu::with(kind, Some(1452), 65_527, ETHERNET);
        assert!(!mtu.on_probe_timeout(1));
        assert!(!mtu.on_probe_timeout(2));
        assert!(mtu.on_probe_timeout(3));
        assert_eq!(mtu.current(), BASE);
        assert!(!mtu.on_probe_timeout(4));
    }
}

#[test]
fn a_size_that_the_system_refuses_is_not_tried_again() {
    let mut mtu = discover(ETHERNET);
    let size = mtu.probe(at(1)).unwrap();
    mtu.on_probe_sent(size);
    assert!(!mtu.too_big(size));
    search(&mut mtu, at(1), 1440);
    assert!((1425..=1440).contains(&mtu.current()), "{}", mtu.current());
    // The route changes.
    let before = mtu.current();
    assert!(mtu.too_big(before));
    assert_eq!(mtu.current(), BASE);
    search(&mut mtu, at(1), before - 1);
    assert_eq!(mtu.current(), before - 1);
    assert!(!mtu.too_big(BASE));
}
