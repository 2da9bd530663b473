//! Reports of the server that have not been taken yet: that names have changed, that everything
//! has, or what the state of the connection is.

use std::cell::RefCell;
use std::collections::VecDeque;

use roundtrip_wire::resp::Value;
use tokio::sync::Notify;

use super::session_of;
use crate::{Change, StorePart};

/// The number of changes beyond which everything is reported as changed instead.
const MAX_CHANGES: usize = 8192;

pub(super) struct Pushes {
    prefix: String,
    changes: RefCell<VecDeque<Change>>,
    came: Notify,
}

impl Pushes {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.into(),
            changes: RefCell::default(),
            came: Notify::new(),
        }
    }

    pub(super) fn next(&self) -> Option<Change> {
        self.changes.borrow_mut().pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.borrow().is_empty()
    }

    pub(super) async fn came(&self) {
        self.came.notified().await;
    }

    /// Parses `invalidate` with names, or with null when all keys were removed at once. Other
    /// pushes are ignored.
    pub(super) fn pushed(&self, items: Vec<Value>) {
        let mut items = items.into_iter();
        if items.next().as_ref().and_then(Value::bytes) != Some(b"invalidate") {
            return;
        }
        match items.next() {
            Some(Value::Array(keys)) => keys.iter().for_each(|key| self.touched(key)),
            _ => self.add(Change::Everything),
        }
    }

    fn touched(&self, key: &Value) {
        let key = key.bytes().and_then(|k| str::from_utf8(k).ok());
        // Keys that are not text, or not under the prefix, are not sessions.
        if let Some(sid) = key.and_then(|key| session_of(key, &self.prefix)) {
            self.add(Change::Touched(sid.to_owned()));
        }
    }

    pub(super) fn lost(&self, part: StorePart) {
        if part == StorePart::Whole {
            self.changes.borrow_mut().clear();
        }
        self.add(Change::Lost(part));
    }

    pub(super) fn back(&self) {
        self.add(Change::Back);
    }

    fn add(&self, change: Change) {
        let mut changes = self.changes.borrow_mut();
        if changes.len() >= MAX_CHANGES {
            // This also covers a lost connection among them: when everything is forgotten, nothing
            // remains in doubt.
            changes.clear();
            changes.push_back(Change::Everything);
        }
        changes.push_back(change);
        self.came.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    fn taken(news: &Pushes) -> Vec<Change> {
        std::iter::from_fn(|| news.next()).collect()
    }

    #[test]
    fn names_are_taken_from_pushes() {
        let news = Pushes::new("s:");
        let keys = Value::Array(vec![bulk("s:1"), bulk("t:2"), Value::Bulk(vec![0xff])]);
        news.pushed(vec![bulk("invalidate"), keys]);
        news.pushed(vec![bulk("message"), bulk("s:3")]);
        news.pushed(vec![]);
        news.pushed(vec![bulk("invalidate"), Value::Null]);
        assert_eq!(
            taken(&news),
            [Change::Touched("1".into()), Change::Everything]
        );
    }

    #[test]
    fn without_a_prefix_only_sessions_are_reported() {
        let news = Pushes::new("");
        let others = [
            "roundtrip-ticket:00",
            "roundtrip-claim:00",
            "roundtrip-index:x",
        ];
        let keys = others.into_iter().chain(["roundtrip", "1"]).map(bulk);
        news.pushed(vec![bulk("invalidate"), Value::Array(keys.collect())]);
        let touched = |sid: &str| Change::Touched(sid.into());
        assert_eq!(taken(&news), [touched("roundtrip"), touched("1")]);
    }

    #[test]
    fn a_loss_replaces_the_changes_before_it() {
        let news = Pushes::new("");
        news.touched(&bulk("1"));
        news.lost(StorePart::Whole);
        news.back();
        assert_eq!(taken(&news), [Change::Lost(StorePart::Whole), Change::Back]);
    }

    #[test]
    fn changes_that_are_never_taken_cost_bounded_memory() {
        let news = Pushes::new("");
        for _ in 0..3 * MAX_CHANGES {
            news.touched(&bulk("1"));
        }
        assert!(news.changes.borrow().len() <= MAX_CHANGES);
        assert_eq!(news.next(), Some(Change::Everything));
    }
}
