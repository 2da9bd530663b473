//! The invariants of a bucket, for any times and any complaints.

use proptest::prelude::*;

use super::*;

const START: Stamp = Stamp(1_790_000_000_000);
const SECOND: Duration = Duration::from_secs(1);

fn ten() -> Limit {
    Limit::new(10.0, SECOND)
}

fn after(ms: u64) -> Stamp {
    Stamp(START.0 + ms)
}

/// The times at which tokens are given if each is taken as soon as possible.
fn times(bucket: &mut Bucket, limit: &Limit, count: usize) -> Vec<u64> {
    let mut now = bucket.at;
    let mut times = Vec::new();
    while times.len() < count {
        match bucket.take(Some(limit), None, now) {
            Take::Now => times.push(now.0 - START.0),
            Take::At(until) | Take::Paused(until) => {
                assert!(until > now);
                now = until;
            }
            Take::Spent { .. } => panic!("no quota was given"),
        }
    }
    times
}

#[test]
fn a_burst_then_a_rate() {
    let limit = ten();
    let given = times(&mut Bucket::full(Some(&limit), START), &limit, 23);
    assert_eq!(given[..20], [0; 20]);
    assert_eq!(given[20..], [100, 200, 300]);
    let slow = Limit::new(10.0, 60 * SECOND);
    let given = times(&mut Bucket::full(Some(&slow), START), &slow, 11);
    // Ten in each minute, give or take the millisecond lost to rounding.
    assert_eq!(given[0], 0);
    assert!(
        (6000..6002).contains(&given[1]) && (60_000..60_020).contains(&given[10]),
        "{given:?}"
    );
}

#[test]
fn a_complaint_halves_and_pauses() {
    let limit = ten();
    let mut bucket = Bucket::full(Some(&limit), START);
    assert_eq!(bucket.take(Some(&limit), None, START), Take::Now);
    let pause = Some(7 * SECOND);
    let until = bucket.complain(Some(&limit), after(50), START, pause, 0.0);
    assert_eq!(until, after(7050));
    assert_eq!(
        bucket.take(Some(&limit), None, after(7049)),
        Take::Paused(until)
    );
    // One token can be kept; after it comes half the rate, and no burst has accumulated meanwhile.
    assert_eq!(times(&mut bucket, &limit, 4), [7050, 7250, 7450, 7650]);
    // Queries that were in flight count as the same complaint.
    let before = bucket.clone();
    bucket.complain(Some(&limit), after(7700), after(40), None, 0.0);
    assert_eq!(bucket.part, before.part);
    bucket.complain(Some(&limit), after(9000), after(7650), None, 0.0);
    assert_eq!(bucket.part, before.part / 2);
}

#[test]
fn answers_restore_the_rate() {
    let limit = ten();
    let mut bucket = Bucket::full(Some(&limit), START);
    assert!(bucket.is_content());
    bucket.complain(Some(&limit), after(1), START, None, 0.5);
    let mut answers = 0;
    while !bucket.is_content() {
        bucket.content();
        answers += 1;
    }
    assert_eq!(answers, 50);
}

/// The number of answers in a minute from a server that allows less than the limit and says so.
fn answered_in_a_minute(limit: f64, allowed: u64) -> u64 {
    const MINUTE: u64 = 60_000;
    const ROUND_TRIP: u64 = 30;
    let limit = Limit::new(limit, SECOND);
    let mut bucket = Bucket::full(Some(&limit), START);
    // In thousandths of a query; a tenth of a second's worth can come at once.
    let most = (100 * allowed).max(2000);
    let (mut room, mut filled) = (most, 0);
    let mut way_back = std::collections::VecDeque::<(u64, u64, bool)>::new();
    let (mut now, mut answered) = (0, 0);
    while now < MINUTE {
        while let Some(&(_, sent, good)) = way_back.front().filter(|(at, ..)| *at <= now) {
            way_back.pop_front();
            if good {
                answered += 1;
                bucket.content();
            } else {
                let pause = Some(SECOND);
                bucket.complain(Some(&limit), after(now), after(sent), pause, 0.5);
            }
        }
        let arrives = way_back.front().map_or(MINUTE, |(at, ..)| *at);
        match bucket.take(Some(&limit), None, after(now)) {
            Take::Now => {
                room = (room + (now - filled) * allowed).min(most);
                filled = now;
                let good = room >= 1000;
                room -= if good { 1000 } else { 0 };
                way_back.push_back((now + ROUND_TRIP, now, good));
            }
            Take::At(until) | Take::Paused(until) => now = arrives.min(until.0 - START.0),
            Take::Spent { .. } => panic!("no quota was given"),
        }
    }
    answered
}

