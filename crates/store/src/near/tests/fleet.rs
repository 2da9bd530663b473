//! A fleet in virtual time: a thousand near caches before one store, over connections. Each has a
//! delay, can be cut off, and ends when the server is killed. Everything follows from a number, so
//! a failure repeats. `bench/fleet --seeds N` plays more of them. Times are in milliseconds.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use roundtrip_model::Random;
use tokio::task::spawn_local;

use super::*;
use crate::Store;

const REPLICAS: usize = 1000;
const SESSIONS: usize = 40;
/// The number of lookups by each replica.
const LOOKUPS: usize = 12;
/// The time in which everything happens; afterwards all connections are good.
const LENGTH: u64 = 30_000;
const MAX_DELAY: u64 = 40;
const HEARTBEAT: u64 = 1000;
const ANSWER: u64 = 1000;
/// The longest time in which a connection that was cut off is not noticed.
const UNNOTICED: u64 = HEARTBEAT + ANSWER;
const PAUSE: u64 = 50;
/// Messages of a connection arrive in order, at most one in a millisecond.
const QUEUE: u64 = 100;

type Span = (u64, u64);

/// The store, and all that happens to it.
struct World {
    begun: Instant,
    /// When each session is revoked; `None` if it never is.
    revocations: Vec<Option<u64>>,
    /// When sessions are stored again unchanged.
    prolongations: Vec<(u64, usize)>,
    /// The times during which the server is killed.
    outages: Vec<Span>,
    grace: u64,
    links: RefCell<Vec<Rc<Link>>>,
    /// The connections that are open for sessions.
    holding: RefCell<JoinSet<()>>,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    admitted: Cell<u64>,
    /// The requests that were admitted after their session was revoked, within the bound.
    late: Cell<u64>,
    refused: Cell<u64>,
    failed: Cell<u64>,
    /// The number of connections that ended because their session was revoked.
    ended: Cell<u64>,
}

