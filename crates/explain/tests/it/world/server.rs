//! The server's kernel: a window that grows by each segment that is acknowledged.

use std::collections::VecDeque;

use roundtrip_model::INITIAL_WINDOW;

use crate::story::MSS;

pub(super) struct Server {
    pub(super) received: u64,
    /// Segments that arrived since it last acknowledged any.
    pub(super) unacked: u32,
    /// The bytes that its program will have written, has written, and that have left.
    pub(super) planned: u64,
    pub(super) written: u64,
    pub(super) sent: u64,
    pub(super) answers: u64,
    /// Whether it acknowledges each segment at once, even after it has sent data.
    is_quick: bool,
    window: u64,
    /// The ends of the segments that are on their way.
    under_way: VecDeque<u64>,
}

impl Server {
    pub(super) fn new(is_quick: bool) -> Self {
        Self {
            received: 0,
            unacked: 0,
            planned: 0,
            written: 0,
            sent: 0,
            answers: 0,
            is_quick,
            window: INITIAL_WINDOW,
            under_way: VecDeque::new(),
        }
    }

    /// A segment arrived. Every second one is acknowledged at once (RFC 5681 §4.2).
    pub(super) fn must_acknowledge(&mut self) -> bool {
        self.unacked += 1;
        self.unacked > 1 || self.is_quick || self.sent == 0
    }

    pub(super) fn hear(&mut self, acked: u64) {
        let was_full = 2 * self.under_way.len() as u64 > self.window;
        while self.under_way.front().is_some_and(|end| *end <= acked) {
            self.under_way.pop_front();
            self.window += u64::from(was_full);
        }
    }

    /// The size and the end of the next segment that may leave.
    pub(super) fn next_segment(&mut self) -> Option<(u64, u64)> {
        let bytes = (self.written - self.sent).min(MSS);
        if bytes == 0 || self.under_way.len() as u64 >= self.window {
            return None;
        }
        self.sent += bytes;
        self.under_way.push_back(self.sent);
        Some((bytes, self.sent))
    }
}