#[test]
fn the_rate_returns_to_what_the_server_allows() {
    for (limit, allowed) in [
        (160.0, 150),
        (300.0, 150),
        (1000.0, 150),
        (40.0, 10),
        (10.0, 7),
    ] {
        let answered = answered_in_a_minute(limit, allowed);
        let share = answered as f64 / (60 * allowed) as f64;
        assert!(
            share > 0.6,
            "{limit}/s, and {allowed}/s allowed: {share:.2} of it"
        );
    }
}

#[test]
fn the_rate_never_becomes_zero() {
    let limit = Limit::new(1.0, 24 * 3600 * SECOND);
    let mut bucket = Bucket::full(Some(&limit), START);
    for n in 1..200 {
        bucket.complain(
            Some(&limit),
            after(2 * n),
            after(2 * n - 1),
            Some(Duration::ZERO),
            0.0,
        );
    }
    assert_eq!(bucket.part, MIN_PART);
    // One token was left; the next takes sixty-four days, one for each part.
    let now = after(100_000);
    assert_eq!(bucket.take(Some(&limit), None, now), Take::Now);
    let Take::At(until) = bucket.take(Some(&limit), None, now) else {
        panic!("a second token");
    };
    assert!((63.0..65.0).contains(&(until.since(now).as_secs_f64() / 86_400.0)));
}

#[test]
fn pauses_without_retry_after_double_up_to_a_minute() {
    let mut bucket = Bucket::full(None, START);
    let mut now = START;
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let until = bucket.complain(None, now, now, None, 0.5);
        pauses.push(until.since(now).as_secs());
        assert_eq!(
            bucket.take(None, None, Stamp(until.0 - 1)),
            Take::Paused(until)
        );
        assert_eq!(bucket.take(None, None, until), Take::Now);
        now = until.plus(SECOND);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
    bucket.content();
    let until = bucket.complain(None, now, now, None, 0.5);
    assert_eq!(until.since(now), SECOND);
    // Jitter ranges from half as long to one and a half times as long.
    let mut bucket = Bucket::full(None, START);
    assert_eq!(bucket.complain(None, START, START, None, 0.0), after(500));
    let mut bucket = Bucket::full(None, START);
    assert_eq!(bucket.complain(None, START, START, None, 1.0), after(1500));
}

#[test]
fn pauses_that_servers_name_are_bounded() {
    for (named, kept) in [
        (Duration::ZERO, FIRST_PAUSE),
        (90 * SECOND, 90 * SECOND),
        (Duration::from_secs(u64::MAX), MAX_PAUSE),
    ] {
        let mut bucket = Bucket::full(Some(&ten()), START);
        let until = bucket.complain(Some(&ten()), START, START, Some(named), 0.3);
        assert_eq!(until.since(START), kept);
    }
}

#[test]
fn personal_data_sets_are_counted_for_a_day() {
    let mut bucket = Bucket::full(None, START);
    for n in 0..3 {
        assert_eq!(bucket.take(None, Some(3), after(n * HOUR)), Take::Now);
    }
    let now = after(3 * HOUR);
    let Take::Spent { quota, until } = bucket.take(None, Some(3), now) else {
        panic!("three were taken");
    };
    assert_eq!(quota, 3);
    // Other queries continue.
    assert_eq!(bucket.take(None, None, now), Take::Now);
    let wait = until.since(START);
    assert!(wait >= Duration::from_millis(24 * HOUR) && wait <= Duration::from_millis(25 * HOUR));
    assert!(matches!(
        bucket.take(None, Some(3), Stamp(until.0 - 1)),
        Take::Spent { .. }
    ));
    assert_eq!(bucket.take(None, Some(3), until), Take::Now);
    assert!(matches!(
        bucket.take(None, Some(3), until),
        Take::Spent { .. }
    ));
}

#[test]
fn a_clock_set_back_adds_no_tokens() {
    let limit = ten();
    let mut bucket = Bucket::full(Some(&limit), after(10 * HOUR));
    for _ in 0..20 {
        assert_eq!(
            bucket.take(Some(&limit), Some(20), after(10 * HOUR)),
            Take::Now
        );
    }
    // The clock went back an hour: that adds no tokens, no impossible day, and no wait of an hour.
    let now = after(9 * HOUR);
    assert!(matches!(
        bucket.take(Some(&limit), Some(20), now),
        Take::Spent { .. }
    ));
    assert_eq!(
        bucket.take(Some(&limit), None, now),
        Take::At(Stamp(now.0 + 100))
    );
    // A pause that ends later than possible is cut to the longest.
    let mut numbers = bucket.numbers();
    numbers[3] = u64::MAX;
    let mut bucket = Bucket::from_numbers(&numbers, Some(&limit), now);
    assert_eq!(
        bucket.take(Some(&limit), None, now),
        Take::Paused(now.plus(MAX_PAUSE))
    );
}

