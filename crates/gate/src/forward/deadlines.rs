//! The deadlines of a thread's connections. Setting one only writes a number; all are checked four
//! times a second. A timer for each would cost more than judging the request.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

/// The precision of a deadline: it is late by less than this.
const TICK: Duration = Duration::from_millis(250);
const NEVER: u64 = u64::MAX;
/// The largest number of unused sets of deadlines that are kept.
const MAX_SPARE: usize = 64;

/// The deadlines of one thread.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    now: Rc<Cell<u64>>,
    waits: RefCell<Vec<Weak<Deadline>>>,
    /// Deadlines of ended connections, for reuse by new ones.
    spare: RefCell<Vec<ExchangeDeadlines>>,
}

/// The deadline of the wait that its owner is in at present.
#[derive(Debug)]
pub(crate) struct Deadline {
    now: Rc<Cell<u64>>,
    due: Cell<u64>,
    /// Ticks from the beginning of a wait to its deadline.
    ticks: Cell<u64>,
    /// Nothing is in progress, so the wait may end at any time.
    resting: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The deadlines of one exchange: for its request body and its answer.
#[derive(Debug)]
pub(crate) struct ExchangeDeadlines {
    pub(crate) up: Rc<Deadline>,
    pub(crate) down: Rc<Deadline>,
    /// The deadline of the whole exchange, if it has one.
    pub(crate) whole: Rc<Deadline>,
    /// The ticks that gate has waited for the request's body, and since when it waits now.
    waited: Cell<u64>,
    waits_since: Cell<Option<u64>>,
}

/// The error when a deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elapsed;

impl Deadlines {
    pub(crate) fn new_deadline(&self) -> Rc<Deadline> {
        let deadline = Rc::new(Deadline {
            now: self.now.clone(),
            due: Cell::new(NEVER),
            ticks: Cell::new(NEVER),
            resting: Cell::new(false),
            waker: RefCell::default(),
        });
        self.waits.borrow_mut().push(Rc::downgrade(&deadline));
        deadline
    }

    pub(crate) fn for_exchange(&self) -> ExchangeDeadlines {
        let spare = self.spare.borrow_mut().pop();
        spare.unwrap_or_else(|| ExchangeDeadlines {
            up: self.new_deadline(),
            down: self.new_deadline(),
            whole: self.new_deadline(),
            waited: Cell::new(0),
            waits_since: Cell::new(None),
        })
    }

    /// Returns deadlines that are no longer used.
    pub(crate) fn give_back(&self, deadlines: ExchangeDeadlines) {
        let mut spare = self.spare.borrow_mut();
        let all = [&deadlines.up, &deadlines.down, &deadlines.whole];
        if spare.len() < MAX_SPARE && all.iter().all(|deadline| Rc::strong_count(deadline) == 1) {
            for deadline in all {
                deadline.forget();
            }
            spare.push(deadlines);
        }
    }

    /// Checks the deadlines. This must run as long as there are connections.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let began = tokio::time::Instant::now();
        loop {
            let elapsed = ticks.tick().await - began;
            self.now.set(
                (elapsed.as_nanos() / TICK.as_nanos())
                    .try_into()
                    .unwrap_or(NEVER),
            );
            self.wake_due();
        }
    }

    /// Ends all waits of [`Deadline::at_rest`].
    pub(crate) fn wake_resting(&self) {
        for deadline in self.waits.borrow().iter().filter_map(Weak::upgrade) {
            if deadline.resting.get() {
                deadline.due.set(0);
            }
        }
        self.wake_due();
    }

    fn wake_due(&self) {
        let now = self.now.get();
        self.waits.borrow_mut().retain(|deadline| {
            let Some(deadline) = deadline.upgrade() else {
                return false;
            };
            if deadline.due.get() <= now
                && let Some(waker) = deadline.waker.borrow_mut().take()
            {
                waker.wake();
            }
            true
        });
    }
}

impl ExchangeDeadlines {
    /// Begins a new exchange, which has not waited for its client.
    pub(crate) fn begin(&self) {
        self.waited.set(0);
        self.waits_since.set(None);
    }

    /// Notes that gate waits for the request's body from now on, or no longer does.
    pub(crate) fn waits_for_client(&self, waits: bool) {
        let now = self.up.now.get();
        let since = self.waits_since.replace(waits.then_some(now));
        let more = since.map_or(0, |since| now.saturating_sub(since));
        self.waited.set(self.waited.get().saturating_add(more));
    }

    /// Whether gate waited for the request's body for most of this time.
    pub(crate) fn waited_mostly_for_client(&self, span: Duration) -> bool {
        self.waits_for_client(false);
        u128::from(self.waited.get()) * TICK.as_nanos() * 2 > span.as_nanos()
    }
}

