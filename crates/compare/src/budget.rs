//! How much was asked and may still be: a total, a rate, a time. What is not affordable is not begun.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::Limits;

pub(crate) struct Budget {
    limits: Limits,
    began: Instant,
    /// When the next may begin, for the rate's sake.
    next: Instant,
    sent: u32,
    /// What the sample that is under way may take.
    under_way: u32,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            began: now,
            next: now,
            sent: 0,
            under_way: 0,
        }
    }

    /// Requests that were sent so far, those that nobody measured included; of a sample that was broken off, as many as
    /// it may have sent.
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

    /// Waits until the rate allows the next sample, which takes so many requests at the most.
    pub(crate) async fn turn(&mut self, most: u32) {
        sleep_until(self.next).await;
        self.under_way = most;
    }

    /// Enters what a sample took that has just ended.
    pub(crate) fn charge(&mut self, requests: u32) {
        self.sent = self.sent.saturating_add(requests);
        self.under_way = 0;
        let began = self.next.max(self.began);
        let pause = Duration::from_secs_f64(f64::from(requests) / self.limits.rate.max(0.001));
        // Time that went by unused is not made up for by a burst.
        self.next = (began + pause).max(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn neither_more_nor_faster_than_allowed() {
        let mut budget = Budget::new(Limits {
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
