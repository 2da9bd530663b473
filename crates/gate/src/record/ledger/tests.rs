//! A recorded event appears in the sum over all threads, and in only one counter.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use super::*;

fn kept(reused: bool) -> Entry {
    let mut entry = Entry::new(Instant::now(), Protocol::H1, false);
    (entry.status, entry.upstream, entry.reused) = (200, 0, reused);
    entry
}

#[test]
fn no_two_counters_share_a_place() {
    fn all<W: LabelValue + Counted>(slots: &mut Vec<usize>) {
        slots.extend(W::ALL.iter().map(|w| w.slot()));
    }
    let mut slots = Vec::new();
    slots.extend(Protocol::ALL.iter().map(|p| Connected(*p).slot()));
    slots.extend(RequestCounter::all().map(RequestCounter::slot));
    all::<Reason>(&mut slots);
    all::<Limit>(&mut slots);
    all::<Early>(&mut slots);
    all::<Known>(&mut slots);
    all::<TlsHandshake>(&mut slots);
    all::<Link>(&mut slots);
    all::<Carried>(&mut slots);
    all::<Pool>(&mut slots);
    all::<Store>(&mut slots);
    all::<SingleUse>(&mut slots);
    all::<QuicStray>(&mut slots);
    all::<Streams>(&mut slots);
    all::<Bytes>(&mut slots);
    all::<Remedy>(&mut slots);
    all::<Avoided>(&mut slots);
    all::<LoginEvent>(&mut slots);
    all::<Spans>(&mut slots);
    slots.extend([FastOpened.slot()]);
    let distinct: HashSet<usize> = slots.iter().copied().collect();
    assert_eq!(distinct.len(), slots.len());
    assert_eq!(slots.len(), SLOTS);
    assert!(slots.iter().all(|slot| *slot < SLOTS));
}

#[test]
fn threads_are_summed() {
    let book = Ledgers::new(3);
    thread::scope(|scope| {
        for number in 0..3 {
            let ledger = book.ledger(number);
            scope.spawn(move || {
                for _ in 0..1000 {
                    ledger.record(&kept(true), Instant::now());
                }
                ledger.set(Gauge::Sessions, 7);
            });
        }
    });
    let sum = book.snapshot();
    assert_eq!(sum.requests(), 3000);
    assert_eq!(sum.get(Carried::Reused), 3000);
    assert_eq!(sum.gauge(Gauge::Sessions), 21);
    assert_eq!(sum.timer(Timer::Whole).histogram.total(), 3000);
    assert_eq!(sum.timer(Timer::Authorize).histogram.total(), 0);
}

#[test]
fn saved_round_trips_are_counted_by_arithmetic() {
    let book = Ledgers::new(1);
    let ledger = book.ledger(0);
    let record = |entry: &Entry| ledger.record(entry, Instant::now());
    record(&kept(false));
    assert_eq!(book.snapshot().saved(), 0);
    record(&kept(true));
    assert_eq!(book.snapshot().saved(), 1, "TCP");
    let mut secure = kept(true);
    secure.upstream_secure = true;
    record(&secure);
    assert_eq!(book.snapshot().saved(), 3, "TCP and TLS");
    let mut known = kept(false);
    known.known = Some(Known::Near);
    known.early = Some(Early::Passed);
    record(&known);
    let mut asked = kept(false);
    asked.known = Some(Known::Asked);
    asked.early = Some(Early::Held);
    record(&asked);
    let sum = book.snapshot();
    assert_eq!(sum.get(Remedy::UpstreamReuse), 3);
    assert_eq!(sum.get(Remedy::NearCache), 1);
    assert_eq!(sum.get(Remedy::EarlyData), 1);
    assert_eq!((sum.get(Early::Held), sum.get(Known::Asked)), (1, 1));
    assert_eq!(sum.avoided(), 3, "two of TCP, one of TLS");
}

#[test]
fn a_resumed_handshake_saves_a_round_trip_where_a_full_one_has_two() {
    let book = Ledgers::new(1);
    let arrive = |handshake, two_trips| {
        book.ledger(0).connection(ConnectionStart {
            protocol: Protocol::H2,
            security: Security::Tls {
                handshake,
                two_trips,
            },
            fast_open: false,
        });
    };
    arrive(TlsHandshake::Full, true);
    arrive(TlsHandshake::Resumed, false);
    arrive(TlsHandshake::Resumed, true);
    let sum = book.snapshot();
    assert_eq!(sum.get(Remedy::Resumption), 1);
    assert_eq!(sum.get(Avoided::ClientTls), 2);
    assert_eq!(sum.get(Connected(Protocol::H2)), 3);
}

#[test]
fn a_gauge_falls_when_its_guard_is_dropped() {
    let book = Ledgers::new(1);
    let ledger = book.ledger(0);
    let held = (ledger.hold(Gauge::Exchanges), ledger.hold(Gauge::Exchanges));
    assert_eq!(book.snapshot().gauge(Gauge::Exchanges), 2);
    drop(held);
    ledger.lower(Gauge::Exchanges);
    assert_eq!(book.snapshot().gauge(Gauge::Exchanges), 0, "not below");
}

#[test]
fn very_long_durations_are_counted_in_the_last_bucket() {
    let book = Ledgers::new(1);
    let began = Instant::now();
    let entry = Entry::new(began, Protocol::H3, true);
    let ended = began + Duration::from_secs(1 << 33);
    book.ledger(0).record(&entry, ended);
    assert_eq!(book.snapshot().timer(Timer::Whole).histogram.total(), 1);
}

/// The cost of recording is printed, not checked: `--nocapture` shows it, and only an optimised
/// build is meaningful.
#[test]
fn recording_is_cheap() {
    const TIMES: u32 = 200_000;
    let book = Ledgers::new(1);
    let ledger = book.ledger(0);
    let mut entry = kept(true);
    entry.known = Some(Known::Near);
    entry.upstream_secure = true;
    (entry.sent, entry.first_byte) = (Some(entry.began), Some(entry.began));
    entry.passed_on = Some(entry.began);
    let began = Instant::now();
    for round in 0..TIMES {
        let ended = entry.began + Duration::from_nanos(u64::from(round));
        ledger.record(std::hint::black_box(&entry), ended);
    }
    let each = began.elapsed().as_nanos() / u128::from(TIMES);
    println!("record(): {each} ns");
    assert_eq!(book.snapshot().requests(), u64::from(TIMES));
}