impl Deadline {
    fn forget(&self) {
        self.due.set(NEVER);
        self.ticks.set(NEVER);
        self.resting.set(false);
        *self.waker.borrow_mut() = None;
    }

    /// Like [`Deadline::within`], but [`Deadlines::wake_resting`] may end it earlier.
    pub(crate) async fn at_rest<T>(
        &self,
        span: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        self.resting.set(true);
        let outcome = self.within(Some(span), work).await;
        self.resting.set(false);
        outcome
    }

    /// Gives the present wait its whole time again.
    pub(crate) fn restart(&self) {
        self.due
            .set(self.now.get().saturating_add(self.ticks.get()));
    }

    /// Runs `work` until the deadline. Without a span there is no deadline.
    pub(crate) async fn within<T>(
        &self,
        span: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let Some(span) = span else {
            return Ok(work.await);
        };
        let ticks = span.as_nanos().div_ceil(TICK.as_nanos());
        // One more, because the present tick has begun already.
        let ticks = u64::try_from(ticks).unwrap_or(NEVER).saturating_add(1);
        self.ticks.set(ticks);
        self.restart();
        let mut work = pin!(work);
        let outcome = poll_fn(|cx| {
            if let Poll::Ready(value) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(value));
            }
            if self.due.get() <= self.now.get() {
                return Poll::Ready(Err(Elapsed));
            }
            let mut waker = self.waker.borrow_mut();
            match &mut *waker {
                Some(known) => known.clone_from(cx.waker()),
                None => *waker = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
        .await;
        self.due.set(NEVER);
        self.ticks.set(NEVER);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    async fn with_deadlines<T>(work: impl AsyncFnOnce(&Deadlines) -> T) -> T {
        let deadlines = Deadlines::default();
        tokio::select! {
            value = work(&deadlines) => value,
            () = deadlines.run() => unreachable!("it runs forever"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_in_time_is_returned() {
        with_deadlines(async |deadlines| {
            let deadline = deadlines.new_deadline();
            for span in [None, Some(Duration::from_secs(3))] {
                let slept = deadline.within(span, sleep(Duration::from_secs(2))).await;
                assert_eq!(slept, Ok(()));
            }
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_is_kept_within_a_tick_or_two() {
        with_deadlines(async |deadlines| {
            let deadline = deadlines.new_deadline();
            for span in [1, 250, 700, 10_000].map(Duration::from_millis) {
                let began = Instant::now();
                assert_eq!(
                    deadline.within(Some(span), pending::<()>()).await,
                    Err(Elapsed)
                );
                let took = began.elapsed();
                assert!(
                    took >= span && took <= span + 2 * TICK,
                    "{span:?}: {took:?}"
                );
            }
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_resting_wait_can_be_woken() {
        with_deadlines(async |deadlines| {
            let (resting, working) = (deadlines.new_deadline(), deadlines.new_deadline());
            let span = Duration::from_secs(5);
            let began = Instant::now();
            let work = working.within(Some(span), pending::<()>());
            let rest = async {
                assert_eq!(resting.at_rest(span, pending::<()>()).await, Err(Elapsed));
                began.elapsed()
            };
            let wake_resting = async {
                sleep(Duration::from_secs(1)).await;
                deadlines.wake_resting();
            };
            let (_, rested, ()) = tokio::join!(work, rest, wake_resting);
            assert!(rested < 2 * Duration::from_secs(1), "{rested:?}");
            assert!(began.elapsed() >= span);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn posts_that_were_given_back_wait_anew() {
        with_deadlines(async |deadlines| {
            let span = Duration::from_secs(5);
            let first = deadlines.for_exchange();
            let known = Rc::as_ptr(&first.down);
            // Ends the wait early.
            let _ = timeout(TICK, first.down.at_rest(span, pending::<()>())).await;
            deadlines.give_back(first);
            let again = deadlines.for_exchange();
            assert_eq!(Rc::as_ptr(&again.down), known);
            let began = Instant::now();
            let wait = again.down.within(Some(span), pending::<()>());
            let wake_resting = async {
                sleep(Duration::from_secs(1)).await;
                deadlines.wake_resting();
            };
            let (late, ()) = tokio::join!(wait, wake_resting);
            assert_eq!(late, Err(Elapsed));
            assert!(began.elapsed() >= span, "it rests no more");
            // A future still waits with one of them.
            let held = again.whole.clone();
            deadlines.give_back(again);
            assert!(deadlines.spare.borrow().is_empty());
            drop(held);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn deadlines_that_are_gone_are_forgotten() {
        with_deadlines(async |deadlines| {
            let some: Vec<_> = (0..10).map(|_| deadlines.new_deadline()).collect();
            drop(some);
            sleep(2 * TICK).await;
            assert!(deadlines.waits.borrow().is_empty());
        })
        .await;
    }
}
