//! Order, lanes, limits and repetition, with lookups that only take time.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::*;

/// A word is `LANE:MS`; its lookup takes that many milliseconds.
#[derive(Default)]
struct Sleeper {
    running: RefCell<HashMap<String, (usize, usize)>>,
    most: Cell<usize>,
    asked: Cell<usize>,
    /// The size of each outcome.
    size: usize,
}

impl LookupService for Sleeper {
    type Query = (String, u64);
    type Outcome = String;

    fn read(&self, text: &str) -> Result<Self::Query, String> {
        let (lane, ms) = text.split_once(':').ok_or("no query")?;
        Ok((lane.into(), ms.parse().map_err(|_| "no number")?))
    }

    fn lane(&self, query: &Self::Query) -> Rc<str> {
        query.0.as_str().into()
    }

    fn may_pass(&self, outcome: &String) -> bool {
        outcome.starts_with("ill")
    }

    fn size(&self, _: &String) -> usize {
        self.size
    }

    async fn ask(&self, (lane, ms): Self::Query) -> String {
        self.asked.set(self.asked.get() + 1);
        {
            let mut running = self.running.borrow_mut();
            let (now, most) = running.entry(lane.clone()).or_default();
            *now += 1;
            *most = (*most).max(*now);
            let all = running.values().map(|(now, _)| now).sum();
            self.most.set(self.most.get().max(all));
        }
        tokio::time::sleep(Duration::from_millis(ms)).await;
        if let Some((now, _)) = self.running.borrow_mut().get_mut(&lane) {
            *now -= 1;
        }
        format!("{lane} after {ms}")
    }
}

fn order(at_once: usize) -> ListOptions {
    ListOptions {
        ordered: false,
        at_once,
        serial: false,
        retries: false,
    }
}

/// Returns the words in the order in which they were reported.
async fn run(words: Vec<String>, order: ListOptions, asker: &Rc<Sleeper>) -> Vec<String> {
    let lines = super::super::list::read(vec![super::super::list::Part::Words(words)]);
    let mut told = Vec::new();
    let served = serve(
        asker.clone(),
        lines,
        order,
        |_| false,
        |entry, outcome, _| {
            told.push(format!("{} {outcome}", entry.place));
            true
        },
    );
    let tally = served.await.unwrap();
    assert_eq!(
        (tally.read, tally.told),
        (told.len() as u64, told.len() as u64)
    );
    told
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|w| (*w).to_owned()).collect()
}

#[tokio::test]
async fn results_are_reported_as_they_finish_or_in_order() {
    let asker = Rc::default();
    let list = words(&["a:300", "b:10", "nonsense"]);
    let told = run(list.clone(), order(9), &asker).await;
    assert_eq!(told, ["2 no query", "1 b after 10", "0 a after 300"]);
    let ordered = ListOptions {
        ordered: true,
        ..order(9)
    };
    let told = run(list, ordered, &asker).await;
    assert_eq!(told, ["0 a after 300", "1 b after 10", "2 no query"]);
}

#[tokio::test]
async fn each_lane_has_its_limit_and_no_lane_waits_for_another() {
    let asker: Rc<Sleeper> = Rc::default();
    let mut list = vec!["slow:20".to_owned(); 40];
    list.extend(vec!["fast:1".to_owned(); 40]);
    let told = run(list, order(3), &asker).await;
    assert_eq!(told.len(), 80);
    let running = asker.running.borrow();
    assert_eq!(running["slow"], (0, 3));
    assert_eq!(running["fast"], (0, 3));
    let end = told.last().unwrap();
    assert!(end.contains("slow"), "{end}");
}

#[tokio::test]
async fn serial_lookups_run_one_after_another() {
    let asker: Rc<Sleeper> = Rc::default();
    let serial = ListOptions {
        serial: true,
        ..order(9)
    };
    let told = run(words(&["a:9", "b:1", "c:3"]), serial, &asker).await;
    assert_eq!(told, ["0 a after 9", "1 b after 1", "2 c after 3"]);
    assert_eq!(asker.most.get(), 1);
}

