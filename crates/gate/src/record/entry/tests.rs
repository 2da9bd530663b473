//! The phases cover the whole exchange, whichever marks were taken.

use proptest::prelude::*;

use super::*;

fn entry(began: Instant) -> Entry {
    Entry::new(began, Protocol::H2, true)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_added_time_leaves_out_the_backend() {
    let began = Instant::now();
    let mut entry = entry(began);
    entry.authorized = Some(began + ms(1));
    entry.leased = Some(began + ms(3));
    entry.sent = Some(began + ms(4));
    entry.first_byte = Some(began + ms(54));
    entry.passed_on = Some(began + ms(56));
    let ended = began + ms(80);
    assert_eq!(entry.added(ended), ms(6));
    assert_eq!(entry.waited(ended), ms(50));
    let phases: Vec<_> = entry.phases(ended).map(|(p, t)| (p.as_str(), t)).collect();
    assert_eq!(
        phases,
        [
            ("authorize", ms(1)),
            ("lease", ms(2)),
            ("request", ms(1)),
            ("first_byte", ms(50)),
            ("body", ms(26)),
        ]
    );
}

#[test]
fn the_unfinished_phase_has_the_rest_of_the_time() {
    let began = Instant::now();
    let ended = began + ms(9);
    let only = |entry: &Entry| entry.phases(ended).map(|(p, _)| p).collect::<Vec<_>>();
    let mut entry = entry(began);
    entry.turn_away(401, Reason::NoToken);
    assert_eq!(only(&entry), [ExchangePhase::Authorize]);
    entry.authorized = Some(began);
    assert_eq!(only(&entry), [ExchangePhase::Authorize], "turned away");
    entry.turn_away(503, Reason::PoolFull);
    assert_eq!(
        only(&entry),
        [ExchangePhase::Authorize, ExchangePhase::Lease]
    );
    // A known session and a waiting connection need no marks.
    (entry.authorized, entry.sent) = (None, Some(began + ms(1)));
    assert_eq!(
        only(&entry),
        [ExchangePhase::Request, ExchangePhase::FirstByte]
    );
    assert_eq!(entry.waited(ended), ms(8), "it never came");
}

proptest! {
    #[test]
    fn phases_tile_the_whole(marks: [Option<u8>; 4], end: u8, turned_away: bool) {
        let began = Instant::now();
        let mut at = 0;
        let mut mark = |taken: Option<u8>| taken.map(|more| {
            at += u64::from(more);
            began + ms(at)
        });
        let mut entry = entry(began);
        entry.authorized = mark(marks[0]);
        entry.leased = mark(marks[1]);
        entry.sent = mark(marks[2]);
        entry.first_byte = mark(marks[3]);
        let ended = began + ms(at + u64::from(end));
        if turned_away {
            entry.turn_away(401, Reason::Expired);
        }
        let sum: Duration = entry.phases(ended).map(|(_, took)| took).sum();
        prop_assert_eq!(sum, ended - began);
        prop_assert!(entry.added(ended) + entry.waited(ended) <= ended - began);
    }
}
