//! Schedules the queries of a list: each query waits in the lane of its server, each server gets as
//! many queries at once as it allows, and no server waits for another. The number of waiting
//! queries is bounded, and so are the results that wait for an earlier one, however long the list
//! is.

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
/// The largest size of the results that wait for an earlier one, in bytes of their answers. Beyond
/// it, only the lookup that they wait for is started.
const MAX_HELD_SIZE: usize = 32 << 20;

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

    /// The size of the answers in bytes.
    fn size(&self, outcome: &Self::Outcome) -> usize;
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
        held_size: 0,
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
    /// The size of the answers in `held`.
    held_size: usize,
    next: u64,
    tally: ListProgress,
    tell: T,
    wanted: bool,
}

#[derive(Default)]
struct ServerQueue {
    /// The waiting queries in the order of the list, as text, which takes less memory than parsed
    /// queries.
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
        near && !self.holds_too_much() && self.waiting + self.failed.len() < MAX_WAITING
    }

    fn holds_too_much(&self) -> bool {
        self.held_size > MAX_HELD_SIZE
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
        // Only an entry that is repeated can be before others.
        let at = lane.waiting.partition_point(|w| w.place < entry.place);
        lane.waiting.insert(at, entry);
        self.waiting += 1;
    }

    /// The lane of the next lookup to start.
    fn next_ready(&mut self) -> Option<Rc<str>> {
        if !self.holds_too_much() {
            return self.ready.pop_front();
        }
        let first = |name| self.lanes.get(name)?.waiting.front();
        let is_awaited = |name| first(name).is_some_and(|line| line.place == self.next);
        let at = self.ready.iter().position(is_awaited)?;
        self.ready.remove(at)
    }

    fn start(&mut self) {
        let most = if self.order.serial { 1 } else { MAX_RUNNING };
        while self.running.len() < most {
            let Some(name) = self.next_ready() else {
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
            self.held_size += self.asker.size(&outcome);
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
                self.held_size -= self.asker.size(&outcome);
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
mod tests;
