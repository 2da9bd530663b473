//! Events that have happened but were not polled yet.

use std::collections::VecDeque;

use crate::Event;

/// The largest number of minor events that wait to be polled.
const MAX_WAITING: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        // A peer can cause any number of these.
        let is_minor = matches!(event, Event::NewToken(_) | Event::PathChanged(_));
        if !is_minor || self.0.len() < MAX_WAITING {
            self.0.push_back(event);
        }
    }

    pub(super) fn poll(&mut self) -> Option<Event> {
        self.0.pop_front()
    }
}
