//! The bucket of one origin: in this process and, if there is a file, shared by all processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::Timer;
use super::bucket::{Bucket, Limit, Take};
use crate::memory::Stamp;
use crate::memory::limits::{Limits, LimitsFile, LimitsFileError};

#[derive(Debug)]
pub(super) struct Gate {
    limit: Option<Limit>,
    quota: Option<u16>,
    queue: tokio::sync::Mutex<()>,
    /// The state that was last seen.
    bucket: Mutex<Bucket>,
    file: Option<LimitsFile>,
    /// The reason why the file failed, if it did. The file is not used again, because it is older
    /// than what this process knows.
    alone: OnceLock<String>,
    told: AtomicBool,
}

impl Gate {
    pub(super) fn new(
        limit: Option<Limit>,
        quota: Option<u16>,
        file: Option<LimitsFile>,
        now: Stamp,
    ) -> Self {
        Self {
            limit,
            quota,
            queue: tokio::sync::Mutex::default(),
            bucket: Mutex::new(Bucket::full(limit.as_ref(), now)),
            file,
            alone: OnceLock::new(),
            told: AtomicBool::new(false),
        }
    }

    /// The reason why the file is no longer used; returned once.
    pub(super) fn became_alone(&self) -> Option<&str> {
        let why = self.alone.get()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(why)
    }

    /// Waits until it is this request's turn; `None` if it need not wait.
    pub(super) async fn turn(&self, personal: bool) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let is_counted = self.limit.is_some() || (personal && self.quota.is_some());
        if is_counted {
            Some(self.queue.lock().await)
        } else {
            None
        }
    }

    /// Takes a token. If another process has locked the file, returns `None` if `wait` is set;
    /// otherwise it uses the bucket of this process only.
    pub(super) fn take(
        &self,
        personal: bool,
        timer: &dyn Timer,
        wait: bool,
    ) -> Option<(Take, Stamp)> {
        let quota = self.quota.filter(|_| personal);
        let take =
            |bucket: &mut Bucket, limit: Option<&Limit>, now| (bucket.take(limit, quota, now), now);
        // If there is no limit, each process learns only of complaints about its own queries.
        if self.limit.is_none() && quota.is_none() {
            return Some(self.change_alone(timer, take));
        }
        self.change(timer, wait, take)
    }

    pub(super) fn is_content(&self) -> bool {
        self.seen().is_content()
    }

    /// Changes the bucket that all processes share.
    pub(super) fn change<T>(
        &self,
        timer: &dyn Timer,
        wait: bool,
        change: impl Fn(&mut Bucket, Option<&Limit>, Stamp) -> T,
    ) -> Option<T> {
        let Some(file) = self.file.as_ref().filter(|_| self.alone.get().is_none()) else {
            return Some(self.change_alone(timer, change));
        };
        let limit = self.limit.as_ref();
        let result = file.change(|limits| {
            // Read while the bucket is locked, so that no state is later than the time that it is
            // compared with.
            let now = timer.now();
            let mut bucket = match limits {
                Limits::New => Bucket::full(limit, now),
                Limits::OriginFacts(numbers) => Bucket::from_numbers(&numbers, limit, now),
                Limits::Damaged => Bucket::empty(now),
            };
            let value = change(&mut bucket, limit, now);
            let numbers = bucket.numbers();
            *self.seen() = bucket;
            (value, numbers)
        });
        match result {
            Ok(value) => Some(value),
            // The decision is valid, but the other processes do not know it.
            Err(LimitsFileError::NotWritten(value, error)) => {
                self.alone.get_or_init(|| error.to_string());
                Some(value)
            }
            Err(LimitsFileError::Busy) if wait => None,
            Err(LimitsFileError::Busy) => Some(self.change_alone(timer, change)),
            Err(LimitsFileError::NotRead(error)) => {
                self.alone.get_or_init(|| error.to_string());
                Some(self.change_alone(timer, change))
            }
        }
    }

    /// Changes the bucket of this process only.
    pub(super) fn change_alone<T>(
        &self,
        timer: &dyn Timer,
        change: impl FnOnce(&mut Bucket, Option<&Limit>, Stamp) -> T,
    ) -> T {
        change(&mut self.seen(), self.limit.as_ref(), timer.now())
    }

    fn seen(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
