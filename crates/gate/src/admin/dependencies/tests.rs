//! What is reported about upstreams and the store, and how often.

use super::*;
use crate::record::Ledgers;

fn at(began: Instant, seconds: u64) -> Instant {
    began + Duration::from_secs(seconds)
}

#[test]
fn a_change_is_told_once_and_what_flutters_is_told_as_it_stands() {
    let (mut told, began) = (LastLogged::default(), Instant::now());
    assert_eq!(told.change(false, began), None);
    assert_eq!(told.change(true, at(began, 1)), Some(Duration::ZERO));
    assert_eq!(told.change(true, at(began, 30)), None);
    let back = told.change(false, at(began, 42));
    assert_eq!(back, Some(Duration::from_secs(41)));
    // Down and back within the minimum interval: nothing.
    assert_eq!(told.change(true, at(began, 43)), None);
    assert_eq!(told.change(false, at(began, 44)), None);
    assert_eq!(told.change(true, at(began, 45)), None);
    assert!(told.change(true, at(began, 48)).is_some());
}

#[test]
fn the_store_is_down_once_no_thread_reaches_it() {
    let (book, began) = (Ledgers::new(2), Instant::now());
    for thread in 0..2 {
        book.ledger(thread).raise(Gauge::Accepting);
    }
    let mut store = StoreStatus {
        outage: Outage::default(),
        down: None,
        told: LastLogged::default(),
        grace: Duration::from_secs(30),
        spared: false,
    };
    store.outage.is_told("nobody answers".into());
    let mut lines = Vec::new();
    let mut look = |store: &mut StoreStatus, seconds| {
        store.look(&book.snapshot(), at(began, seconds), &mut |line| {
            lines.push(line);
        });
        store.view(at(began, seconds))
    };
    book.ledger(0).raise(Gauge::StoreDown);
    assert_eq!(look(&mut store, 0), StoreView::Up);
    book.ledger(1).raise(Gauge::StoreDown);
    let down = |since, hopeless| StoreView::Down {
        since: Duration::from_secs(since),
        hopeless,
    };
    assert_eq!(look(&mut store, 1), down(0, false));
    assert_eq!(look(&mut store, 40), down(39, true));
    store.spared = true;
    assert_eq!(look(&mut store, 41), down(40, false));
    book.ledger(0).lower(Gauge::StoreDown);
    assert_eq!(look(&mut store, 42), StoreView::Up);
    assert_eq!(
        lines,
        [
            "store down: nobody answers; known sessions stay valid for 30 s",
            "store back after 41 s"
        ]
    );
}

#[test]
fn spans_are_short() {
    let told = [0, 41, 119, 120, 7199, 7200].map(|s| span(Duration::from_secs(s)));
    assert_eq!(told, ["0 s", "41 s", "119 s", "2 min", "119 min", "2 h"]);
}