#[tokio::test]
async fn reported_entries_are_skipped_and_the_caller_can_stop() {
    let asker: Rc<Sleeper> = Rc::default();
    let lines = || {
        let list = words(&["a:1", "a:2", "a:3", "a:4"]);
        super::super::list::read(vec![super::super::list::Part::Words(list)])
    };
    let ordered = ListOptions {
        ordered: true,
        ..order(1)
    };
    let mut told = Vec::new();
    let skip = |place| place == 0 || place == 2;
    let served = serve(asker.clone(), lines(), ordered, skip, |entry, _, _| {
        told.push(entry.place);
        true
    });
    assert_eq!(served.await.unwrap().read, 4);
    assert_eq!(told, [1, 3]);
    let served = serve(asker, lines(), ordered, |_| false, |_, _, _| false);
    assert_eq!(served.await.unwrap().told, 1);
}

#[tokio::test]
async fn failed_entries_are_repeated_once_at_the_end() {
    let asker: Rc<Sleeper> = Rc::default();
    for ordered in [false, true] {
        let again = ListOptions {
            ordered,
            retries: true,
            ..order(2)
        };
        let list = words(&["ill:1", "a:1", "nonsense", "ill:2", "b:9"]);
        let mut told = run(list, again, &asker).await;
        if !ordered {
            assert!(
                told[3..].iter().all(|line| line.contains("ill")),
                "{told:?}"
            );
            told.sort();
        }
        let places: Vec<&str> = told.iter().filter_map(|l| l.get(..1)).collect();
        assert_eq!(places, ["0", "1", "2", "3", "4"]);
    }
}

#[tokio::test]
async fn failed_entries_are_repeated_before_there_are_too_many() {
    let asker: Rc<Sleeper> = Rc::default();
    let list = (0..3 * MAX_WAITING).map(|_| "ill:0".to_owned()).collect();
    let lines = super::super::list::read(vec![super::super::list::Part::Words(list)]);
    let again = ListOptions {
        retries: true,
        ..order(100)
    };
    let (mut ahead, mut told) = (0, HashSet::new());
    let tell = |entry: Line, _, tally: ListProgress| {
        ahead = ahead.max(tally.read - tally.told);
        told.insert(entry.place)
    };
    let tally = serve(asker, lines, again, |_| false, tell).await.unwrap();
    assert_eq!((tally.told, told.len()), (tally.read, 3 * MAX_WAITING));
    assert!(ahead < 2 * MAX_WAITING as u64, "{ahead}");
}

#[tokio::test]
async fn large_results_that_wait_for_an_earlier_one_stop_the_others() {
    for (first, retries) in [("slow:500", false), ("ill:500", true)] {
        let asker = Rc::new(Sleeper {
            size: MAX_HELD_SIZE / 10,
            ..Sleeper::default()
        });
        let mut list = vec![first.to_owned()];
        list.extend((0..1000).map(|n| format!("{}:0", ["quick", "ill"][n % 2])));
        let lines = super::super::list::read(vec![super::super::list::Part::Words(list)]);
        let options = ListOptions {
            ordered: true,
            retries,
            ..order(20)
        };
        let (mut begun, mut told) = (None, 0);
        let tell = |entry: Line, _, _| {
            begun.get_or_insert(asker.asked.get());
            assert_eq!(entry.place, told);
            told += 1;
            true
        };
        let served = serve(asker.clone(), lines, options, |_| false, tell);
        assert_eq!(served.await.unwrap().told, 1001);
        // Those that were under way when the results became too large end.
        assert!(begun.is_some_and(|begun| begun < 300), "{begun:?}");
    }
}

#[tokio::test]
async fn a_long_list_is_processed_completely() {
    let asker: Rc<Sleeper> = Rc::default();
    let list = (0..50_000).map(|n| format!("{}:0", n % 7)).collect();
    assert_eq!(run(list, order(100), &asker).await.len(), 50_000);
    assert!(asker.most.get() <= MAX_RUNNING);
}
