//! Schedules the queries of a list: each query waits in the lane of its server, each server gets as
//! many queries at once as it allows, and no server waits for another. The number of waiting
//! queries is bounded, however long the list is.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::rc::Rc;

use tokio::task::JoinSet;

use super::list::{Line, Lines, ListError};

/// The largest number of queries that wait for their servers, over all lanes, or to be repeated.
const MAX_WAITING: usize = 20_000;
/// The largest number of lookups in flight, over all servers.
const MAX_RUNNING: usize = 2_000;
/// How far a result can be ahead of the next one to be reported, in positions.
const MAX_POSITIONS_AHEAD: u64 = 20_000;

/// Parses queries and looks them up.
pub trait LookupService: 'static {
    type Query: 'static;
    type Outcome: 'static;

    /// Parses an entry, or returns an outcome to report in place of an answer.
    fn read(&self, text: &str) -> Result<Self::Query, Self::Outcome>;

    /// The server to ask. The queries of one lane wait for each other.
    fn lane(&self, query: &Self::Query) -> Rc<str>;

    fn ask(&self, query: Self::Query) -> impl Future<Output = Self::Outcome>;

    /// Whether another attempt could succeed.
    fn may_pass(&self, outcome: &Self::Outcome) -> bool;
}

/// How to process a list.
#[derive(Debug, Clone, Copy)]
pub struct ListOptions {
    /// Results are reported in the order of the list.
    pub ordered: bool,
    /// The largest number of lookups in flight in each lane.
    pub at_once: usize,
    /// Whether lookups are made one after another, in the order of the list.
    pub serial: bool,
    /// Whether failed lookups are repeated once, after all others that were read.
    pub retries: bool,
}

/// The progress of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListProgress {
    pub read: u64,
    pub told: u64,
    pub running: usize,
    pub lanes: usize,
    /// The whole list has been read.
    pub whole: bool,
}

/// Looks up all lines. `tell` receives each outcome and the progress; `skip` says which entries an
/// earlier run has reported. Ends at the end of the list, when the list cannot be read, or when
/// `tell` asks to stop.
pub async fn serve<A: LookupService>(
    asker: Rc<A>,
    lines: Lines,
    order: ListOptions,
    skip: impl Fn(u64) -> bool,
    tell: impl FnMut(Line, A::Outcome, ListProgress) -> bool,
) -> Result<ListProgress, ListError> {
    let mut scheduler = Scheduler {
        asker,
        order,
        lanes: HashMap::new(),
        ready: VecDeque::new(),
        waiting: 0,
        running: JoinSet::new(),
        failed: Vec::new(),
        repeated: HashSet::new(),
        held: BTreeMap::new(),
        next: 0,
        tally: ListProgress::default(),
        tell,
        wanted: true,
    };
    tokio::task::LocalSet::new()
        .run_until(scheduler.serve(lines, skip))
        .await
}

struct Scheduler<A: LookupService, T> {
    asker: Rc<A>,
    order: ListOptions,
    lanes: HashMap<Rc<str>, ServerQueue>,
    /// Lanes that can start a lookup.
    ready: VecDeque<Rc<str>>,
    waiting: usize,
    running: JoinSet<(Rc<str>, Line, A::Outcome)>,
    /// Entries to repeat.
    failed: Vec<Line>,
    /// The positions of entries that are being repeated.
    repeated: HashSet<u64>,
    /// Results that wait for results of earlier entries; `None` for an entry that an earlier run
    /// has reported.
    held: BTreeMap<u64, Option<(Line, A::Outcome)>>,
    next: u64,
    tally: ListProgress,
    tell: T,
    wanted: bool,
}

#[derive(Default)]
struct ServerQueue {
    /// The waiting queries as text, which takes less memory than parsed queries.
    waiting: VecDeque<Line>,
    running: usize,
}

impl<A: LookupService, T: FnMut(Line, A::Outcome, ListProgress) -> bool> Scheduler<A, T> {
    async fn serve(
        &mut self,
        mut lines: Lines,
        skip: impl Fn(u64) -> bool,
    ) -> Result<ListProgress, ListError> {
        let mut trouble = None;
        while self.wanted {
            let may_read = !self.tally.whole && self.has_room();
            if !may_read && self.running.is_empty() && !self.repeat() {
                break;
            }
            tokio::select! {
                // Queries that are taken together can be sent together.
                batch = lines.recv(), if may_read => match batch {
                    None => self.tally.whole = true,
                    Some(Ok(batch)) => {
                        for entry in batch {
                            if skip(entry.place) {
                                self.pass(&entry);
                            } else {
                                self.admit(entry);
                            }
                        }
                    }
                    Some(Err(error)) => {
                        trouble = Some(error);
                        self.tally.whole = true;
                    }
                },
                Some(done) = self.running.join_next(), if !self.running.is_empty() => match done {
                    Ok((lane, entry, outcome)) => self.finish(&lane, entry, outcome),
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => {}
                },
            }
            self.start();
        }
        self.running.abort_all();
        trouble.map_or(Ok(self.tally), Err)
    }

