//! Finds the connection with the next deadline. Deadlines move far more often than they expire, and
//! mostly to a later time. So the heap is updated only when a deadline moves to an earlier time; an
//! entry that is too early is corrected when it comes to the top. A peer can make deadlines move
//! back and forth, so stale entries are removed when there are many.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Handle;
use super::table::ConnectionTable;
use crate::Time;

/// The largest number of entries per connection, and of additional ones; each connection needs one.
const MAX_EACH: usize = 4;
const MAX_BESIDE: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Handle)>>,
    /// Connections whose deadline has to be read again.
    touched: Vec<Handle>,
}

impl Timers {
    #[inline]
    pub(super) fn touch(&mut self, table: &mut ConnectionTable, handle: Handle) {
        if let Some(entry) = table.get_mut(handle)
            && !entry.touched
        {
            entry.touched = true;
            self.touched.push(handle);
        }
    }

    pub(super) fn deadline(&mut self, table: &mut ConnectionTable) -> Option<Time> {
        self.settle(table);
        while let Some(Reverse((time, handle))) = self.heap.peek().copied() {
            let entry = table.get_mut(handle);
            let entry = entry.filter(|entry| entry.scheduled == Some(time));
            if entry.as_ref().and_then(|entry| entry.deadline) == Some(time) {
                return Some(time);
            }
            // Its connection has been removed, or has an earlier entry, or its deadline has moved.
            self.heap.pop();
            if let Some(entry) = entry {
                entry.scheduled = entry.deadline;
                if let Some(deadline) = entry.deadline {
                    self.heap.push(Reverse((deadline, handle)));
                }
            }
        }
        None
    }

    /// Adds each connection whose deadline has passed by `now` once.
    pub(super) fn take_due(
        &mut self,
        table: &mut ConnectionTable,
        now: Time,
        due: &mut Vec<Handle>,
    ) {
        while self.deadline(table).is_some_and(|time| time <= now)
            && let Some(Reverse((_, handle))) = self.heap.pop()
            && let Some(entry) = table.get_mut(handle)
        {
            entry.scheduled = None;
            due.push(handle);
        }
        self.compact(table);
    }

    fn settle(&mut self, table: &mut ConnectionTable) {
        for handle in self.touched.drain(..) {
            let Some(entry) = table.get_mut(handle) else {
                continue;
            };
            entry.touched = false;
            entry.deadline = entry.connection.deadline();
            let Some(deadline) = entry.deadline else {
                continue;
            };
            if entry.scheduled.is_none_or(|scheduled| deadline < scheduled) {
                entry.scheduled = Some(deadline);
                self.heap.push(Reverse((deadline, handle)));
            }
        }
        self.compact(table);
    }

    /// If there are many stale entries, keeps only the current one of each connection. This costs
    /// constant work for each entry that was added.
    #[inline]
    fn compact(&mut self, table: &ConnectionTable) {
        if self.heap.len() > MAX_EACH * table.len() + MAX_BESIDE {
            let mut entries = std::mem::take(&mut self.heap).into_vec();
            entries.retain(|Reverse((time, handle))| {
                table.get(*handle).and_then(|entry| entry.scheduled) == Some(*time)
            });
            entries.sort_unstable();
            entries.dedup();
            self.heap = entries.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use roundtrip_wire::quic::Frame;

    use super::*;
    use crate::Transport;
    use crate::connection::tests::pair::{End, Pair};

    /// Each packet that is to be acknowledged brings the deadline forward, and its acknowledgement
    /// moves it back. If old deadlines stayed, each would wake the owner for nothing.
    #[test]
    fn a_deadline_that_moves_again_and_again_is_told_exactly_and_leaves_few_entries() {
        let mut pair = Pair::new(&Transport::default());
        pair.connect();
        pair.run_for(Duration::from_secs(1));
        let mut other = Pair::new(&Transport::default());
        other.connect();
        let (mut table, mut timers) = (ConnectionTable::default(), Timers::default());
        let handle = table.reserve().unwrap();
        table.fill(handle, other.server.take().unwrap(), None);
        let (mut due, mut most) = (Vec::new(), 0);
        for _ in 0..5000 {
            pair.now = pair.now.after(Duration::from_millis(1));
            pair.forge(pair.client_address, &[Frame::Ping]);
            for acts in [false, true] {
                if acts {
                    let now = pair.now;
                    pair.server().on_timeout(now);
                    pair.send_of(&[End::Server]);
                }
                let entry = table.get_mut(handle).unwrap();
                std::mem::swap(&mut entry.connection, pair.server());
                timers.touch(&mut table, handle);
                let deadline = table.get(handle).unwrap().connection.deadline();
                assert_eq!(timers.deadline(&mut table), deadline);
                timers.take_due(&mut table, pair.now, &mut due);
                let entry = table.get_mut(handle).unwrap();
                std::mem::swap(&mut entry.connection, pair.server());
                due.clear();
            }
            most = most.max(timers.heap.len());
        }
        assert!(most <= MAX_EACH + MAX_BESIDE, "{most} entries");
    }
}
