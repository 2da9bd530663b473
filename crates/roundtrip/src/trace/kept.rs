//! The conversations of a capture that may be shown, within a bound: the slowest are kept.

use std::mem::size_of;
use std::time::Duration;

use roundtrip_model::Exchange;
use roundtrip_trace::{Conversation, LadderStep};

/// The approximate size in bytes of an exchange with its events and texts, and of the text of a
/// step.
const PER_EXCHANGE: usize = size_of::<Exchange>() + (4 << 10);
const PER_STEP: usize = size_of::<LadderStep>() + 48;

pub(super) struct KeptConversations {
    room: usize,
    held: usize,
    all: Vec<Conversation>,
    left_out: u64,
}

impl KeptConversations {
    /// `room` is the approximate limit in bytes.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            held: 0,
            all: Vec::new(),
            left_out: 0,
        }
    }

    pub(super) fn push(&mut self, conversation: Conversation) {
        self.held += weight(&conversation);
        self.all.push(conversation);
        if self.held > self.room {
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        self.all
            .sort_by_key(|conversation| std::cmp::Reverse(slowest(conversation)));
        while self.held > self.room / 2 && self.all.len() > 1 {
            let Some(left_out) = self.all.pop() else {
                return;
            };
            self.held -= weight(&left_out);
            self.left_out += left_out.exchanges.len() as u64;
        }
    }

    /// Returns the conversations in the order in which they began, and the number of their
    /// exchanges that are missing.
    pub(super) fn end(mut self) -> (Vec<Conversation>, u64) {
        self.all.sort_by_key(|conversation| conversation.number);
        (self.all, self.left_out)
    }
}

fn weight(conversation: &Conversation) -> usize {
    size_of::<Conversation>()
        + conversation.exchanges.len() * PER_EXCHANGE
        + conversation.steps.len() * PER_STEP
}

fn slowest(conversation: &Conversation) -> Duration {
    let all = conversation.exchanges.iter();
    all.map(Exchange::total).max().unwrap_or_default()
}