fn count(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

/// One replica's connection to the store.
struct Link {
    world: Rc<World>,
    delay: u64,
    /// The spans during which nothing passes. What would have arrived in a short one arrives after
    /// it.
    cuts: Vec<Span>,
    /// How long a cut lasts before it is noticed, and the connection ends.
    notices_after: u64,
    open: Cell<bool>,
    /// The number of the connection.
    number: Cell<u64>,
    /// When the last message arrives.
    last: Cell<u64>,
    changes: RefCell<VecDeque<Change>>,
    came: Notify,
    ended: Notify,
}

fn draw(random: &mut Random, below: u64) -> u64 {
    random.next_u64() % below
}

/// Draws some spans of up to three seconds. Spans that overlap, or between which no message
/// arrives, become one.
fn spans(random: &mut Random, most: u64) -> Vec<Span> {
    let count = draw(random, most + 1);
    let mut span = || {
        let from = draw(random, LENGTH);
        (from, from + 1 + draw(random, 3000))
    };
    let mut drawn: Vec<Span> = (0..count).map(|_| span()).collect();
    drawn.sort_unstable();
    let mut spans: Vec<Span> = Vec::new();
    for (from, to) in drawn {
        match spans.last_mut() {
            Some(last) if from <= last.1 + MAX_DELAY => last.1 = last.1.max(to),
            _ => spans.push((from, to)),
        }
    }
    spans
}

fn sid(number: usize) -> String {
    format!("s{number}")
}

impl World {
    fn new(random: &mut Random) -> Self {
        let outages = spans(random, 2);
        let mut time = || {
            let at = draw(random, LENGTH);
            // A server that is down revokes nothing.
            let down = outages.iter().find(|(from, to)| (*from..*to).contains(&at));
            down.map_or(at, |(_, to)| to + MAX_DELAY)
        };
        let revocation = |number| (number % 2 == 0).then(&mut time);
        let revocations = (0..SESSIONS).map(revocation).collect();
        let prolongations = (0..SESSIONS / 4)
            .map(|number| (time(), 3 * number))
            .collect();
        Self {
            begun: Instant::now(),
            revocations,
            prolongations,
            outages,
            grace: 5000 * draw(random, 2),
            links: RefCell::default(),
            holding: RefCell::default(),
            tally: Tally::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap()
    }

    async fn at(&self, time: u64) {
        sleep_until(self.begun + Duration::from_millis(time)).await;
    }

    fn has(&self, session: usize) -> bool {
        self.revocations[session].is_none_or(|at| self.now() < at)
    }

    fn is_up(&self, time: u64) -> bool {
        !self
            .outages
            .iter()
            .any(|(from, to)| (*from..*to).contains(&time))
    }

    /// Revokes and prolongs sessions. Each change is reported to those that are connected.
    async fn change_sessions(self: Rc<Self>) {
        let revocations = self.revocations.iter().enumerate();
        let mut changes: Vec<(u64, usize)> = revocations
            .filter_map(|(session, at)| Some(((*at)?, session)))
            .chain(self.prolongations.iter().copied())
            .collect();
        changes.sort_unstable();
        for (time, session) in changes {
            self.at(time).await;
            for link in &*self.links.borrow() {
                link.push(sid(session));
            }
        }
    }
}

impl Link {
    fn new(world: &Rc<World>, random: &mut Random) -> Self {
        Self {
            world: world.clone(),
            delay: 1 + draw(random, MAX_DELAY),
            cuts: spans(random, 2),
            notices_after: ANSWER + draw(random, HEARTBEAT + 1),
            open: Cell::new(true),
            number: Cell::new(0),
            last: Cell::new(0),
            changes: RefCell::default(),
            came: Notify::new(),
            ended: Notify::new(),
        }
    }

    /// When a message that is sent now arrives; `None` if it is lost.
    fn arrival(&self) -> Option<u64> {
        let at = self.world.now() + self.delay;
        match self
            .cuts
            .iter()
            .find(|(from, to)| (*from..*to).contains(&at))
        {
            None => Some(at),
            Some((from, to)) if to - from < self.notices_after => Some(to + self.delay),
            Some(_) => None,
        }
    }

    /// The arrival time of a message, behind all earlier messages from the server.
    fn arrival_in_order(&self) -> Option<u64> {
        let at = self.arrival()?.max(self.last.get() + 1);
        self.last.set(at);
        Some(at)
    }

    fn say(&self, change: Change) {
        self.changes.borrow_mut().push_back(change);
        self.came.notify_one();
    }

    fn is_same(&self, number: u64) -> bool {
        self.open.get() && self.number.get() == number
    }

    fn lose(&self, number: u64) {
        if self.is_same(number) {
            self.open.set(false);
            self.changes.borrow_mut().clear();
            self.say(Change::Lost(StorePart::Whole));
            self.ended.notify_one();
        }
    }

    fn push(self: &Rc<Self>, sid: String) {
        let (link, number) = (self.clone(), self.number.get());
        let Some(at) = self.arrival_in_order().filter(|_| self.open.get()) else {
            return;
        };
        spawn_local(async move {
            link.world.at(at).await;
            if link.is_same(number) {
                link.say(Change::Touched(sid));
            }
        });
    }

    /// Ends the connection when it must, and opens it again.
    async fn tend(self: Rc<Self>) {
        let world = &self.world;
        let cuts = self.cuts.iter();
        let noticed = cuts
            .filter(|(from, to)| to - from >= self.notices_after)
            .map(|(from, _)| from + self.notices_after);
        let killed = world.outages.iter().map(|(from, _)| from + self.delay);
        let ends: Vec<u64> = noticed.chain(killed).collect();
        loop {
            if self.open.get() {
                let now = world.now();
                let next = ends.iter().copied().filter(|end| *end > now).min();
                tokio::select! {
                    () = world.at(next.unwrap_or_default()), if next.is_some() => {
                        self.lose(self.number.get());
                    }
                    () = self.ended.notified() => {}
                }
                continue;
            }
            sleep(Duration::from_millis(PAUSE)).await;
            let there = async {
                world.at(self.arrival()?).await;
                if !world.is_up(world.now()) {
                    return None;
                }
                world.at(self.arrival()?).await;
                world.is_up(world.now()).then_some(())
            };
            if there.await.is_some() {
                self.number.set(self.number.get() + 1);
                self.last.set(world.now());
                self.open.set(true);
                self.say(Change::Back);
            }
        }
    }

    async fn ask(&self, session: usize) -> Option<bool> {
        let number = self.number.get();
        if !self.open.get() {
            return None;
        }
        let deadline = self.world.now() + ANSWER;
        let answered = async {
            self.world.at(self.arrival()?).await;
            if !self.world.is_up(self.world.now()) || !self.is_same(number) {
                return None;
            }
            let there = self.world.has(session);
            self.world.at(self.arrival_in_order()?).await;
            self.is_same(number).then_some(there)
        };
        let answered = async {
            match answered.await {
                Some(there) => there,
                None => std::future::pending().await,
            }
        };
        // Nobody waits for an answer over a connection that has ended.
        let ended = async {
            while self.is_same(number) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = self.world.begun + Duration::from_millis(deadline);
        tokio::select! {
            there = answered => Some(there),
            () = ended => None,
            () = sleep_until(limit) => {
                self.lose(number);
                None
            }
        }
    }

    /// Whether something disturbed the connection in this time, or shortly before.
    fn is_disturbed(&self, from: u64, to: u64) -> bool {
        let mut all = self.cuts.iter().chain(&self.world.outages);
        all.any(|span| span.0 <= to && from <= span.1 + UNNOTICED)
    }

    /// How long after its revocation a session may still be admitted at `time`.
    fn bound(&self, revoked: u64, time: u64) -> u64 {
        if self.is_disturbed(revoked, time) {
            UNNOTICED + self.world.grace + 2 * MAX_DELAY + PAUSE + QUEUE
        } else {
            self.delay + QUEUE
        }
    }
}

impl Store for Rc<Link> {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        let there = self.ask(sid[1..].parse().unwrap()).await;
        let there = there.ok_or(StoreError::TimedOut { what: "answer" })?;
        Ok(there.then(|| Record::new("YTpi", None)))
    }

    async fn put(&self, _: &str, _: &Record) -> Result<(), StoreError> {
        Ok(())
    }

    async fn replace(&self, _: &str, _: &[u8], _: &Record) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn revoke(&self, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn list(&self, _: Option<&str>, _: usize) -> Result<Page, StoreError> {
        Ok(Page::default())
    }
}

impl Source for Rc<Link> {
    fn next_change(&self) -> Option<Change> {
        self.changes.borrow_mut().pop_front()
    }

    async fn changed(&self) {
        while self.changes.borrow().is_empty() {
            self.came.notified().await;
        }
    }

    fn is_watching(&self, _: Option<&str>) -> bool {
        self.open.get()
    }

    fn is_down(&self, _: Option<&str>) -> bool {
        !self.open.get()
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// What a replica does: it looks up sessions, and keeps something open for some of them.
async fn serve(near: Rc<Near<Rc<Link>>>, mut lookups: Vec<(u64, usize, bool)>, told: Rc<str>) {
    lookups.sort_unstable();
    let link = near.store().clone();
    let world = &link.world;
    for (time, session, holds) in lookups {
        world.at(time).await;
        let began = world.now();
        let revoked = world.revocations[session];
        let told = format!("{told}, s{session} revoked {revoked:?}, at {began}");
        match near.get(&sid(session)).await {
            Ok(Some(found)) => {
                let at = revoked.unwrap_or(u64::MAX);
                let late = began.saturating_sub(at);
                assert!(late <= link.bound(at, began), "{told}: admitted");
                count(&world.tally.admitted, 1);
                count(&world.tally.late, u64::from(late > 0));
                if holds {
                    let held = hold(link.clone(), found.revoked, revoked, began, told);
                    world.holding.borrow_mut().spawn_local(held);
                }
            }
            Ok(None) => {
                assert!(!world.has(session), "{told}: refused");
                count(&world.tally.refused, 1);
            }
            Err(_) => {
                assert!(link.is_disturbed(began, world.now()), "{told}: an error");
                count(&world.tally.failed, 1);
            }
        }
    }
}

/// Whatever is open for a session ends soon after its revocation; otherwise it ends only if the
/// store could not be reached.
async fn hold(link: Rc<Link>, held: Revoked, revoked: Option<u64>, began: u64, told: String) {
    let world = &link.world;
    if let Some(at) = revoked {
        let end = at.max(began) + link.bound(at, at.max(began) + UNNOTICED);
        world.at(end).await;
        assert!(held.is_fired(), "{told}: open");
        count(&world.tally.ended, 1);
    } else {
        held.fired().await;
        assert!(link.is_disturbed(began, world.now()), "{told}: ended");
    }
}

async fn play(number: u64, sum: &Tally) {
    let mut random = Random::seeded(number);
    let world = Rc::new(World::new(&mut random));
    let settings = NearSettings {
        grace: Duration::from_millis(world.grace),
        ..NearSettings::default()
    };
    let mut serving = JoinSet::new();
    for replica in 0..REPLICAS {
        let link = Rc::new(Link::new(&world, &mut random));
        world.links.borrow_mut().push(link.clone());
        spawn_local(link.clone().tend());
        let near = Rc::new(Near::new(link, settings));
        spawn_local(near.clone().run());
        let mut lookup = || {
            let time = draw(&mut random, LENGTH + 5000);
            (time, random.below(SESSIONS), draw(&mut random, 4) == 0)
        };
        let lookups = (0..LOOKUPS).map(|_| lookup()).collect();
        let told = format!("seed {number}, replica {replica}").into();
        serving.spawn_local(serve(near, lookups, told));
    }
    let changing = spawn_local(world.clone().change_sessions());
    while let Some(served) = serving.join_next().await {
        served.unwrap();
    }
    changing.await.unwrap();
    world.at(LENGTH + 20_000).await;
    // They refer to each other.
    world.links.take();
    let mut holding = world.holding.take();
    while let Some(held) = holding.try_join_next() {
        held.unwrap();
    }
    let of_this = &world.tally;
    for (sum, cell) in sum.cells().into_iter().zip(of_this.cells()) {
        count(sum, cell.get());
    }
}

impl Tally {
    fn cells(&self) -> [&Cell<u64>; 5] {
        [
            &self.admitted,
            &self.late,
            &self.refused,
            &self.failed,
            &self.ended,
        ]
    }
}

#[test]
fn a_thousand_replicas_admit_no_revoked_session_for_longer_than_is_said() {
    let variable = |name| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    let first = variable("ROUNDTRIP_FIRST_SEED").unwrap_or(0);
    let seeds = variable("ROUNDTRIP_SEEDS").unwrap_or(2);
    let sum = Tally::default();
    for number in first..first + seeds {
        local(play(number, &sum));
    }
    let [admitted, late, refused, failed, ended] = sum.cells().map(Cell::get);
    println!(
        "{seeds} seeds from {first}: {admitted} lookups admitted, {late} of them after the revocation but within the bound; \
         {refused} refused, {failed} failed; {ended} streams of revoked sessions ended in time"
    );
    assert!(admitted > seeds * 1000 && refused > seeds * 100 && ended > seeds * 100);
}