    fn has_room(&self) -> bool {
        let near = !self.order.ordered || self.tally.read < self.next + MAX_POSITIONS_AHEAD;
        near && self.waiting + self.failed.len() < MAX_WAITING
    }

    /// Skips an entry that an earlier run has reported.
    fn pass(&mut self, entry: &Line) {
        self.tally.read += 1;
        if self.order.ordered {
            self.held.insert(entry.place, None);
            self.tell_held();
        }
    }

    fn admit(&mut self, entry: Line) {
        self.tally.read += 1;
        self.queue(entry);
    }

    /// Queues failed entries once more. Returns whether there were any.
    fn repeat(&mut self) -> bool {
        let failed = std::mem::take(&mut self.failed);
        let is_any = !failed.is_empty();
        for entry in failed {
            self.repeated.insert(entry.place);
            self.queue(entry);
        }
        self.start();
        is_any
    }

    fn queue(&mut self, entry: Line) {
        let query = match self.asker.read(&entry.text) {
            Ok(query) => query,
            Err(outcome) => return self.deliver(entry, outcome),
        };
        let name = if self.order.serial {
            Rc::from("")
        } else {
            self.asker.lane(&query)
        };
        let lane = self.lanes.entry(name.clone()).or_default();
        // `ready` has one entry for each lookup that can start.
        if lane.running + lane.waiting.len() < self.order.at_once.max(1) {
            self.ready.push_back(name);
        }
        lane.waiting.push_back(entry);
        self.waiting += 1;
    }

    fn start(&mut self) {
        let most = if self.order.serial { 1 } else { MAX_RUNNING };
        while self.running.len() < most {
            let Some(name) = self.ready.pop_front() else {
                break;
            };
            let Some(lane) = self.lanes.get_mut(&name) else {
                continue;
            };
            let Some(entry) = lane.waiting.pop_front() else {
                continue;
            };
            lane.running += 1;
            self.waiting -= 1;
            let query = match self.asker.read(&entry.text) {
                Ok(query) => query,
                Err(outcome) => {
                    self.finish(&name, entry, outcome);
                    continue;
                }
            };
            let asker = self.asker.clone();
            self.running.spawn_local(async move {
                let outcome = asker.ask(query).await;
                (name, entry, outcome)
            });
        }
        self.tally.running = self.running.len();
        self.tally.lanes = self.lanes.len();
    }

    fn finish(&mut self, name: &Rc<str>, entry: Line, outcome: A::Outcome) {
        if let Some(lane) = self.lanes.get_mut(name) {
            lane.running -= 1;
            if !lane.waiting.is_empty() {
                self.ready.push_back(name.clone());
            } else if lane.running == 0 {
                self.lanes.remove(name);
            }
        }
        self.tally.running = self.running.len();
        let repeats = self.order.retries && !self.repeated.remove(&entry.place);
        if repeats && self.asker.may_pass(&outcome) {
            self.failed.push(entry);
        } else {
            self.deliver(entry, outcome);
        }
    }

    fn deliver(&mut self, entry: Line, outcome: A::Outcome) {
        if self.order.ordered {
            self.held.insert(entry.place, Some((entry, outcome)));
            self.tell_held();
        } else {
            self.tell_one(entry, outcome);
        }
    }

    fn tell_held(&mut self) {
        while let Some(held) = self.held.remove(&self.next) {
            self.next += 1;
            if let Some((entry, outcome)) = held {
                self.tell_one(entry, outcome);
            }
        }
    }

    fn tell_one(&mut self, entry: Line, outcome: A::Outcome) {
        if self.wanted {
            self.tally.told += 1;
            self.wanted = (self.tell)(entry, outcome, self.tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use super::*;

    /// A word is `LANE:MS`; its lookup takes that many milliseconds.
    #[derive(Default)]
    struct Sleeper {
        running: RefCell<HashMap<String, (usize, usize)>>,
        most: Cell<usize>,
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

        async fn ask(&self, (lane, ms): Self::Query) -> String {
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
    async fn a_long_list_is_processed_completely() {
        let asker: Rc<Sleeper> = Rc::default();
        let list = (0..50_000).map(|n| format!("{}:0", n % 7)).collect();
        assert_eq!(run(list, order(100), &asker).await.len(), 50_000);
        assert!(asker.most.get() <= MAX_RUNNING);
    }
}
