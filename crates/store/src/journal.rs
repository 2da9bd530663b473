//! The latest changes in this process's store; each thread reads those that it has not seen yet.

use std::collections::VecDeque;

use crate::Change;

/// A thread that has missed more changes than this must forget everything.
pub(crate) const MAX_ENTRIES: usize = 1024;

/// Changes are numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    latest: u64,
    last: VecDeque<String>,
}

impl Journal {
    /// Adds a change, and returns its number.
    pub(crate) fn write(&mut self, sid: &str) -> u64 {
        if self.last.len() >= MAX_ENTRIES {
            self.last.pop_front();
        }
        self.last.push_back(sid.into());
        self.latest += 1;
        self.latest
    }

    /// The changes after `seen`, and the latest number.
    pub(crate) fn since(&self, seen: u64) -> (u64, Vec<Change>) {
        let missed = usize::try_from(self.latest.saturating_sub(seen)).unwrap_or(usize::MAX);
        if missed > self.last.len() {
            return (self.latest, vec![Change::Everything]);
        }
        let from = self.last.len() - missed;
        let touched = self.last.iter().skip(from).cloned();
        (self.latest, touched.map(Change::Touched).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_learns_what_it_missed() {
        let mut journal = Journal::default();
        assert_eq!(journal.since(0), (0, vec![]));
        journal.write("a");
        journal.write("b");
        assert_eq!(journal.since(1), (2, vec![Change::Touched("b".into())]));
        for _ in 0..MAX_ENTRIES {
            journal.write("c");
        }
        assert_eq!(journal.since(1).1, [Change::Everything]);
        assert_eq!(journal.since(2).1.len(), MAX_ENTRIES);
    }
}