#[test]
fn clocks_that_differ_a_little_add_no_tokens() {
    let limit = ten();
    let mut bucket = Bucket::full(Some(&limit), START);
    // Five seconds, seen by two processes whose clocks differ by up to 3 s.
    let seen = (0..5000_u64).flat_map(|ms| [ms, ms.saturating_sub(ms % 3000)]);
    let given = seen.filter(|ms| bucket.take(Some(&limit), None, after(*ms)) == Take::Now);
    assert!((69..=70).contains(&given.count()));
}

#[test]
fn limits_can_differ_between_processes() {
    let (slow, fast) = (ten(), Limit::new(1000.0, SECOND));
    let numbers = Bucket::full(Some(&slow), START).numbers();
    let mut bucket = Bucket::from_numbers(&numbers, Some(&fast), START);
    assert_eq!(times(&mut bucket, &fast, 1000).last(), Some(&980));
    let numbers = Bucket::full(Some(&fast), START).numbers();
    let mut bucket = Bucket::from_numbers(&numbers, Some(&slow), START);
    assert_eq!(times(&mut bucket, &slow, 21).last(), Some(&100));
}

#[test]
fn frequent_checks_do_not_prolong_the_wait() {
    let limit = Limit::new(1.0, 24 * 3600 * SECOND);
    let mut bucket = Bucket::full(Some(&limit), START);
    bucket.part = MIN_PART;
    bucket.level = TOKEN - 1000;
    // At 180 billionths of a token a second, a millisecond adds a fifth of a billionth.
    let waited = (0..9_000).find(|ms| bucket.take(Some(&limit), None, after(*ms)) == Take::Now);
    assert!(
        waited.is_some_and(|ms| (5_000..8_000).contains(&ms)),
        "{waited:?}"
    );
}

#[derive(Debug, Clone)]
enum Step {
    Take,
    Complain(Option<u64>, f64),
    Content,
    File,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Take),
        1 => (proptest::option::of(0..20_000_u64), 0.0..1.0).prop_map(|(ms, j)| Step::Complain(ms, j)),
        2 => Just(Step::Content),
        1 => Just(Step::File),
        4 => (0..3_000_u64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..150)
}

proptest! {
    #[test]
    fn no_span_has_more_than_the_burst_and_the_rate(steps in steps(), count in 1_u32..2000, minutes: bool) {
        let span = if minutes { 60 * SECOND } else { SECOND };
        let limit = Limit::new(f64::from(count), span);
        let mut bucket = Bucket::full(Some(&limit), START);
        let (mut now, mut given) = (START, Vec::new());
        for step in steps {
            match step {
                Step::Take => match bucket.take(Some(&limit), None, now) {
                    Take::Now => given.push(now),
                    Take::At(until) | Take::Paused(until) => prop_assert!(until > now),
                    Take::Spent { .. } => prop_assert!(false),
                },
                Step::Complain(pause, jitter) => {
                    let until = bucket.complain(Some(&limit), now, now, pause.map(Duration::from_millis), jitter);
                    prop_assert!(until > now && until.since(now) <= MAX_PAUSE);
                }
                Step::Content => bucket.content(),
                Step::File => bucket = Bucket::from_numbers(&bucket.numbers(), Some(&limit), now),
                Step::Wait(ms) => now = Stamp(now.0 + ms),
            }
        }
        for (first, from) in given.iter().enumerate() {
            for (last, to) in given.iter().enumerate().skip(first) {
                let most = limit.burst() as f64 + limit.a_second() * to.since(*from).as_secs_f64();
                prop_assert!((last - first + 1) as f64 <= most + 1e-6);
            }
        }
    }

    #[test]
    fn a_file_keeps_everything(steps in steps()) {
        let limit = ten();
        let mut bucket = Bucket::full(Some(&limit), START);
        let mut now = START;
        for step in steps {
            match step {
                Step::Take => drop(bucket.take(Some(&limit), Some(1000), now)),
                Step::Complain(pause, jitter) => {
                    bucket.complain(Some(&limit), now, now, pause.map(Duration::from_millis), jitter);
                }
                Step::Content => bucket.content(),
                Step::File => {}
                Step::Wait(ms) => now = Stamp(now.0 + 1000 * ms),
            }
        }
        bucket.settle(Some(&limit), now);
        prop_assert_eq!(Bucket::from_numbers(&bucket.numbers(), Some(&limit), now), bucket);
    }

    #[test]
    fn any_numbers_are_a_bucket(numbers: [u64; NUMBERS], now: u64, later: u64, quota: u16) {
        let limit = ten();
        let mut bucket = Bucket::from_numbers(&numbers, Some(&limit), Stamp(now));
        prop_assert!(bucket.level <= limit.burst * TOKEN);
        for now in [now, later, u64::MAX] {
            let _ = bucket.take(Some(&limit), Some(quota), Stamp(now));
            bucket.complain(Some(&limit), Stamp(now), Stamp(later), Some(Duration::MAX), 2.0);
        }
    }
}
