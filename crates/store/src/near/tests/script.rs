//! A scripted store.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::SystemTime;

use tokio::sync::Notify;

use crate::{Change, Page, Record, Source, Store, StoreError, StorePart};

#[derive(Default)]
pub(super) struct Script {
    pub(super) sessions: RefCell<HashMap<String, Record>>,
    pub(super) down: Cell<bool>,
    pub(super) silent: Cell<bool>,
    pub(super) gets: Cell<usize>,
    /// Whether answers wait.
    pub(super) held_back: Cell<bool>,
    pub(super) go: Notify,
    pub(super) changes: RefCell<VecDeque<Change>>,
    pub(super) came: Notify,
}

impl Script {
    pub(super) fn say(&self, change: Change) {
        self.changes.borrow_mut().push_back(change);
        self.came.notify_one();
    }

    pub(super) fn touch(&self, sid: &str) {
        self.say(Change::Touched(sid.into()));
    }

    pub(super) fn set(&self, sid: &str, credentials: &str) {
        let record = Record::new(credentials, None);
        self.sessions.borrow_mut().insert(sid.into(), record);
    }

    pub(super) fn go_down(&self) {
        self.down.set(true);
        self.say(Change::Lost(StorePart::Whole));
    }

    pub(super) fn come_back(&self) {
        self.down.set(false);
        self.say(Change::Back);
    }
}

impl Store for Rc<Script> {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        self.gets.set(self.gets.get() + 1);
        let down = || self.down.get().then(|| StoreError::down("as told"));
        if let Some(error) = down() {
            return Err(error);
        }
        let record = self.sessions.borrow().get(sid).cloned();
        if self.held_back.get() {
            self.go.notified().await;
        }
        Ok(record)
    }

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError> {
        self.sessions
            .borrow_mut()
            .insert(sid.into(), record.clone());
        Ok(())
    }

    async fn replace(&self, _: &str, _: &[u8], _: &Record) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        Ok(self.sessions.borrow_mut().remove(sid).is_some())
    }

    async fn list(&self, _: Option<&str>, _: usize) -> Result<Page, StoreError> {
        Ok(Page::default())
    }
}

impl Source for Rc<Script> {
    fn next_change(&self) -> Option<Change> {
        self.changes.borrow_mut().pop_front()
    }

    async fn changed(&self) {
        while self.changes.borrow().is_empty() {
            self.came.notified().await;
        }
    }

    fn is_watching(&self, _: Option<&str>) -> bool {
        !self.down.get() && !self.silent.get()
    }

    fn is_down(&self, _: Option<&str>) -> bool {
        self.down.get()
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}
