//! What every exchange on a stream needs, and leaves to the thread's next one.

use crate::accept::thread::House;
use crate::forward::deadlines::Posts;

pub(super) struct Kit {
    pub(super) posts: Posts,
    /// The head for the backend.
    pub(super) head: Vec<u8>,
}

impl Kit {
    pub(super) fn take<S>(house: &House<S>) -> Self {
        let mut head = Vec::new();
        house.spare.furnish(&mut head);
        Self {
            posts: house.patrol.posts(),
            head,
        }
    }

    pub(super) fn give_back<S>(mut self, house: &House<S>) {
        house.spare.collect(&mut self.head);
        house.patrol.give_back(self.posts);
    }
}
