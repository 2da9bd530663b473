//! The requests that were made and may still be made: a total, a rate, a time. A sample that the
//! budget cannot cover is not begun.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::RequestLimits;

pub(crate) struct RequestBudget {
    limits: RequestLimits,
    began: Instant,
    /// When the next sample may begin, according to the rate.
    next: Instant,
    sent: u32,
    /// The largest number of requests that the current sample may take.
    under_way: u32,
}

impl RequestBudget {
    pub(crate) fn new(limits: RequestLimits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            began: now,
            next: now,
            sent: 0,
            under_way: 0,
        }
    }

    /// The requests made so far, including unmeasured ones; for a sample that was interrupted, the
    /// number it may have made.
    pub(crate) fn sent(&self) -> u32 {
        self.sent.saturating_add(self.under_way)
    }

    pub(crate) fn allows(&self, requests: u32) -> bool {
        requests <= self.limits.requests.saturating_sub(self.sent)
    }

    pub(crate) fn has_time(&self) -> bool {
        self.took() < self.limits.time
    }

    pub(crate) fn took(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until the rate allows the next sample, which takes at most `most` requests.
    pub(crate) async fn turn(&mut self, most: u32) {
        sleep_until(self.next).await;
        self.under_way = most;
    }

    /// Records the requests of a sample that has ended.
    pub(crate) fn charge(&mut self, requests: u32) {
        self.sent = self.sent.saturating_add(requests);
        self.under_way = 0;
        let began = self.next.max(self.began);
        let pause = Duration::from_secs_f64(f64::from(requests) / self.limits.rate.max(0.001));
        // Unused time is not made up for by a burst.
        self.next = (began + pause).max(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn neither_more_nor_faster_than_allowed() {
        let mut budget = RequestBudget::new(RequestLimits {
            requests: 5,
            rate: 50.0,
            time: Duration::from_mins(1),
        });
        let began = Instant::now();
        for _ in 0..2 {
            assert!(budget.allows(2));
            budget.turn(3).await;
            assert_eq!(budget.sent() % 2, 1);
            budget.charge(2);
        }
        budget.turn(0).await;
        // Four requests at fifty a second.
        assert!(began.elapsed() >= Duration::from_millis(80));
        assert_eq!(budget.sent(), 4);
        assert!(budget.allows(1) && !budget.allows(2));
    }
}
