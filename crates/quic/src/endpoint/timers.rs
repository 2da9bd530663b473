//! Which connection's deadline comes next. Deadlines mostly move to later, and far more often than
//! they come: the heap learns only of those that move to an earlier time, and of one that came too
//! early when it comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Handle;
use super::table::ConnectionTable;
use crate::Time;

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
            let scheduled = table.get(handle).and_then(|entry| entry.scheduled);
            if scheduled == Some(time) {
                return Some(time);
            }
            // Its connection is gone, or has an earlier entry.
            self.heap.pop();
        }
        None
    }

    /// Adds the connections whose deadline has come by `now`, each once.
    pub(super) fn take_due(
        &mut self,
        table: &mut ConnectionTable,
        now: Time,
        due: &mut Vec<Handle>,
    ) {
        self.settle(table);
        while let Some(Reverse((time, handle))) = self.heap.peek().copied()
            && time <= now
        {
            self.heap.pop();
            let Some(entry) = table.get_mut(handle) else {
                continue;
            };
            if entry.scheduled != Some(time) {
                continue;
            }
            entry.scheduled = None;
            match entry.connection.deadline() {
                Some(deadline) if deadline <= now => due.push(handle),
                Some(deadline) => {
                    entry.scheduled = Some(deadline);
                    self.heap.push(Reverse((deadline, handle)));
                }
                None => {}
            }
        }
    }

    fn settle(&mut self, table: &mut ConnectionTable) {
        for handle in self.touched.drain(..) {
            let Some(entry) = table.get_mut(handle) else {
                continue;
            };
            entry.touched = false;
            let Some(deadline) = entry.connection.deadline() else {
                continue;
            };
            if entry.scheduled.is_none_or(|scheduled| deadline < scheduled) {
                entry.scheduled = Some(deadline);
                self.heap.push(Reverse((deadline, handle)));
            }
        }
    }
}
