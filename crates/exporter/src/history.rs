//! The last probes and their logs, for the page and for `/logs`.

use std::collections::VecDeque;

/// One finished probe.
#[derive(Debug, Clone)]
pub(crate) struct PastProbe {
    pub(crate) id: u64,
    pub(crate) module: String,
    pub(crate) target: String,
    pub(crate) success: bool,
    /// The text that `debug=true` shows.
    pub(crate) told: Box<str>,
}

/// The last probes, and a second list of failed ones, because successful ones would push them out.
#[derive(Debug)]
pub(crate) struct History {
    all: VecDeque<PastProbe>,
    failed: VecDeque<PastProbe>,
    limit: usize,
    next: u64,
}

impl History {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            all: VecDeque::new(),
            failed: VecDeque::new(),
            limit,
            next: 1,
        }
    }

    pub(crate) fn add(&mut self, module: &str, target: &str, success: bool, told: String) {
        let past = PastProbe {
            id: self.next,
            module: module.to_owned(),
            target: target.to_owned(),
            success,
            told: told.into_boxed_str(),
        };
        self.next += 1;
        self.all.push_back(past);
        while self.all.len() > self.limit {
            let oldest = self.all.pop_front().filter(|past| !past.success);
            self.failed.extend(oldest);
        }
        while self.failed.len() > self.limit {
            self.failed.pop_front();
        }
    }

    /// The latest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = &PastProbe> {
        self.all.iter().rev().chain(self.failed.iter().rev())
    }

    /// The last probe of a target, by this module or by any.
    pub(crate) fn last(&self, target: &str, module: Option<&str>) -> Option<&PastProbe> {
        let fits = |past: &&PastProbe| {
            past.target == target && module.is_none_or(|module| past.module == module)
        };
        self.latest().find(fits)
    }

    pub(crate) fn get(&self, id: u64) -> Option<&PastProbe> {
        self.latest().find(|past| past.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_stay_longer_than_successes() {
        let mut history = History::new(2);
        history.add("m", "a", false, String::new());
        for target in ["b", "c", "d"] {
            history.add("m", target, true, String::new());
        }
        let targets: Vec<&str> = history.latest().map(|past| past.target.as_str()).collect();
        assert_eq!(targets, ["d", "c", "a"]);
        assert!(history.get(1).is_some() && history.get(2).is_none());
    }
}
