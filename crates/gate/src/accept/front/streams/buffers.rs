//! The buffers that every exchange on a stream needs; the thread's next exchange uses them again.

use crate::accept::thread::Thread;
use crate::forward::deadlines::ExchangeDeadlines;

pub(super) struct Buffers {
    pub(super) deadlines: ExchangeDeadlines,
    /// The head for the backend.
    pub(super) head: Vec<u8>,
}

impl Buffers {
    pub(super) fn take<S>(thread: &Thread<S>) -> Self {
        let mut head = Vec::new();
        thread.spare.lend(&mut head);
        Self {
            deadlines: thread.deadlines.for_exchange(),
            head,
        }
    }

    pub(super) fn give_back<S>(mut self, thread: &Thread<S>) {
        thread.spare.collect(&mut self.head);
        thread.deadlines.give_back(self.deadlines);
    }
}
