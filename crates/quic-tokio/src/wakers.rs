//! Which tasks wait for what, on a connection or on the endpoint as a whole.

use std::task::{Context, Waker};

use roundtrip_quic::Dir;

use crate::id_map::IdMap;

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The permission to open another stream.
    Open(Dir),
    /// The next stream that the peer opens.
    Accept(Dir),
    /// Progress of the handshake, a token, or the end of the connection.
    Progress,
}

/// The identity of one waiter. A [`Wait`](crate::wait::Wait) keeps the same one, whichever task
/// polls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WaiterId(u64);

/// The wakers of all waiting tasks, by waiter.
///
/// Nothing is woken here: wakers are collected under the lock, and called once it is released.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    waiting: IdMap<WaiterId, (Interest, Waker)>,
    last: u64,
}

impl Wakers {
    pub(crate) fn new_waiter(&mut self) -> WaiterId {
        self.last += 1;
        WaiterId(self.last)
    }

    pub(crate) fn register(&mut self, id: WaiterId, interest: Interest, cx: &Context<'_>) {
        match self.waiting.get_mut(&id) {
            Some((known, waker)) => {
                *known = interest;
                waker.clone_from(cx.waker());
            }
            None => {
                self.waiting.insert(id, (interest, cx.waker().clone()));
            }
        }
    }

    pub(crate) fn remove(&mut self, id: WaiterId) {
        self.waiting.remove(&id);
    }

    /// Moves the wakers of tasks with this interest to `wakes`.
    pub(crate) fn take(&mut self, interest: Interest, wakes: &mut Vec<Waker>) {
        let taken = self.waiting.extract_if(|_, (known, _)| *known == interest);
        wakes.extend(taken.map(|(_, (_, waker))| waker));
    }

    pub(crate) fn take_all(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.waiting.drain().map(|(_, (_, waker))| waker));
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_called_for_what_it_waits_for() {
        let mut wakers = Wakers::default();
        let cx = Context::from_waker(Waker::noop());
        let interests = [
            Interest::Open(Dir::Bidi),
            Interest::Accept(Dir::Uni),
            Interest::Progress,
        ];
        for interest in interests {
            let id = wakers.new_waiter();
            wakers.register(id, interest, &cx);
            wakers.register(id, interest, &cx);
        }
        let gone = wakers.new_waiter();
        wakers.register(gone, Interest::Progress, &cx);
        wakers.remove(gone);
        let mut called = Vec::new();
        wakers.take(Interest::Accept(Dir::Bidi), &mut called);
        assert_eq!(called.len(), 0);
        wakers.take(Interest::Accept(Dir::Uni), &mut called);
        assert_eq!(called.len(), 1);
        wakers.take_all(&mut called);
        assert_eq!(called.len(), 3);
        assert!(wakers.is_empty());
    }
}
