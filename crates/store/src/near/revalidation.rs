//! Sessions that were known but could have changed: held ones are asked for again, and all are
//! usable during the grace if the store cannot be asked.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::cache::Entry;

pub(super) struct Revalidations {
    grace: Duration,
    sessions: HashMap<Rc<str>, Revalidation>,
    to_ask: VecDeque<Rc<str>>,
    /// The earliest end of a grace, or an earlier time.
    first_end: Option<Instant>,
    /// The number of sessions beyond which those that are not held are removed.
    most: usize,
    bound: usize,
}

pub(super) struct Revalidation {
    pub(super) entry: Entry,
    /// The last time when the session was known to be valid.
    since: Instant,
    /// A change of this session was reported, so grace does not apply.
    touched: bool,
}

impl Revalidation {
    pub(super) fn new(entry: Entry) -> Self {
        Self {
            entry,
            since: Instant::now(),
            touched: false,
        }
    }
}

impl Revalidations {
    pub(super) fn new(grace: Duration, most: usize) -> Self {
        Self {
            grace,
            most,
            bound: most,
            sessions: HashMap::new(),
            to_ask: VecDeque::new(),
            first_end: None,
        }
    }

    /// Adds a session that was valid until the store stopped reporting. If it is held, it is asked
    /// for.
    pub(super) fn add(&mut self, sid: Rc<str>, entry: Entry) {
        let held = entry.revoked.is_held();
        if held {
            self.to_ask.push_back(sid.clone());
        }
        if held || !self.grace.is_zero() {
            self.add_known(sid, entry);
        }
    }

    /// Adds a session that is valid now, from a store that reports no changes.
    pub(super) fn add_known(&mut self, sid: Rc<str>, entry: Entry) {
        self.put_back(sid, Revalidation::new(entry));
    }

    pub(super) fn add_touched(&mut self, sid: Rc<str>, entry: Entry) {
        self.to_ask.push_back(sid.clone());
        let doubt = Revalidation {
            touched: true,
            ..Revalidation::new(entry)
        };
        self.put_back(sid, doubt);
    }

    pub(super) fn put_back(&mut self, sid: Rc<str>, doubt: Revalidation) {
        if self.sessions.len() >= self.bound {
            self.tidy();
        }
        if let Some(end) = self.end(&doubt) {
            self.first_end = Some(self.first_end.map_or(end, |first| first.min(end)));
        }
        self.sessions.insert(sid, doubt);
    }

    /// Marks a session that was doubtful already as changed.
    pub(super) fn touched(&mut self, sid: &str) {
        if let Some((sid, doubt)) = self.sessions.get_key_value(sid)
            && doubt.entry.revoked.is_held()
        {
            self.to_ask.push_back(sid.clone());
        }
        if let Some(doubt) = self.sessions.get_mut(sid) {
            doubt.touched = true;
        }
    }

    /// Marks all sessions as changed.
    pub(super) fn touch_all(&mut self) {
        for doubt in self.sessions.values_mut() {
            doubt.touched = true;
        }
        self.ask_all();
    }

    /// Asks for the sessions that are held.
    pub(super) fn ask_all(&mut self) {
        let held = self
            .sessions
            .iter()
            .filter(|(_, d)| d.entry.revoked.is_held());
        self.to_ask = held.map(|(sid, _)| sid.clone()).collect();
    }

    pub(super) fn has_to_ask(&self) -> bool {
        !self.to_ask.is_empty()
    }

    pub(super) fn next_to_ask(&mut self) -> Option<Rc<str>> {
        while let Some(sid) = self.to_ask.pop_front() {
            if self.sessions.contains_key(&sid) {
                return Some(sid);
            }
        }
        None
    }

    pub(super) fn take(&mut self, sid: &str) -> Option<Revalidation> {
        self.sessions.remove(sid)
    }

    pub(super) fn entry(&self, sid: &str) -> Option<&Entry> {
        self.sessions.get(sid).map(|doubt| &doubt.entry)
    }

    /// The session, if it can continue for now.
    pub(super) fn graced(&self, sid: &str) -> Option<&Entry> {
        let doubt = self.sessions.get(sid)?;
        (self.is_graced(doubt) && !doubt.entry.revoked.is_fired()).then_some(&doubt.entry)
    }

    pub(super) fn is_graced(&self, doubt: &Revalidation) -> bool {
        !doubt.touched && self.end(doubt).is_some_and(|end| end > Instant::now())
    }

    /// The time when the first grace ends, or an earlier time.
    pub(super) fn first_end(&self) -> Option<Instant> {
        self.first_end
    }

    /// Takes the sessions whose grace has ended. If there is no grace, the store is asked at once
    /// about held ones, and the answer decides.
    pub(super) fn take_ended(&mut self) -> Vec<Entry> {
        let now = Instant::now();
        if self.first_end.is_none_or(|first| first > now) {
            return Vec::new();
        }
        let grace = self.grace;
        let over =
            |doubt: &Revalidation| doubt.since.checked_add(grace).is_some_and(|end| end <= now);
        let ended = self.sessions.extract_if(|_, doubt| over(doubt));
        let ended = ended.map(|(_, doubt)| doubt.entry).collect();
        let ends = self.sessions.values().filter_map(|doubt| self.end(doubt));
        self.first_end = ends.min();
        ended
    }

    /// Removes sessions that no connection holds, which ends their grace. So at most as many remain
    /// as there are connections.
    fn tidy(&mut self) {
        self.sessions
            .retain(|_, doubt| doubt.entry.revoked.is_held());
        self.bound = self.most.max(2 * self.sessions.len());
    }

    fn end(&self, doubt: &Revalidation) -> Option<Instant> {
        if self.grace.is_zero() {
            return None;
        }
        doubt.since.checked_add(self.grace)
    }
}
