//! Limits how often a server is asked: a token bucket for each origin, whose rate is halved when
//! the server complains, shared between processes.
//!
//! [`Bucket`] decides, given the time; [`Rules`] contain the limits of each server; this file
//! waits. Tasks of one process take turns in order of arrival; processes share the origin's file in
//! the memory's directory. The client decides which queries are repeated, and what to tell users.

mod bucket;
mod gate;
mod retry_after;
mod rules;
mod time;

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roundtrip_model::Random;

pub use bucket::{Bucket, Limit, MAX_PAUSE, Take};
pub use retry_after::retry_after;
pub use rules::{PublishedLimits, RateError, Rules};
pub use time::{SystemTimer, Timer};

use crate::memory::{Authority, Memory, Stamp};
use gate::Gate;

/// A wait is re-examined after this time, because the clock could have been set, or another process
/// could have received a complaint.
const MAX_NAP: Duration = Duration::from_secs(5);
/// The pause between attempts to lock a file; short, because locks are held for microseconds.
const LOCK_NAP: Duration = Duration::from_millis(1);
/// After this many pauses, the process that holds the lock must have been stopped, and this one
/// continues without it.
const LOCK_NAPS: u32 = 100;

/// Grants permission to ask servers, within their limits.
#[derive(Debug)]
pub struct RateLimiter {
    rules: Rules,
    memory: Arc<Memory>,
    timer: Arc<dyn Timer>,
    gates: Mutex<HashMap<Authority, Arc<Gate>>>,
    jitter: Mutex<Random>,
}

/// Permission to ask once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    pub origin: Authority,
    pub at: Stamp,
    /// The time that the caller waited for this permission.
    pub waited: Duration,
}

/// The reason why a server is not asked now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateLimitError {
    #[error(
        "{origin} asked for a pause that ends in {} s; try again then, or wait for it with --patience",
        .left.as_secs_f64().ceil()
    )]
    Paused {
        origin: Authority,
        until: Stamp,
        left: Duration,
    },
    #[error(
        "{origin} gives out personal data {quota} times in 24 hours, and that limit is reached; try again in {} min",
        .left.as_secs().div_ceil(60)
    )]
    QuotaSpent {
        origin: Authority,
        quota: u16,
        until: Stamp,
        left: Duration,
    },
}

/// The action after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server did not complain.
    Content,
    /// The server complained; the query may be asked again, after waiting in
    /// [`RateLimiter::acquire`].
    AskAgain { until: Stamp },
    /// The server complained, and this query has been repeated often enough.
    GiveUp {
        origin: Authority,
        status: u16,
        asked: u32,
    },
}

impl RateLimiter {
    /// `seed` determines the jitter of pauses.
    pub fn new(rules: Rules, memory: Arc<Memory>, timer: Arc<dyn Timer>, seed: u64) -> Self {
        Self {
            rules,
            memory,
            timer,
            gates: Mutex::default(),
            jitter: Mutex::new(Random::seeded(seed)),
        }
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Waits until `origin` may be asked once. `personal` means that the answer is a data set about
    /// a person or a role, which some registries count.
    pub async fn acquire(
        &self,
        origin: &Authority,
        personal: bool,
    ) -> Result<Permit, RateLimitError> {
        let gate = self.gate(origin);
        let came = self.timer.now();
        // First come, first served: tokio's mutex is fair.
        let turn = gate.turn(personal).await;
        let mut busy = 0;
        let result = loop {
            let Some((take, now)) = gate.take(personal, &*self.timer, busy < LOCK_NAPS) else {
                busy += 1;
                self.timer.sleep(LOCK_NAP).await;
                continue;
            };
            self.tell_if_alone(&gate, origin);
            match self.judge(take, origin, came, now) {
                ControlFlow::Break(result) => break result,
                ControlFlow::Continue(wait) => self.timer.sleep(wait.min(MAX_NAP)).await,
            }
        };
        drop(turn);
        result
    }

    /// Returns permission, a refusal, or the time until which to wait.
    fn judge(
        &self,
        take: Take,
        origin: &Authority,
        came: Stamp,
        now: Stamp,
    ) -> ControlFlow<Result<Permit, RateLimitError>, Duration> {
        let origin = origin.clone();
        ControlFlow::Break(match take {
            Take::Now => Ok(Permit {
                origin,
                at: now,
                waited: now.since(came),
            }),
            Take::Paused(until) if until.since(now) > self.rules.patience => {
                Err(RateLimitError::Paused {
                    origin,
                    until,
                    left: until.since(now),
                })
            }
            Take::Spent { quota, until } => Err(RateLimitError::QuotaSpent {
                origin,
                quota,
                until,
                left: until.since(now),
            }),
            Take::At(until) | Take::Paused(until) => {
                return ControlFlow::Continue(until.since(now));
            }
        })
    }

    fn tell_if_alone(&self, gate: &Gate, origin: &Authority) {
        if let Some(why) = gate.became_alone() {
            self.memory.note(format!(
                "the rate limit of {origin} is not shared with other processes: its file cannot be used ({why})"
            ));
        }
    }

    /// Learns from an answer: its status, its `Retry-After` field, and the number of times that
    /// this query has been sent.
    pub async fn heard(
        &self,
        permit: &Permit,
        status: u16,
        retry_after_field: Option<&[u8]>,
        asked: u32,
    ) -> Verdict {
        let gate = self.gate(&permit.origin);
        // RFC 6585 §4, RFC 9110 §15.6.4.
        if !matches!(status, 429 | 503) {
            if status < 500 && !gate.is_content() {
                self.change(&gate, |bucket, _, _| bucket.content()).await;
            }
            return Verdict::Content;
        }
        let jitter = {
            let mut random = self.jitter.lock().unwrap_or_else(PoisonError::into_inner);
            random.unit()
        };
        let asked_at = permit.at;
        let until = self
            .change(&gate, |bucket, limit, now| {
                let pause = retry_after_field.and_then(|field| retry_after(field, now));
                bucket.complain(limit, now, asked_at, pause, jitter)
            })
            .await;
        if asked > self.rules.asked_again {
            return Verdict::GiveUp {
                origin: permit.origin.clone(),
                status,
                asked,
            };
        }
        Verdict::AskAgain { until }
    }

    /// Changes the shared bucket; if its file stays locked for too long, changes only this
    /// process's bucket.
    async fn change<T>(
        &self,
        gate: &Gate,
        change: impl Fn(&mut Bucket, Option<&Limit>, Stamp) -> T,
    ) -> T {
        for _ in 0..LOCK_NAPS {
            if let Some(value) = gate.change(&*self.timer, true, &change) {
                return value;
            }
            self.timer.sleep(LOCK_NAP).await;
        }
        gate.change_alone(&*self.timer, change)
    }

    fn gate(&self, origin: &Authority) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(origin) {
            return Arc::clone(gate);
        }
        let gate = Gate::new(
            self.rules.limit(origin),
            self.rules.personal(origin),
            self.memory.limits(origin),
            self.timer.now(),
        );
        let gate = Arc::new(gate);
        gates.insert(origin.clone(), Arc::clone(&gate));
        gate
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content => f.write_str("the server did not complain"),
            Self::AskAgain { .. } => f.write_str("the server asked for a pause"),
            Self::GiveUp {
                origin,
                status,
                asked,
            } => write!(
                f,
                "{origin} answered {status} to each of {asked} attempts; use a lower rate with --rate {}=…",
                origin.host()
            ),
        }
    }
}

#[cfg(test)]
mod tests;
